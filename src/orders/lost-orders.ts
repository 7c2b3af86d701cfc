import type { AlertDeps } from '../alerts/alerts.ts';
import { raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { RecoveryDeps } from './recovery.ts';

const ORDERS_PER_QUESTION = 500;

const MESSAGES = {
  runs: 'A workflow runs for an order that is not in the database',
  'has ended': 'An order that has ended is not in the database',
} as const;

/**
 * Raises an alert for each order whose workflow has ended since a moment and whose row is not there:
 * a restored database has lost it, and no workflow that runs would say so.
 *
 * @returns how many there are
 */
export async function alertLostOrders(deps: RecoveryDeps, since: Date): Promise<number> {
  let lost = 0;
  let page: string[] = [];
  for await (const orderNumber of deps.workflows.listEnded(since)) {
    page.push(orderNumber);
    if (page.length < ORDERS_PER_QUESTION) continue;
    lost += await alertLost(deps, page);
    page = [];
  }
  return lost + (await alertLost(deps, page));
}

/** Those of the orders that have no row. */
export async function findWithoutRow(sql: Sql, orderNumbers: string[]): Promise<string[]> {
  if (orderNumbers.length === 0) return [];
  const lost = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM unnest(${orderNumbers}::text[]) asked (order_number)
    WHERE NOT EXISTS (SELECT FROM orders o WHERE o.order_number = asked.order_number)`;
  return lost.map(({ orderNumber }) => orderNumber);
}

/** @param workflow what Temporal has of the order whose row is not there */
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

async function alertLost(deps: RecoveryDeps, orderNumbers: string[]): Promise<number> {
  const lost = await findWithoutRow(deps.sql, orderNumbers);
  for (const orderNumber of lost) await alertWithoutRow(deps, orderNumber, 'has ended');
  return lost.length;
}
