import type { RecordStepInput } from '../contracts/activities.ts';
import type { Step } from '../domain/index.ts';
import { isDisputed } from '../domain/index.ts';
import type { OrderRow, RequestBody } from './rows.ts';

/** The order with everything that a step may write from: its request's texts, its payment. */
export type StepContext = OrderRow & {
  request_body: RequestBody | null;
  pay_request_id: string | null;
  captured_utr: string | null;
  has_webhook: boolean;
  surplus:
    | (Pick<OrderRow, 'refund_amount_paise' | 'refund_reason'> & {
        refund_processed_at: string | null;
      })
    | null;
};

/** A text of the request that asked for this step; null where an operator's bare message did. */
export function textIn({ request_body: body }: StepContext, name: string): string | null {
  const text = body?.[name];
  return typeof text === 'string' ? text : null;
}

/** The columns of the row that a step changes, with their values after it. */
export function columnsAfter(before: StepContext, input: RecordStepInput) {
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
    ...paymentColumns(before, input),
    ...cancellationColumns(before, step),
    ...disputeColumns(before, step),
    ...refundColumns(before, step),
  };
}

/** A session that the API opened meanwhile must not be lost: it is named only when it is over. */
function paymentColumns(before: StepContext, { step, gatewayPaymentId }: RecordStepInput) {
  if (gatewayPaymentId !== undefined) {
    return {
      gateway_payment_id: gatewayPaymentId,
      payment_utr: before.captured_utr,
      paid_at: new Date(step.atMs),
      open_session_id: null,
    };
  }
  return step.status === 'CANCELLED' ? { open_session_id: null } : {};
}

function cancellationColumns(before: StepContext, { kind, atMs, details }: Step) {
  if (kind !== 'ORDER_CANCELLED') return {};
  return {
    cancelled_by: details?.by ?? 'expiry',
    cancel_reason: textIn(before, 'reason'),
    cancelled_at: new Date(atMs),
  };
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
        dispute_reason: textIn(before, 'reason') ?? '',
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
      return { dispute_evidence: textIn(before, 'text') ?? '' };
    case 'DISPUTE_RESOLVED':
      return { ...ended, dispute_resolution: textIn(before, 'resolution') };
    default:
      return ended;
  }
}

function decisionColumns(before: StepContext, { atMs, details }: Step) {
  return {
    dispute_decided_for: details?.for,
    dispute_decision_reason: textIn(before, 'reason') ?? '',
    dispute_decided_at: new Date(atMs),
  };
}

function refundColumns(before: StepContext, step: Step) {
  // What was given back before the cancel is shown from now on.
  if (step.kind === 'ORDER_CANCELLED' && before.surplus) {
    const { refund_processed_at: at, ...surplus } = before.surplus;
    return { ...surplus, refund_processed_at: at === null ? null : new Date(at) };
  }
  if (step.kind === 'REFUND_PROCESSED') {
    return {
      refund_amount_paise: before.amount_paise,
      refund_reason: before.refund_reason ?? 'settled_by_operator',
      refund_processed_at: new Date(step.atMs),
    };
  }
  // A refund was under way, and the operator has settled the order the other way.
  if (step.kind === 'ORDER_COMPLETED') return { refund_amount_paise: null, refund_reason: null };
  if (step.busy?.kind !== 'refunding') return {};
  return { refund_amount_paise: before.amount_paise, refund_reason: step.busy.reason };
}
