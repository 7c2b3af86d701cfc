import type { AlertDeps } from '../../alerts/alerts.ts';
import { clearAlert, openSubjects } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import { databaseTime } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import { isFinal } from '../../domain/index.ts';
import { forEachOrder } from '../../for-each-order.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import { alertWithoutRow } from './lost-orders.ts';
import type { OrderRow } from '../rows.ts';
import type { WakeDeps } from './wake-order.ts';
import { wakeOrder } from './wake-order.ts';

const ORDERS_PER_PAGE = 500;
const CONCURRENT_ORDERS = 20;
/** Sorts after every order number, whatever the collation of Temporal's database is. */
const END = `ORD${'Z'.repeat(26)}`;

/** Within this time the sweep starts the workflow of an order if the API process died before it did. */
const STARTED_WITHIN_MINUTES = 5;

type OrderStatusRow = Pick<OrderRow, 'orderNumber' | 'status'>;

/** How an order's row and workflow differ. `closed`: the workflow has ended or was terminated. */
export type Difference = { orderNumber: string } & (
  | { kind: 'missing' | 'closed'; status: OrderStatus }
  /** `hasNewDispute`: the row has a dispute that the workflow does not have yet. */
  | { kind: 'status'; status: OrderStatus; hasNewDispute: boolean }
  | { kind: 'no_row' }
);

interface ComparedPage {
  /** The last order number of the range. */
  after: string;
  running: { orderNumber: string }[];
  compared: number;
  differences: Difference[];
  /** The orders with an alert about a missing workflow that were compared and do not differ. */
  found: string[];
  /** The database's time from before Temporal was asked for each workflow. */
  askedAt: string;
  /** How many orders could not be compared. */
  failed: number;
}

/** The progress of a comparison. The worker stores it as a heartbeat and resumes from it. */
export interface Comparison {
  /** The order number up to which orders were compared. */
  after: string;
  compared: number;
  woken: number;
  /** How many comparisons and wakes have failed. */
  failed: number;
}

type CompareDeps = Pick<AlertDeps, 'sql' | 'log'> & { workflows: OrderWorkflows };

/**
 * Compares the orders that are not final with the running workflows, page after page. Wakes each order whose
 * workflow has another status or is missing; it raises an alert for a workflow whose order has no row.
 *
 * @param options.onPage called after each page; the next one begins when it has returned
 * @param options.from where an earlier comparison stopped
 * @param options.changedSince also wakes each order whose workflow has changed since then: a restored database may
 * lack steps that left the status as it was, such as a dispute that was raised and resolved
 */
export async function compareOrders(
  deps: WakeDeps,
  options: {
    onPage?: (comparison: Comparison) => Promise<void>;
    from?: Comparison | undefined;
    changedSince?: Date;
  } = {},
): Promise<Comparison> {
  const { onPage, changedSince } = options;
  let comparison = options.from ?? { after: '', compared: 0, woken: 0, failed: 0 };
  for await (const page of comparedPages(deps, comparison.after)) {
    let { woken, failed } = comparison;
    const wake = async (orderNumber: string) => {
      await wakeOrder(deps, orderNumber);
      woken += 1;
    };
    const repair = ({ orderNumber, kind }: Difference) =>
      kind === 'no_row' ? alertWithoutRow(deps, orderNumber, 'runs') : wake(orderNumber);
    const { found, askedAt } = page;
    await clearAlert(deps.sql, 'workflow_missing', found, 'its workflow runs', { before: askedAt });
    failed += page.failed + (await forEach(deps, page.differences, repair));
    if (changedSince) {
      failed += await forEach(deps, page.running, async ({ orderNumber }) => {
        const changedAt = await deps.workflows.lastChangedAt(orderNumber);
        // Undefined: a restored Temporal has lost the workflow, and still lists it.
        if (changedAt === undefined || changedAt >= changedSince) await wake(orderNumber);
      });
    }
    comparison = {
      after: page.after,
      compared: comparison.compared + page.compared,
      woken,
      failed,
    };
    await onPage?.(comparison);
  }
  return comparison;
}

/**
 * Compares the orders like {@link compareOrders}, but changes nothing.
 *
 * @throws the error of the database or of Temporal, so that an order that was not checked does not count as
 * consistent
 */
export async function listDifferences(
  deps: CompareDeps,
): Promise<{ compared: number; differences: Difference[] }> {
  const found: Difference[] = [];
  let compared = 0;
  for await (const page of comparedPages(deps, '', { failsOnError: true })) {
    found.push(...page.differences);
    compared += page.compared;
  }
  return { compared, differences: found };
}

/**
 * Temporal's list is eventually consistent, so the workflow itself is asked for before an order counts as one that
 * differs, or as one whose missing workflow runs again.
 */
