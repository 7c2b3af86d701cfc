import type { AlertDeps } from '../alerts/alerts.ts';
import type { OrderStatus } from '../domain/index.ts';
import { isFinal } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import { pagesOfOpenOrders } from './open-orders.ts';

const CONCURRENT_ORDERS = 20;

/** Within this time the sweep starts the workflow of an order whose API process died before it could. */
const STARTED_WITHIN_MINUTES = 5;

/** An order that is not final and has no running workflow. */
export interface MissingWorkflow {
  orderNumber: string;
  status: OrderStatus;
  /** `closed`: it has ended or was terminated. `missing`: Temporal has no workflow with this id. */
  workflow: 'closed' | 'missing';
}

/** The result of {@link findMissingWorkflows}. */
export interface MissingWorkflows {
  /** Orders that are not final. */
  comparedCount: number;
  missingCount: number;
  /** The first ones, by order number. */
  missing: MissingWorkflow[];
}

type Deps = Pick<AlertDeps, 'sql' | 'log'> & { workflows: OrderWorkflows };

/**
 * Finds the orders that are not final and have no running workflow. Changes nothing. Skips an order
 * that was created within the last minutes and whose workflow has not begun: the sweep starts it.
 *
 * @param limit how many orders are listed; all are counted
 * @throws the error of the database or of Temporal: an order that was not checked must not count as sound
 */
export async function findMissingWorkflows(deps: Deps, limit: number): Promise<MissingWorkflows> {
  const found: MissingWorkflow[] = [];
  let comparedCount = 0;
  for await (const { open, running } of pagesOfOpenOrders(deps)) {
    comparedCount += open.length;
    const suspects = open.filter(({ orderNumber }) => !running.has(orderNumber));
    const missing = await confirm(
      deps,
      suspects.map(({ orderNumber }) => orderNumber),
    );
    found.push(...missing);
  }
  return { comparedCount, missingCount: found.length, missing: found.slice(0, limit) };
}

/** Checks each order again, by itself. */
async function confirm(deps: Deps, orderNumbers: string[]): Promise<MissingWorkflow[]> {
  const missing: MissingWorkflow[] = [];
  const failures: unknown[] = [];
  const check = async (orderNumber: string) => {
    const found = await findMissing(deps, orderNumber).catch((error: unknown) => {
      failures.push(error);
      return undefined;
    });
    if (found) missing.push(found);
  };
  const isOver = () => failures.length > 0;
  await forEachOrder(orderNumbers, (orderNumber) => orderNumber, check, {
    log: deps.log,
    concurrency: CONCURRENT_ORDERS,
    isOver,
  });
  if (failures.length > 0) throw failures[0];
  return missing.toSorted((one, other) => (one.orderNumber < other.orderNumber ? -1 : 1));
}

/** Reads the row before and after the query to Temporal, during which the order may begin or end. */
async function findMissing(deps: Deps, orderNumber: string): Promise<MissingWorkflow | undefined> {
  if (!(await readStarted(deps, orderNumber))) return undefined;
  const { state } = await deps.workflows.find(orderNumber);
  if (state === 'running') return undefined;
  const row = await readStarted(deps, orderNumber);
  return row && { orderNumber, status: row.status, workflow: state };
}

/** @returns undefined when the order is final, or is new and its workflow has not begun */
async function readStarted(
  { sql }: Deps,
  orderNumber: string,
): Promise<{ status: OrderStatus } | undefined> {
  const [row] = await sql<{ status: OrderStatus; isBeginning: boolean }[]>`
    SELECT o.status, coalesce(u.created_at >
      service_now() - ${STARTED_WITHIN_MINUTES} * interval '1 minute', false) AS is_beginning
    FROM orders o LEFT JOIN unstarted_orders u USING (order_number)
    WHERE order_number = ${orderNumber}`;
  return row && !row.isBeginning && !isFinal(row.status) ? row : undefined;
}
