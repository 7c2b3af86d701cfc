import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError, ENVIRONMENTS } from '../domain/index.ts';
import type {
  AccountBalance,
  LedgerSnapshot,
  LedgerFault,
  LedgerLine,
  LedgerOrder,
} from './queries.ts';
import { findLedgerOrder, listLines, readLedgerSnapshot } from './queries.ts';

/** A broken ledger can have as many faults as orders. This many are enough to find the cause. */
const MAX_FAULTS = 100;

export interface Verification extends Omit<LedgerSnapshot, 'faultCount'> {
  ok: boolean;
  /** The sum over all accounts, which must be zero. */
  sums: { environment: Environment; sumPaise: number }[];
  faultCount: number;
}

/**
 * Verifies the whole ledger: each account against the orders, and payments, lines, orders, surplus refunds and
 * reversals against each other. It relies on no constraint of the database.
 */
export async function verifyLedger(sql: Sql): Promise<Verification> {
  const snapshot = await readLedgerSnapshot(sql, MAX_FAULTS);
  const sums = ENVIRONMENTS.map((environment) => ({
    environment,
    sumPaise: sumOf(snapshot.accounts, environment),
  }));
  const accountFaults: LedgerFault[] = [
    ...sums.filter(({ sumPaise }) => sumPaise !== 0).map(notZero),
    ...snapshot.accounts.filter((one) => one.balancePaise !== one.expectedPaise).map(notAsExpected),
  ];
  const faultCount = accountFaults.length + snapshot.faultCount;
  const faults = [...accountFaults, ...snapshot.faults];
  return { ok: faultCount === 0, ...snapshot, sums, faultCount, faults };
}

export interface OrderLedger extends LedgerOrder {
  lines: LedgerLine[];
  /** The sum of the order's lines in each account. */
  balances: { account: string; balancePaise: number }[];
}

/** Reads the ledger of one order. @throws DomainError `ORDER_NOT_FOUND` */
export async function showLedger(sql: Sql, orderNumber: string): Promise<OrderLedger> {
  const order = await findLedgerOrder(sql, orderNumber);
  if (!order) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  const lines = await listLines(sql, orderNumber);
  const balances = new Map<string, number>();
  for (const { from, to, amountPaise } of lines) {
    balances.set(from, (balances.get(from) ?? 0) - amountPaise);
    balances.set(to, (balances.get(to) ?? 0) + amountPaise);
  }
  return {
    ...order,
    lines,
    balances: [...balances].map(([account, balancePaise]) => ({ account, balancePaise })),
  };
}

function sumOf(accounts: readonly AccountBalance[], environment: Environment): number {
  const own = accounts.filter((account) => account.environment === environment);
  return own.reduce((sum, { balancePaise }) => sum + balancePaise, 0);
}

function notZero({ environment, sumPaise }: { environment: Environment; sumPaise: number }) {
  return { rule: 'zero sum', subject: environment, fault: `the accounts sum to ${sumPaise} paise` };
}

function notAsExpected({ environment, account, balancePaise, expectedPaise }: AccountBalance) {
  return {
    rule: 'account',
    subject: `${environment} ${account}`,
    fault: `holds ${balancePaise} paise, but orders and surplus say ${expectedPaise}`,
  };
}
