import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import { addRequestFields } from '../../http/request-context.ts';
import { findOrder } from '../lists/find-orders.ts';
import type { OrderRow } from '../rows.ts';

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
