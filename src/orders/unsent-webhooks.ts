import { forEachOrder } from '../for-each-order.ts';
import { findOrderByNumber } from './find-orders.ts';
import type { RecoveryDeps } from './recovery.ts';
import { orderInputOf, recoverOrder } from './recovery.ts';

const CONCURRENT_ORDERS = 10;

/**
 * Signals the workflow of each order with a pending webhook delivery to read its deliveries: a restored
 * database may show a delivery as pending that the workflow has finished. If the workflow of a final
 * order has ended, starts a new one, which sends the pending deliveries and ends.
 *
 * @returns the number of these orders
 */
export async function sendUnsentWebhooks(deps: RecoveryDeps): Promise<number> {
  const orders = await deps.sql<{ orderNumber: string }[]>`
    SELECT DISTINCT e.order_number FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.state = 'PENDING'`;
  const options = { log: deps.log, concurrency: CONCURRENT_ORDERS };
  const send = ({ orderNumber }: { orderNumber: string }) => sendPendingWebhooks(deps, orderNumber);
  await forEachOrder(orders, ({ orderNumber }) => orderNumber, send, options);
  return orders.length;
}

/** The same for one order. */
export async function sendPendingWebhooks(deps: RecoveryDeps, orderNumber: string): Promise<void> {
  if ((await recoverOrder(deps, orderNumber)) !== 'final') return;
  await deps.workflows.start(orderInputOf(await findOrderByNumber(deps.sql, orderNumber)));
}
