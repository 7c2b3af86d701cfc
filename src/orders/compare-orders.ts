import { isFinal } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import { isUnstarted } from './insert-order.ts';
import { alertWithoutRow, findWithoutRow } from './lost-orders.ts';
import type { OpenOrder, OpenOrderPage } from './open-orders.ts';
import { pagesOfOpenOrders } from './open-orders.ts';
import type { RecoveryDeps } from './recovery.ts';
import { recoverOrder } from './recovery.ts';

const CONCURRENT_ORDERS = 20;

/** What a comparison has found so far, and the order number up to which it came. */
export interface Comparison {
  after: string;
  compared: number;
  recovered: number;
}

/**
 * Compares the orders that are not final with the workflows that run, page after page, and brings
 * each pair together that differs in status, or whose workflow is missing. What Temporal lists lags
 * behind by a moment, so each difference is looked at again, one by one, before anything is done.
 *
 * @param onPage told after each page
 */
export async function compareOrders(
  deps: RecoveryDeps,
  onPage: (comparison: Comparison) => void = () => {},
  from: Comparison = { after: '', compared: 0, recovered: 0 },
): Promise<Comparison> {
  let comparison = from;
  for await (const page of pagesOfOpenOrders(deps, from.after)) {
    comparison = await comparePage(deps, page, comparison);
    onPage(comparison);
  }
  return comparison;
}

async function comparePage(
  deps: RecoveryDeps,
  { open, running, after }: OpenOrderPage,
  before: Comparison,
): Promise<Comparison> {
  const suspects = new Set(
    open.filter((order) => running.get(order.orderNumber) !== order.status).map(numberOf),
  );
  const rows = new Set(open.map(numberOf));
  const waitsForWebhooks: string[] = [];
  for (const [orderNumber, status] of running) {
    if (rows.has(orderNumber)) continue;
    // A final order runs on until its webhooks have settled.
    if (status && isFinal(status)) waitsForWebhooks.push(orderNumber);
    else suspects.add(orderNumber);
  }
  for (const orderNumber of await findWithoutRow(deps.sql, waitsForWebhooks)) {
    suspects.add(orderNumber);
  }
  let { recovered } = before;
  const bringTogether = async (orderNumber: string) => {
    if (await bringOrderTogether(deps, orderNumber)) recovered += 1;
  };
  const turns = { log: deps.log, concurrency: CONCURRENT_ORDERS };
  await forEachOrder([...suspects], (orderNumber) => orderNumber, bringTogether, turns);
  return { after, compared: before.compared + open.length, recovered };
}

/** @returns true when row and workflow really differed */
async function bringOrderTogether(deps: RecoveryDeps, orderNumber: string): Promise<boolean> {
  const found = await deps.workflows.find(orderNumber);
  const [row] = await deps.sql<OpenOrder[]>`
    SELECT order_number, status FROM orders WHERE order_number = ${orderNumber}`;
  if (found.state === 'running') {
    if (!row) {
      await alertWithoutRow(deps, orderNumber, 'runs');
      return false;
    }
    if (found.status === row.status) return false;
  } else if (!row || isFinal(row.status) || (await isUnstarted(deps.sql, orderNumber))) {
    return false;
  }
  await recoverOrder(deps, orderNumber);
  return true;
}

const numberOf = ({ orderNumber }: OpenOrder) => orderNumber;
