import type { AlertDeps } from '../alerts/alerts.ts';
import type { OrderStatus } from '../domain/index.ts';
import { isFinal } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import { pagesOfOpenOrders } from './open-orders.ts';

const CONCURRENT_ORDERS = 20;

/** Long enough for the sweep to start an order whose API process died before it could. */
const STARTED_WITHIN_MINUTES = 5;

export interface MissingWorkflow {
  orderNumber: string;
  status: OrderStatus;
  /** `closed`: it ran once, and has ended or was terminated. `missing`: Temporal knows nothing of it. */
  workflow: 'closed' | 'missing';
}

export interface MissingWorkflows {
  /** Orders that are not final. */
  comparedCount: number;
  missingCount: number;
  /** The first of them, by order number. */
  missing: MissingWorkflow[];
}

type Deps = Pick<AlertDeps, 'sql' | 'log'> & { workflows: OrderWorkflows };

/**
 * Finds the orders that are not final and for which no workflow runs, and changes nothing. An order
 * that was created within minutes and whose workflow never began is none of them: the sweep starts it.
 *
 * @param limit how many of them are named; all are counted
 * @throws what the database or Temporal throws: what is not looked at must not seem sound
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

/** Looks at each of them again, by itself. */
async function confirm(deps: Deps, orderNumbers: string[]): Promise<MissingWorkflow[]> {
  const missing: MissingWorkflow[] = [];
  const failures: unknown[] = [];
  const look = async (orderNumber: string) => {
    const found = await findMissing(deps, orderNumber).catch((error: unknown) => {
      failures.push(error);
      return undefined;
    });
    if (found) missing.push(found);
  };
  const isOver = () => failures.length > 0;
  await forEachOrder(orderNumbers, (orderNumber) => orderNumber, look, {
    log: deps.log,
    concurrency: CONCURRENT_ORDERS,
    isOver,
  });
  if (failures.length > 0) throw failures[0];
  return missing.toSorted((one, other) => (one.orderNumber < other.orderNumber ? -1 : 1));
}

/** The row before and after: its order may begin, or end, while Temporal is asked. */
async function findMissing(deps: Deps, orderNumber: string): Promise<MissingWorkflow | undefined> {
  if (!(await readBegun(deps, orderNumber))) return undefined;
  const { state } = await deps.workflows.find(orderNumber);
  if (state === 'running') return undefined;
  const row = await readBegun(deps, orderNumber);
  return row && { orderNumber, status: row.status, workflow: state };
}

/** The order unless it is final, or has yet to begin. */
async function readBegun(
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
