import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import { addRequestFields } from '../http/request-context.ts';
import { errorOf } from '../http/responses/errors.ts';
import type { OrderRow } from './rows.ts';

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

export const orderErrors = ['ORDER_NOT_FOUND', 'ORDER_NOT_YOURS'] as const;

/**
 * Finds an order of the merchant in the given environment.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, or `ORDER_NOT_YOURS` for another merchant's order
 */
export async function authorizeOrder(
  sql: Sql,
  merchantId: string,
  environment: Environment,
  orderNumber: string,
): Promise<OrderRow> {
  const order = await findOrder(sql, environment, orderNumber);
  if (!order) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  addRequestFields({ orderNumber });
  if (order.merchantId !== merchantId) throw errorOf('ORDER_NOT_YOURS');
  return order;
}

async function findRow(sql: Sql, orderNumber: string): Promise<OrderRow | undefined> {
  const [row] = await sql<
    OrderRow[]
  >`SELECT * FROM orders_with_dispute WHERE order_number = ${orderNumber}`;
  return row;
}
