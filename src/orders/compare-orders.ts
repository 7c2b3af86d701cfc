import { isFinal } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import { isUnstarted } from './insert-order.ts';
import { alertWithoutRow, findWithoutRow } from './lost-orders.ts';
import type { OpenOrder, OpenOrderPage } from './open-orders.ts';
import { pagesOfOpenOrders } from './open-orders.ts';
import type { RecoveryDeps } from './recovery.ts';
import { recoverOrder } from './recovery.ts';

const CONCURRENT_ORDERS = 20;

/** The progress of a comparison. The worker stores it as a heartbeat and resumes from it. */
export interface Comparison {
  /** The order number up to which orders were compared. */
  after: string;
  /** How many orders were compared. */
  compared: number;
  /** How many orders differed and were reconciled. */
  recovered: number;
}

/**
 * Compares the orders that are not final with the running workflows, page after page. Reconciles each
 * order whose workflow has another status or is missing. Temporal's list is eventually consistent, so
 * each difference is checked again, order by order, before anything changes.
 *
 * @param onPage called after each page; the next one begins when it has returned
 * @param from where an earlier comparison stopped
 */
export async function compareOrders(
  deps: RecoveryDeps,
  onPage: (comparison: Comparison) => Promise<void> = async () => {},
  from: Comparison = { after: '', compared: 0, recovered: 0 },
): Promise<Comparison> {
  let comparison = from;
  for await (const page of pagesOfOpenOrders(deps, from.after)) {
    comparison = await comparePage(deps, page, comparison);
    await onPage(comparison);
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
  const finalOrders: string[] = [];
  for (const [orderNumber, status] of running) {
    if (rows.has(orderNumber)) continue;
    // The workflow of a final order runs until its webhook deliveries have ended.
    if (status && isFinal(status)) finalOrders.push(orderNumber);
    else suspects.add(orderNumber);
  }
  for (const orderNumber of await findWithoutRow(deps.sql, finalOrders)) {
    suspects.add(orderNumber);
  }
  let { recovered } = before;
  const reconcile = async (orderNumber: string) => {
    if (await reconcileOrder(deps, orderNumber)) recovered += 1;
  };
  const options = { log: deps.log, concurrency: CONCURRENT_ORDERS };
  await forEachOrder([...suspects], (orderNumber) => orderNumber, reconcile, options);
  return { after, compared: before.compared + open.length, recovered };
}

/** @returns true when row and workflow differed and were reconciled */
async function reconcileOrder(deps: RecoveryDeps, orderNumber: string): Promise<boolean> {
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
