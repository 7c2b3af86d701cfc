import type postgres from 'postgres';
import { ulid } from 'ulid';
import type { FoundStep, RecordStepInput, RecordStepResult } from '../contracts/activities.ts';
import type { Sql } from '../db/client.ts';
import type { EventType, Step, StepKind } from '../domain/index.ts';
import type { PresentOrder } from './presenter.ts';
import type { StepContext } from './step-columns.ts';
import { columnsAfter, textIn } from './step-columns.ts';

/** Of a payment attempt that failed. */
const NO_REASON_GIVEN = 'The gateway gave no reason';

/** Where the money of the order goes at a step. */
const LEDGER_LINES: Partial<
  Record<StepKind, { operation: string; debit: string; credit: string }>
> = {
  PAYMENT_SUCCESS: { operation: 'capture', debit: 'gateway_clearing', credit: 'merchant_held' },
  ORDER_COMPLETED: { operation: 'release', debit: 'merchant_held', credit: 'merchant_available' },
  REFUND_PROCESSED: { operation: 'refund', debit: 'merchant_held', credit: 'refunds' },
};

/**
 * The one writer of an order after its creation: row, timeline, webhook event with its bytes,
 * delivery and ledger line change together, once for each step number, by the SQL function
 * `record_step`. Only the order's workflow calls it, so what is read here before cannot change
 * under it; what can (a dispute, a session) is a condition that the function checks on the locked row.
 */
export function createStepRecorder({ sql, present }: { sql: Sql; present: PresentOrder }) {
  return async function recordStep(input: RecordStepInput): Promise<RecordStepResult> {
    const { orderNumber, step } = input;
    const before = await readContext(sql, input);
    const isNew = before.step_number < step.number;
    if (isNew && input.gatewayPaymentId !== undefined && !before.is_captured) {
      return { outcome: 'payment_not_captured' };
    }
    const columns = columnsAfter(before, input);
    const after = { ...before, ...columns };
    const [row] = await sql<{ result: RecordStepResult }[]>`
      SELECT record_step(
        ${orderNumber},
        ${jsonb(sql, { number: step.number, kind: step.kind, at: iso(step.atMs), whole: step, unheard: input.forUpdate ?? false })},
        ${jsonb(sql, columns)},
        ${jsonb(sql, requestOf(before, input))},
        ${jsonb(sql, eventOf(after, step, present))},
        ${jsonb(sql, LEDGER_LINES[step.kind])},
        ${sql.json({
          unless_session_open: input.unlessSessionOpen ?? false,
          unless_disputed_before: iso(input.unlessDisputedBeforeMs),
          if_settled_outside: input.ifSettledOutside ?? false,
        })}
      ) AS result`;
    if (!row) throw new Error('record_step always answers');
    return row.result;
  };
}

/** What the book has under a step's number, for a workflow that may have fallen behind it. */
export async function findStep(
  sql: Sql,
  { orderNumber, stepNumber }: { orderNumber: string; stepNumber: number },
): Promise<FoundStep | null> {
  const [row] = await sql<{ found: FoundStep | null }[]>`
    SELECT find_step(${orderNumber}, ${stepNumber}) AS found`;
  return row?.found ?? null;
}

async function readContext(sql: Sql, input: RecordStepInput): Promise<StepContext> {
  const { orderNumber, requestId = null, gatewayPaymentId = null } = input;
  const [row] = await sql<StepContext[]>`
    SELECT o.*, r.body AS request_body, s.pay_request_id,
      p.gateway_payment_id IS NOT NULL AS is_captured, p.utr AS captured_utr,
      e.webhook_url IS NOT NULL AS has_webhook,
      (SELECT jsonb_build_object('refund_amount_paise', u.amount_paise, 'refund_reason', u.reason,
          'refund_processed_at', u.processed_at)
        FROM surplus_refunds u WHERE u.order_number = o.order_number
        ORDER BY u.started_at, u.gateway_payment_id LIMIT 1) AS surplus
    FROM orders o
    LEFT JOIN order_requests r
      ON r.order_number = o.order_number AND r.request_id = ${requestId}
    LEFT JOIN payments p
      ON p.gateway_payment_id = ${gatewayPaymentId} AND p.order_number = o.order_number
      AND p.environment = o.environment AND p.amount_paise = o.amount_paise
    LEFT JOIN payment_sessions s ON s.session_id = p.session_id
    LEFT JOIN merchant_environments e
      ON e.merchant_id = o.merchant_id AND e.environment = o.environment
    WHERE o.order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

/** By its request id a repeat finds that it has been carried out. */
function requestOf(before: StepContext, input: RecordStepInput) {
  const request_id = input.requestId ?? before.pay_request_id;
  return { request_id, details: detailsOf(before, input) };
}

/** What the timeline says of a step beyond its kind. */
function detailsOf({ request_body, captured_utr }: StepContext, input: RecordStepInput) {
  const { step, gatewayPaymentId } = input;
  const paid = gatewayPaymentId !== undefined && {
    gateway_payment_id: gatewayPaymentId,
    utr: captured_utr,
  };
  const details = { ...request_body, ...step.details, ...paid };
  return Object.keys(details).length > 0 ? details : null;
}

/** The webhook event: its body is made here, once, and never changes between attempts. */
function eventOf(after: StepContext, { event, atMs }: Step, present: PresentOrder) {
  if (event === null) return undefined;
  const eventId = `evt_${ulid()}`;
  const body = JSON.stringify({
    event: event.type,
    event_id: eventId,
    sequence: event.sequence,
    timestamp: iso(atMs),
    environment: after.environment,
    data: dataOf(after, event.type, present),
  });
  const deliveryId = after.has_webhook ? `dlv_${ulid()}` : null;
  return { event_id: eventId, ...event, body, delivery_id: deliveryId };
}

/** A failed attempt changes nothing about the order, so its reason stands beside it. */
function dataOf(after: StepContext, type: EventType, present: PresentOrder) {
  const order = present(after);
  if (type !== 'PAYMENT_FAILED') return order;
  return { ...order, payment_failure: { reason: textIn(after, 'reason') ?? NO_REASON_GIVEN } };
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** postgres.js serialises it; its own type of JSON knows no dates. */
function jsonb(sql: Sql, value: object | undefined) {
  return value === undefined ? null : sql.json(value as postgres.JSONValue);
}