async function* comparedPages(
  deps: CompareDeps,
  from: string,
  { failsOnError = false } = {},
): AsyncGenerator<ComparedPage> {
  let after = from;
  while (after !== END) {
    const open = await listOpenOrders(deps.sql, after);
    const upTo = open.length < ORDERS_PER_PAGE ? END : (open.at(-1)?.orderNumber ?? END);
    const running = await deps.workflows.listRunning(after, upTo);
    const askedAt = await databaseTime(deps.sql);
    const missed = new Set(await openSubjects(deps.sql, 'workflow_missing', { after, upTo }));
    const openNumbers = new Set(open.map(({ orderNumber }) => orderNumber));
    const others = [...new Set([...running.keys(), ...missed])].filter((n) => !openNumbers.has(n));
    const rows = [...open, ...(await findOrders(deps.sql, others))];
    const statuses = new Map(rows.map(({ orderNumber, status }) => [orderNumber, status]));
    const agrees = (number: string) =>
      statuses.has(number) && running.get(number) === statuses.get(number) && !missed.has(number);
    const suspects = [...openNumbers, ...others]
      .filter((number) => !agrees(number))
      .map((orderNumber) => ({ orderNumber }));
    const differences: Difference[] = [];
    const found: string[] = [];
    const failures: unknown[] = [];
    await forEach(deps, suspects, async ({ orderNumber }) => {
      try {
        const difference = await differenceOf(deps, orderNumber);
        if (difference) differences.push(difference);
        else if (missed.has(orderNumber)) found.push(orderNumber);
      } catch (error) {
        failures.push(error);
        throw error;
      }
    });
    if (failsOnError && failures.length > 0) throw failures[0];
    yield {
      after: upTo,
      running: open.filter(({ orderNumber }) => running.has(orderNumber)),
      compared: open.length,
      differences: differences.toSorted((a, b) => (a.orderNumber < b.orderNumber ? -1 : 1)),
      found,
      askedAt,
      failed: failures.length,
    };
    after = upTo;
  }
}

async function listOpenOrders(sql: Sql, after: string): Promise<OrderStatusRow[]> {
  return sql<OrderStatusRow[]>`
    SELECT order_number, status FROM orders
    WHERE NOT is_final(status) AND order_number > ${after}
    ORDER BY order_number LIMIT ${ORDERS_PER_PAGE}`;
}

/** Final orders are included: their workflow may still run to send webhooks. */
async function findOrders(sql: Sql, orderNumbers: string[]): Promise<OrderStatusRow[]> {
  if (orderNumbers.length === 0) return [];
  return sql<OrderStatusRow[]>`
    SELECT order_number, status FROM orders WHERE order_number = ANY (${orderNumbers})`;
}

/**
 * Compares one order's row with its workflow. Reads the row after Temporal has answered, because an order may begin or
 * end in between.
 */
export async function differenceOf(
  { sql, workflows }: CompareDeps,
  orderNumber: string,
): Promise<Difference | undefined> {
  const found = await workflows.find(orderNumber);
  const [row] = await sql<{ status: OrderStatus; disputeCount: number; isBeginning: boolean }[]>`
    SELECT o.status, o.dispute_count, EXISTS (SELECT FROM order_wakeups w
      WHERE w.order_number = o.order_number AND w.cause = 'creation' AND w.written_at
        > service_now() - ${STARTED_WITHIN_MINUTES} * interval '1 minute') AS is_beginning
    FROM orders o WHERE o.order_number = ${orderNumber}`;
  if (found.state === 'running') {
    if (!row) return { orderNumber, kind: 'no_row' };
    const { status } = row;
    const hasNewDispute = row.disputeCount > found.disputeCount;
    return found.status === status
      ? undefined
      : { orderNumber, kind: 'status', status, hasNewDispute };
  }
  if (!row || row.isBeginning || isFinal(row.status)) return undefined;
  return { orderNumber, kind: found.state, status: row.status };
}

/**
 * Wakes every order with a webhook to send, because a restored database may not know that it was accepted.
 */
export async function wakeOrdersWithWebhooks(
  deps: WakeDeps,
): Promise<{ unsent: number; failed: number }> {
  const orders = await deps.sql<{ orderNumber: string }[]>`
    SELECT DISTINCT e.order_number FROM shared.webhook_deliveries d JOIN shared.order_events e USING (event_id)
    WHERE d.state = 'PENDING'`;
  const failed = await forEach(deps, orders, ({ orderNumber }) => wakeOrder(deps, orderNumber));
  return { unsent: orders.length, failed };
}

function forEach<Item extends { orderNumber: string }>(
  { log }: Pick<AlertDeps, 'log'>,
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<number> {
  return forEachOrder(items, work, { log, concurrency: CONCURRENT_ORDERS });
}
