import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import type { AccountBalance, BookOfNow, LedgerFault, LedgerLine, LedgerOrder } from './queries.ts';
import { findLedgerOrder, listLines, readBook } from './queries.ts';

/** A broken book can have as many faults as orders: these are enough to see what is wrong. */
const MAX_FAULTS = 100;

/** The proof, or what contradicts it. */
export interface Verification extends Omit<BookOfNow, 'faultCount'> {
  /** True when nothing contradicts anything. */
  ok: boolean;
  /** The sum over all accounts, which is zero when nothing was made or lost. */
  sums: { environment: Environment; sumPaise: number }[];
  faultCount: number;
}

/**
 * Proves from scratch that the money adds up: every account against the orders, every payment,
 * line, order and surplus refund against the others. It trusts no constraint of the database.
 */
export async function verifyLedger(sql: Sql): Promise<Verification> {
  const book = await readBook(sql, MAX_FAULTS);
  const sums = (['sandbox', 'production'] as const).map((environment) => ({
    environment,
    sumPaise: sumOf(book.accounts, environment),
  }));
  const accountFaults: LedgerFault[] = [
    ...sums.filter(({ sumPaise }) => sumPaise !== 0).map(notZero),
    ...book.accounts.filter((one) => one.balancePaise !== one.expectedPaise).map(notAsExpected),
  ];
  const faultCount = accountFaults.length + book.faultCount;
  const faults = [...accountFaults, ...book.faults];
  return { ok: faultCount === 0, ...book, sums, faultCount, faults };
}

/** An order's money: what came in, what went out, where it is. */
export interface OrderLedger extends LedgerOrder {
  lines: LedgerLine[];
  /** What the order's lines leave in each account that they touch. */
  balances: { account: string; balancePaise: number }[];
}

/** The ledger of one order. @throws DomainError `ORDER_NOT_FOUND` */
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
