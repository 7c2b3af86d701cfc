import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { WakeDeps } from './wake-order.ts';

const ORDERS_PER_QUERY = 500;

const MESSAGES = {
  runs: 'A workflow runs for an order that is not in the database',
  'has ended': 'An order that has ended is not in the database',
} as const;

/**
 * Raises an alert for each order whose workflow has ended since the given time and which has no row: a restored
 * database has lost it. No running workflow would detect that.
 *
 * @returns the number of lost orders
 */
export async function alertLostOrders(deps: WakeDeps, since: Date): Promise<number> {
  let lost = 0;
  let page: string[] = [];
  for await (const orderNumber of deps.workflows.listEnded(since)) {
    page.push(orderNumber);
    if (page.length < ORDERS_PER_QUERY) continue;
    lost += await alertLostAmong(deps, page);
    page = [];
  }
  return lost + (await alertLostAmong(deps, page));
}

/**
 * Raises the alert for an order without a row.
 *
 * @param workflow the state of the order's workflow at Temporal
 */
export async function alertWithoutRow(
  deps: AlertDeps,
  orderNumber: string,
  workflow: 'runs' | 'has ended',
): Promise<void> {
  await raiseAlert(deps, {
    kind: 'order_without_row',
    subject: orderNumber,
    message: MESSAGES[workflow],
    fields: { orderNumber },
  });
}

/** @returns the number of orders without a row */
async function alertLostAmong(deps: WakeDeps, orderNumbers: string[]): Promise<number> {
  const lost = await deps.sql<{ orderNumber: string }[]>`
    SELECT order_number FROM unnest(${orderNumbers}::text[]) asked (order_number)
    WHERE NOT EXISTS (SELECT FROM orders o WHERE o.order_number = asked.order_number)`;
  for (const { orderNumber } of lost) await alertWithoutRow(deps, orderNumber, 'has ended');
  return lost.length;
}
