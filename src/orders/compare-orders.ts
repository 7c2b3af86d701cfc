import { raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { OrderStatus } from '../domain/index.ts';
import { isFinal, ORDER_STATUSES } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import { isUnstarted } from './insert-order.ts';
import type { RecoveryDeps } from './recovery.ts';
import { recoverOrder } from './recovery.ts';

const ORDERS_PER_PAGE = 500;
const CONCURRENT_ORDERS = 20;
/** Behind every order number. */
const END = '~';

/** As a literal, because a list in a parameter would not match the index of open orders. */
const FINAL_STATUSES = ORDER_STATUSES.filter(isFinal)
  .map((status) => `'${status}'`)
  .join(', ');

interface OpenOrder {
  orderNumber: string;
  status: OrderStatus;
}

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
  while (comparison.after !== END) {
    comparison = await comparePage(deps, comparison);
    onPage(comparison);
  }
  return comparison;
}

async function comparePage(deps: RecoveryDeps, before: Comparison): Promise<Comparison> {
  const { sql, workflows, log } = deps;
  const open = await listOpenOrders(sql, before.after);
  const after = endOf(open);
  const running = await workflows.listRunning(before.after, after);
  const suspects = new Set(
    open.filter((order) => running.get(order.orderNumber) !== order.status).map(numberOf),
  );
  const rows = new Set(open.map(numberOf));
  for (const [orderNumber, status] of running) {
    // A final order runs on until its webhooks have settled.
    if (!rows.has(orderNumber) && (!status || !isFinal(status))) suspects.add(orderNumber);
  }
  let { recovered } = before;
  const bringTogether = async (orderNumber: string) => {
    if (await bringOrderTogether(deps, orderNumber)) recovered += 1;
  };
  const turns = { log, concurrency: CONCURRENT_ORDERS };
  await forEachOrder([...suspects], (orderNumber) => orderNumber, bringTogether, turns);
  return { after, compared: before.compared + open.length, recovered };
}

/** @returns true when row and workflow really differed */
async function bringOrderTogether(deps: RecoveryDeps, orderNumber: string): Promise<boolean> {
  const found = await deps.workflows.find(orderNumber);
  const [row] = await deps.sql<OpenOrder[]>`
    SELECT order_number AS "orderNumber", status FROM orders WHERE order_number = ${orderNumber}`;
  if (found.state === 'running') {
    if (!row) return alertWithoutRow(deps, orderNumber);
    if (found.status === row.status) return false;
  } else if (!row || isFinal(row.status) || (await isUnstarted(deps.sql, orderNumber))) {
    return false;
  }
  await recoverOrder(deps, orderNumber);
  return true;
}

async function alertWithoutRow(deps: RecoveryDeps, orderNumber: string): Promise<false> {
  await raiseAlert(deps, {
    kind: 'order_without_row',
    subject: orderNumber,
    message: 'A workflow runs for an order that is not in the database',
    fields: { orderNumber },
  });
  return false;
}

async function listOpenOrders(sql: Sql, after: string): Promise<OpenOrder[]> {
  return sql<OpenOrder[]>`
    SELECT order_number AS "orderNumber", status FROM orders
    WHERE status NOT IN (${sql.unsafe(FINAL_STATUSES)}) AND order_number > ${after}
    ORDER BY order_number LIMIT ${ORDERS_PER_PAGE}`;
}

const numberOf = ({ orderNumber }: OpenOrder) => orderNumber;

/** Where the page behind this one begins. */
function endOf(page: readonly OpenOrder[]): string {
  const last = page.at(-1);
  return last && page.length === ORDERS_PER_PAGE ? last.orderNumber : END;
}
