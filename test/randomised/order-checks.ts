import { isFinal } from '../../src/domain/index.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { ORDER_WORKFLOW, SEND_MAIL_WORKFLOW } from '../../src/contracts/ids.ts';
import type { TestOrder } from './acts.ts';
import type { OpenAlerts } from './alerts.ts';
import type { System } from './system.ts';

/** These statuses wait for a person; every other status that is not final ends within seconds. */
const WAITING_FOR_A_PERSON: readonly OrderStatus[] = ['ACCEPTED', 'PAID'];

interface OrderNow {
  orderNumber: string;
  status: OrderStatus;
  pendingOperation: { kind: string } | null;
  waitingDisputeId: string | null;
  /** Of a REFUNDED order: its refund has failed, and is not made again yet. */
  isRefundMissing: boolean;
}

/** Orders that have not ended, do not wait for a person, and have no alert. */
export async function orderProblems(
  { sql }: System,
  testOrders: readonly TestOrder[],
  alerts: OpenAlerts,
): Promise<string[]> {
  const rows = await sql<OrderNow[]>`
    SELECT order_number, status, pending_operation, waiting_dispute_id,
      status = 'REFUNDED' AND refund_processed_at IS NULL AS is_refund_missing
    FROM orders`;
  const known = new Set(rows.map(({ orderNumber: number }) => number));
  const lost = testOrders.flatMap(({ orderNumber }) =>
    orderNumber === undefined || known.has(orderNumber) || alerts.isAbout(orderNumber)
      ? []
      : `${orderNumber}: its merchant knows it, the database does not, and no alert says so`,
  );
  const stranded = rows
    .filter((row) => !hasEnded(row) && !waitsForAPerson(row))
    .filter(({ orderNumber: number }) => !alerts.isAbout(number))
    .map(
      ({ orderNumber: number, status, pendingOperation }) =>
        `${number}: is ${status}${pendingOperation ? `, ${pendingOperation.kind}` : ''}, and no alert says why`,
    );
  return [...lost, ...stranded];
}

const hasEnded = ({ status, pendingOperation, isRefundMissing }: OrderNow) =>
  isFinal(status) && pendingOperation === null && !isRefundMissing;

const waitsForAPerson = ({ status, pendingOperation, waitingDisputeId: dispute }: OrderNow) =>
  WAITING_FOR_A_PERSON.includes(status) && pendingOperation === null && dispute === null;

/** Open orders without a workflow, and workflows that still run without anything to do. */
export async function workflowProblems(
  { sql, temporal }: System,
  alerts: OpenAlerts,
): Promise<string[]> {
  const rows = await sql<OrderNow[]>`SELECT order_number, status FROM orders`;
  const open = new Map(rows.map(({ orderNumber: number, status }) => [number, !isFinal(status)]));
  const problems: string[] = [];
  const running = new Set<string>();
  const query = 'ExecutionStatus = "Running"';
  for await (const { workflowId, type } of temporal.workflow.list({ query })) {
    running.add(workflowId);
    const isOrder = type === ORDER_WORKFLOW;
    const subject =
      type === SEND_MAIL_WORKFLOW
        ? 'SMTP_URL'
        : workflowId.replace(/^refund-razorpay-/, 'razorpay:');
    if ((isOrder && open.get(workflowId)) || alerts.isAbout(subject)) continue;
    problems.push(`${workflowId}: its workflow runs, and has nothing to wait for`);
  }
  for (const [orderNumber, isOpen] of open) {
    if (isOpen && !running.has(orderNumber)) problems.push(`${orderNumber}: has no workflow`);
  }
  return problems;
}

/** Events that have neither arrived nor failed five times. */
export async function webhookProblems({ sql, merchants }: System): Promise<string[]> {
  const events = await sql<
    {
      eventId: string;
      orderNumber: string;
      type: string;
      state: string;
      nextAttemptAt: Date | null;
      attempts: number;
    }[]
  >`
    SELECT e.event_id, e.order_number, e.type, coalesce(d.state::text, 'without a delivery') AS state,
      d.next_attempt_at,
      (SELECT count(*)::integer FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS attempts
    FROM order_events e LEFT JOIN webhook_deliveries d USING (event_id)`;
  const received = merchants.map(({ receiver }) => receiver.received);
  const isRight = ({ eventId: id, state, attempts }: (typeof events)[number]) =>
    state === 'DELIVERED'
      ? received.some((ids) => ids.has(id))
      : state === 'FAILED' && attempts === 5;
  return events
    .filter((event) => !isRight(event))
    .map(
      ({ orderNumber: number, type, state, attempts, nextAttemptAt: nextAt }) =>
        `${number}: ${type} is ${state} after ${attempts} scheduled attempts, next at ${nextAt?.toISOString() ?? 'no time'}`,
    );
}
