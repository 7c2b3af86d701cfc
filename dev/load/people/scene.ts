import { setTimeout as delay } from 'node:timers/promises';
import { runAdmin } from '../../../src/main/admin/run.ts';
import type { Proposed } from '../../../src/proposals/proposals.ts';
import type { LoadMerchant } from '../merchant.ts';
import type { LoadDeps } from '../order.ts';
import { actOfTwo, asTwoOperators, type TwoOperators } from '../two-operators.ts';
import type { EndedRights } from './ended-rights.ts';

/** The password of the operators who act alone. */
export const PASSWORD = 'seven green bicycles';

/** What the acts of people share. */
export interface Scene {
  /** Of production. */
  readonly deps: LoadDeps;
  readonly apiBaseUrl: string;
  readonly ended: EndedRights;
  /** Of {@link PASSWORD}. */
  readonly passwordHash: string;
  /** Its merchant in production, with the present key. */
  merchant: LoadMerchant;
  /** The number of orders so far. */
  orders: number;
}

const REPEAT_AFTER_MS = 500;
/** Longer than any outage of a run. */
const REPEATED_FOR_MS = 300_000;

/** Repeats an act while it fails. @throws Error that of the act after five minutes */
export async function untilDone<Result>(act: () => Promise<Result>): Promise<Result> {
  const endsAt = performance.now() + REPEATED_FOR_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() > endsAt) throw error;
      await delay(REPEAT_AFTER_MS);
    }
  }
}

/** Acts once as two operators, who may do everything. */
export const asBoth = <Result>(
  { deps }: Scene,
  act: (operators: TwoOperators) => Promise<Result>,
): Promise<Result> => asTwoOperators(deps.environment, act);

/** Proposes an act and approves it until it is carried out, or refused because an earlier try was. */
export async function byTwo({ deps }: Scene, proposed: Proposed): Promise<void> {
  const act = actOfTwo(deps.environment, proposed);
  await untilDone(async () => {
    if ((await act()) === 'again') throw new Error(`${proposed.kind} is not carried out`);
  });
}

/**
 * Runs a command of the operators' command line once.
 *
 * @param typed what it asks for
 * @returns what it printed
 * @throws Error if it fails
 */
export async function byCommand(
  { deps }: Scene,
  command: readonly string[],
  typed: readonly string[] = [],
): Promise<string> {
  const io = { askSecrets: async () => [...typed] };
  const { exitCode, stdout, stderr } = await runAdmin(command, () => deps.environment, io);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}
