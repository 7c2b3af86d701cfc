import type { LedgerAccount, LedgerLine } from './queries.ts';

/** The balances of an order's money after a line, in paise. */
export interface RunningBalances {
  heldPaise: number;
  releasedPaise: number;
  refundedPaise: number;
  /** Captures that the order could not take, until they are refunded. */
  surplusPaise: number;
}

/** Operations on the platform's own money. */
type FeeOperation = 'payment_fee' | 'transfer_fee';

/** A line of an order's money that its merchant sees. */
type MoneyLine = LedgerLine & { operation: Exclude<LedgerLine['operation'], FeeOperation> };

export type RunningLine = MoneyLine & RunningBalances;

/** The balance to which each account belongs. Accounts that are absent hold no money of the order. */
const BALANCES = {
  gateway_clearing: null,
  merchant_held: 'heldPaise',
  merchant_available: 'releasedPaise',
  refunds: 'refundedPaise',
  surplus: 'surplusPaise',
  platform_losses: null,
  gateway_fees: null,
} as const satisfies Record<LedgerAccount, keyof RunningBalances | null>;

const EMPTY: RunningBalances = {
  heldPaise: 0,
  releasedPaise: 0,
  refundedPaise: 0,
  surplusPaise: 0,
};

const isMoneyLine = (line: LedgerLine): line is MoneyLine =>
  line.operation !== 'payment_fee' && line.operation !== 'transfer_fee';

/** Adds to each line of an order, oldest first, the balances after it. Omits the platform's fees. */
export function runningLedger(lines: readonly LedgerLine[]): RunningLine[] {
  let balances = EMPTY;
  return lines.filter(isMoneyLine).map((line) => {
    balances = add(add(balances, line.from, -line.amountPaise), line.to, line.amountPaise);
    return { ...line, ...balances };
  });
}

function add(balances: RunningBalances, account: LedgerAccount, paise: number): RunningBalances {
  const name = BALANCES[account];
  return name === null ? balances : { ...balances, [name]: balances[name] + paise };
}
