import { type MoodName, MOODS } from '../gateway-simulator/moods.ts';
import { askSimulator, controlSimulator, type SimulatorAccess, untilDone } from './simulator.ts';

/** Enough for every fee of a run: the platform pays them beside the transfers. */
const BALANCE_PAISE = 100_000_000_000;

/** Adds to the platform's balance what the fees of a run may cost. */
export const addBalance = (access: SimulatorAccess): Promise<void> =>
  controlSimulator(access, 'POST', '/balance', { amountPaise: BALANCE_PAISE });

/** Sets the switches of a mood. */
export const beginMood = (access: SimulatorAccess, name: MoodName): Promise<void> =>
  controlSimulator(access, 'PATCH', '/switches/all', MOODS[name]);

/**
 * Removes the switches of moods, and ends what they have left under way.
 *
 * @param outcomes of the refunds and transfers that are pending, in turn
 */
export async function endMoods(
  access: SimulatorAccess,
  names: readonly MoodName[],
  outcomes: readonly ('processed' | 'failed')[] = ['processed'],
): Promise<void> {
  const switches = names.flatMap((name) => Object.keys(MOODS[name]));
  const removal = Object.fromEntries(switches.map((name) => [name, null]));
  await controlSimulator(access, 'PATCH', '/switches/all', removal);
  const pending = await untilDone(() =>
    askSimulator<Record<'refunds' | 'transfers' | 'payments', string[]>>(
      access,
      'GET',
      '/simulator/pending',
    ),
  );
  const post = (path: string, body: object = {}) => controlSimulator(access, 'POST', path, body);
  const endAll = async (what: 'refunds' | 'transfers') => {
    for (const [index, id] of pending[what].entries()) {
      await post(`/${what}/${id}/end`, { status: outcomes[index % outcomes.length] });
    }
  };
  if (names.includes('pendingRefunds')) await endAll('refunds');
  if (names.includes('pendingTransfers')) await endAll('transfers');
  if (names.includes('authorizedPayments')) {
    for (const id of pending.payments) await post(`/payments/${id}/capture`);
  }
  if (names.includes('disabledCallbacks')) await post('/callbacks/enable');
}
