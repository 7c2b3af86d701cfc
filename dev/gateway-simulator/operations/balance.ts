import type { Transfer } from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import type { Changes } from '../state/store.ts';

const PLATFORM = 'platform';
/** What the platform itself has added to its balance. */
const ADDED = 'added';

const balancePaiseOf = ({ store }: SimulatedGateway, id: string) =>
  store.get('balances', id)?.paise ?? 0;

/** The platform's balance in paise. */
export function platformBalancePaise(gateway: SimulatedGateway): number {
  return balancePaiseOf(gateway, PLATFORM);
}

/** The change of the platform's balance, to be stored with other changes. */
export function balanceChange(gateway: SimulatedGateway, deltaPaise: number): Changes {
  return { balances: { [PLATFORM]: { paise: platformBalancePaise(gateway) + deltaPaise } } };
}

/** The platform adds money to its balance. */
export function addToBalance(gateway: SimulatedGateway, amountPaise: number): void {
  const { balances } = balanceChange(gateway, amountPaise);
  const added = { paise: balancePaiseOf(gateway, ADDED) + amountPaise };
  publish(gateway, { balances: { ...balances, [ADDED]: added } });
}

const sumOf = <Item>(items: readonly Item[], paiseOf: (item: Item) => number) =>
  items.reduce((sum, item) => sum + paiseOf(item), 0);

/** The part of a transfer that the linked account has, in paise: not reversed, and nothing if it failed. */
export function unreversedPaise({ status, amount, amount_reversed }: Transfer): number {
  return status === 'failed' ? 0 : amount - amount_reversed;
}

/** The fees that a transfer has cost, in paise: nothing if it failed. */
const feesPaiseOf = ({ status, fees }: Transfer) => (status === 'failed' ? 0 : fees);

/**
 * The sums of all entities in paise. `isBalanced`: the captures and what the platform has added equal the
 * refunds, chargebacks, transfers, fees and the platform's balance.
 */
export function totals(gateway: SimulatedGateway) {
  const { store } = gateway;
  const payments = store.all('payments').map(({ entity }) => entity);
  const refunds = store.all('refunds').map(({ entity }) => entity);
  const transfers = store.all('transfers').map(({ entity }) => entity);
  const disputes = store.all('disputes').map(({ entity }) => entity);
  const captures = payments.filter(({ captured }) => captured);
  const heldPaise = sumOf(
    transfers.filter(({ on_hold }) => on_hold),
    unreversedPaise,
  );
  const cameIn = {
    capturedPaise: sumOf(captures, ({ amount }) => amount),
    addedPaise: balancePaiseOf(gateway, ADDED),
  };
  const wentTo = {
    refundedPaise: sumOf(refunds, ({ status, amount }) => (status === 'failed' ? 0 : amount)),
    chargedBackPaise: sumOf(disputes, ({ amount_deducted: paise }) => paise),
    heldPaise,
    releasedPaise: sumOf(transfers, unreversedPaise) - heldPaise,
    feesPaise: sumOf(captures, ({ fee }) => fee ?? 0) + sumOf(transfers, feesPaiseOf),
    platformPaise: platformBalancePaise(gateway),
  };
  const total = (amounts: object) => sumOf(Object.values(amounts), Number);
  return {
    ...cameIn,
    ...wentTo,
    refunds: refunds.length,
    transfers: transfers.length,
    isBalanced: total(cameIn) === total(wentTo),
  };
}
