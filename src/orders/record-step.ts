import type postgres from 'postgres';
import { ulid } from 'ulid';
import type { FoundStep, RecordStepInput, RecordStepResult } from '../contracts/activities.ts';
import type { Sql } from '../db/client.ts';
import type { OrderStatus, Step, StepDetails, StepKind } from '../domain/index.ts';
import type { PresentOrder } from './presenter.ts';
import type { OrderRow } from './rows.ts';

/** The order with everything that a step may write from: its request's texts, its payment. */
type StepContext = OrderRow & {
  request_body: Record<string, string> | null;
  pay_request_id: string | null;
  is_captured: boolean;
  has_webhook: boolean;
  surplus:
    | (Pick<OrderRow, 'refund_amount_paise' | 'refund_reason'> & {
        refund_processed_at: string | null;
      })
    | null;
};

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
        ${jsonb(sql, requestOf(before, input, present(after)))},
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
      p.gateway_payment_id IS NOT NULL AS is_captured,
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

/** The columns of the row that a step changes, with their values after it. */
function columnsAfter(before: StepContext, input: RecordStepInput) {
  const { step } = input;
  const deadlineAt = step.deadline && new Date(step.deadline.atMs);
  const kind = step.deadline?.kind;
  return {
    status: step.status,
    busy: step.busy,
    dispute_count: step.disputeCount,
    payment_link_expires_at:
      deadlineAt && kind === 'payment_link' ? deadlineAt : before.payment_link_expires_at,
    completes_at: kind === 'completion' ? deadlineAt : null,
    dispute_respond_by: kind === 'dispute_answer' ? deadlineAt : null,
    updated_at: new Date(step.atMs),
    ...paymentColumns(input),
    ...disputeColumns(before, step),
    ...refundColumns(before, step),
  };
}

/** A session that the API opened meanwhile must not be lost: it is named only when it is over. */
function paymentColumns({ step, gatewayPaymentId }: RecordStepInput) {
  if (gatewayPaymentId !== undefined) {
    return { gateway_payment_id: gatewayPaymentId, open_session_id: null };
  }
  return step.status === 'CANCELLED' ? { open_session_id: null } : {};
}

/** The latest dispute: it stays on the row after it ended, until another one is raised. */
function disputeColumns(before: StepContext, step: Step) {
  const at = new Date(step.atMs);
  const isEnded = isDisputed(before.status) && !isDisputed(step.status);
  const ended = isEnded ? { dispute_ended_at: at } : {};
  if (step.details?.for !== undefined) return { ...ended, ...decisionColumns(before, step) };
  switch (step.kind) {
    case 'DISPUTE_RAISED':
      return {
        dispute_reason: before.request_body?.['reason'] ?? '',
        dispute_raised_at: at,
        dispute_evidence: null,
        dispute_resolution: null,
        dispute_decided_for: null,
        dispute_decision_reason: null,
        dispute_decided_at: null,
        dispute_ended_at: null,
        waiting_dispute_id: null,
        waiting_dispute_received_at: null,
      };
    case 'EVIDENCE_SUBMITTED':
      return { dispute_evidence: before.request_body?.['text'] ?? '' };
    case 'DISPUTE_RESOLVED':
      return { ...ended, dispute_resolution: before.request_body?.['resolution'] ?? null };
    default:
      return ended;
  }
}

function decisionColumns(before: StepContext, { atMs, details }: Step) {
  return {
    dispute_decided_for: details?.for,
    dispute_decision_reason: before.request_body?.['reason'] ?? '',
    dispute_decided_at: new Date(atMs),
  };
}

function isDisputed(status: OrderStatus): boolean {
  return status === 'DISPUTE_OPEN' || status === 'DISPUTE_UNDER_REVIEW';
}

function refundColumns(before: StepContext, step: Step) {
  // What was given back before the cancel is shown from now on.
  if (step.kind === 'ORDER_CANCELLED' && before.surplus) {
    const { refund_processed_at: at, ...surplus } = before.surplus;
    return { ...surplus, refund_processed_at: at === null ? null : new Date(at) };
  }
  if (step.kind === 'REFUND_PROCESSED') return { refund_processed_at: new Date(step.atMs) };
  if (step.busy?.kind !== 'refunding') return {};
  return { refund_amount_paise: before.amount_paise, refund_reason: step.busy.reason };
}

/** A request that comes again gets its first answer from here. */
function requestOf(
  before: StepContext,
  { requestId, step }: RecordStepInput,
  order: ReturnType<PresentOrder>,
) {
  const request_id = requestId ?? before.pay_request_id;
  const details = detailsOf(before, step);
  return request_id === null ? { details } : { request_id, details, answer: order };
}

/** What the timeline says of a step: the texts of its request, and what the step itself says. */
function detailsOf(
  { request_body }: StepContext,
  step: Step,
): (Record<string, string> & StepDetails) | null {
  const details = { ...request_body, ...step.details };
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
    data: present(after),
  });
  const deliveryId = after.has_webhook ? `dlv_${ulid()}` : null;
  return { event_id: eventId, ...event, body, delivery_id: deliveryId };
}

function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** postgres.js serialises it; its own type of JSON knows no dates. */
function jsonb(sql: Sql, value: object | undefined) {
  return value === undefined ? null : sql.json(value as postgres.JSONValue);
}
