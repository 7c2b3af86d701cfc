import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';
import type { SearchCriterion } from './search-text.ts';
import { criterionCondition, phoneOf } from './search-text.ts';

/** An operator's search. An absent field matches all. {@link findOrders} says which are required. */
export type OrderSearch = {
  /** A phone number may have its country code, spaces and dashes. */
  [Kind in SearchCriterion['kind']]?: string | undefined;
} & { merchantId?: string | undefined; environment?: Environment | undefined };

export type FoundOrder = Pick<OrderRow, (typeof FOUND_COLUMNS)[number]>;
/** Excludes columns with secrets, because `admin` prints these rows as JSON. */
export const FOUND_COLUMNS = [
  'orderNumber',
  'merchantId',
  'environment',
  'merchantOrderId',
  'status',
  'amountPaise',
  'buyerEmail',
  'buyerPhone',
  'erasedAt',
  'createdAt',
] as const satisfies readonly (keyof OrderRow)[];

/**
 * Finds an order that a workflow or a stored row names.
 *
 * @throws Error when the order has no row, which is a fault and never a client's error
 */
export async function findOrderByNumber(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const row = await findRow(sql, orderNumber);
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

/** Finds the order that an operator names, of any merchant and environment. @throws DomainError `ORDER_NOT_FOUND` */
export async function findOrderAnywhere(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const row = await findRow(sql, orderNumber);
  if (!row) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  return row;
}

export async function findOrder(
  sql: Sql,
  environment: Environment,
  orderNumber: string,
): Promise<OrderRow | undefined> {
  const row = await findRow(sql, orderNumber);
  return row?.environment === environment ? row : undefined;
}

async function findRow(sql: Sql, orderNumber: string): Promise<OrderRow | undefined> {
  const [row] = await sql<
    OrderRow[]
  >`SELECT * FROM orders_with_dispute WHERE order_number = ${orderNumber}`;
  return row;
}

/**
 * Finds orders of any merchant, the newest first. Each required criterion has its own index.
 *
 * @returns at most `limit` orders, and whether there are more
 * @throws DomainError `BAD_REQUEST` if none of order number, merchant's id, email, phone, UTR and reference is
 * given, because the query would scan every order
 */
export async function findOrders(
  sql: Sql,
  search: OrderSearch,
  limit: number,
): Promise<{ orders: FoundOrder[]; hasMore: boolean }> {
  const { merchantId, environment, phone, ...others } = search;
  const given = { ...others, phone: phone && (phoneOf(phone) ?? phone) };
  const criteria = Object.entries(given).flatMap(([kind, value]) =>
    value === undefined ? [] : [{ kind, value } as SearchCriterion],
  );
  if (criteria.length === 0) {
    const message =
      "Give an order number, a merchant's id, an e-mail address, a phone number, a UTR or a reference";
    throw new DomainError('BAD_REQUEST', message);
  }
  const rows = await sql<FoundOrder[]>`
    SELECT ${sql(FOUND_COLUMNS)} FROM orders
    WHERE true
      ${criteria.map((criterion) => sql`AND ${criterionCondition(sql, criterion)}`)}
      ${merchantId === undefined ? sql`` : sql`AND merchant_id = ${merchantId}`}
      ${environment === undefined ? sql`` : sql`AND environment = ${environment}`}
    ORDER BY created_at DESC, order_number DESC LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}
