import { forEachOrder } from '../for-each-order.ts';
import { findOrderByNumber } from './find-orders.ts';
import type { RecoveryDeps } from './recovery.ts';
import { orderInputOf, recoverOrder } from './recovery.ts';

const CONCURRENT_ORDERS = 10;

/**
 * Lets the workflow of each order with a webhook that waits look at its webhooks: it may have sent
 * one, and a restored database has forgotten that. A final order whose workflow has ended gets a run,
 * which sends what waits, and ends.
 *
 * @returns how many orders there are
 */
export async function sendUnsentWebhooks(deps: RecoveryDeps): Promise<number> {
  const orders = await deps.sql<{ orderNumber: string }[]>`
    SELECT DISTINCT e.order_number FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.state = 'PENDING'`;
  const options = { log: deps.log, concurrency: CONCURRENT_ORDERS };
  const send = ({ orderNumber }: { orderNumber: string }) => sendWaiting(deps, orderNumber);
  await forEachOrder(orders, ({ orderNumber }) => orderNumber, send, options);
  return orders.length;
}

async function sendWaiting(deps: RecoveryDeps, orderNumber: string): Promise<void> {
  if ((await recoverOrder(deps, orderNumber)) !== 'final') return;
  await deps.workflows.start(orderInputOf(await findOrderByNumber(deps.sql, orderNumber)));
}
