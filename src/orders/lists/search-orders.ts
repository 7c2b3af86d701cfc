import type { Sql } from '../../db/client.ts';
import type { Environment, OrderStatus } from '../../domain/index.ts';
import { criterionCondition, recogniseSearch } from './search-text.ts';

/** The owner of the orders. Every query of a merchant's pages has it as a condition. */
export interface OrderOwner {
  merchantId: string;
  environment: Environment;
}

/** Which of a merchant's orders to find. An absent field matches all. */
export interface MerchantSearch {
  /** An order number, the merchant's own id, an e-mail address, a phone number or a UTR. */
  text?: string | undefined;
  status?: OrderStatus | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
  /** Exclusive. */
  createdTo?: Date | undefined;
}

export interface SearchPart {
  /** Only orders older than this order of the merchant. */
  before?: string | undefined;
  limit: number;
}

/**
 * SQL: finds the keys of a merchant's orders, at most `limit`, newest first. It begins at a key instead of an offset,
 * so the cost does not depend on how many orders come before the part.
 */
export function foundQuery(
  sql: Sql,
  owner: OrderOwner,
  { text = '', ...filter }: MerchantSearch,
  part: SearchPart,
) {
  const conditions = conditionsOf(sql, owner, filter, part.before);
  const columns = sql`created_at, order_number, amount_paise`;
  const newest = newestOf(sql, part);
  if (text.trim() === '') return sql`SELECT ${columns} FROM orders WHERE ${conditions} ${newest}`;
  // Each criterion has its own index, which an OR of them would not use.
  const found = recogniseSearch(text).reduce(
    (others, criterion) => sql`${others} UNION (SELECT ${columns} FROM orders
      WHERE ${conditions} AND ${criterionCondition(sql, criterion)} ${newest})`,
    sql`SELECT ${columns} FROM orders WHERE false`,
  );
  return sql`SELECT ${columns} FROM (${found}) AS any_criterion ${newest}`;
}

const newestOf = (sql: Sql, { limit }: SearchPart) =>
  sql`ORDER BY created_at DESC, order_number DESC LIMIT ${limit}`;

function conditionsOf(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  { status, createdFrom, createdTo }: Omit<MerchantSearch, 'text'>,
  before: string | undefined,
) {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  const to = createdTo ? sql`${createdTo}::timestamptz` : sql`'infinity'::timestamptz`;
  // One comparison for both upper bounds: with two, the scan would begin at the later one. The key is read in the
  // same statement, and only if it is the merchant's own order.
  const key = sql`(SELECT least(created_at, ${to}),
      CASE WHEN created_at < ${to} THEN order_number ELSE '' END
    FROM orders WHERE order_number = ${before ?? ''} AND ${own})`;
  // A subquery, because the planner does not know its value. For a frequent status it would otherwise take the index
  // without the status, and read every newer order that is not in it.
  return sql`${own}
    ${status === undefined ? sql`` : sql`AND status = (SELECT ${status}::order_status)`}
    ${createdFrom === undefined ? sql`` : sql`AND created_at >= ${createdFrom}`}
    ${createdTo === undefined || before !== undefined ? sql`` : sql`AND created_at < ${to}`}
    ${before === undefined ? sql`` : sql`AND (created_at, order_number) < ${key}`}`;
}
