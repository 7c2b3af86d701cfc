import { isFinal, ORDER_STATUSES } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import type { RecoveryDeps } from './recovery.ts';
import { orderInputOf } from './recovery.ts';
import type { OrderRow } from './rows.ts';

const CONCURRENT_ORDERS = 10;

/**
 * Starts the workflow of each order that is final, has none, and has a webhook that waits: its
 * workflow had sent the webhook and ended, and a restored database has forgotten that; or it was
 * terminated before. The run sends what waits, and ends.
 *
 * @returns how many were started
 */
export async function sendUnsentWebhooks(deps: RecoveryDeps): Promise<number> {
  const orders = await deps.sql<OrderRow[]>`
    SELECT o.* FROM orders o
    WHERE o.status = ANY(${ORDER_STATUSES.filter(isFinal)}) AND o.order_number IN (
      SELECT e.order_number FROM webhook_deliveries d JOIN order_events e USING (event_id)
      WHERE d.state = 'PENDING')`;
  let started = 0;
  const send = async (order: OrderRow) => {
    const { state } = await deps.workflows.find(order.order_number);
    if (state === 'running') return;
    await deps.workflows.start(orderInputOf(order));
    started += 1;
  };
  const options = { log: deps.log, concurrency: CONCURRENT_ORDERS };
  await forEachOrder(orders, ({ order_number: orderNumber }) => orderNumber, send, options);
  return started;
}
