import { raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { RecoveryDeps } from './recovery.ts';

const ORDERS_PER_QUESTION = 500;

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
    lost += await alertWithoutRow(deps, page);
    page = [];
  }
  return lost + (await alertWithoutRow(deps, page));
}

/** Those of the orders that have no row. */
export async function findWithoutRow(sql: Sql, orderNumbers: string[]): Promise<string[]> {
  const lost = await sql<{ order_number: string }[]>`
    SELECT order_number FROM unnest(${orderNumbers}::text[]) asked (order_number)
    WHERE NOT EXISTS (SELECT FROM orders o WHERE o.order_number = asked.order_number)`;
  return lost.map(({ order_number }) => order_number);
}

async function alertWithoutRow(deps: RecoveryDeps, orderNumbers: string[]): Promise<number> {
  const lost = await findWithoutRow(deps.sql, orderNumbers);
  for (const orderNumber of lost) {
    await raiseAlert(deps, {
      kind: 'order_without_row',
      subject: orderNumber,
      message: 'An order that has ended is not in the database',
      fields: { orderNumber },
    });
  }
  return lost.length;
}
