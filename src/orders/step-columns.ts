import type { RecordStepInput } from '../contracts/activities.ts';
import type { Step } from '../domain/index.ts';
import { isDisputed } from '../domain/index.ts';
import type { OrderRow, CommandBody } from './rows.ts';

/** The order with everything that a step may write from: its request's texts, its payment. */
export type StepContext = OrderRow & {
  commandBody: CommandBody | null;
  payCommandId: string | null;
  capturedUtr: string | null;
  hasWebhook: boolean;
  surplus:
    | (Pick<OrderRow, 'refundAmountPaise' | 'refundReason'> & {
        refundProcessedAt: string | null;
      })
    | null;
};

/** A text of the request that asked for this step; null where an operator's bare message did. */
export function textIn({ commandBody: body }: StepContext, name: string): string | null {
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
    pendingOperation: step.pendingOperation,
    disputeCount: step.disputeCount,
    paymentLinkExpiresAt:
      deadlineAt && kind === 'payment_link' ? deadlineAt : before.paymentLinkExpiresAt,
    completesAt: kind === 'completion' ? deadlineAt : null,
    disputeRespondBy: kind === 'dispute_answer' ? deadlineAt : null,
    updatedAt: new Date(step.atMs),
    ...paymentColumns(before, input),
    ...cancellationColumns(before, step),
    ...disputeColumns(before, step),
    ...refundColumns(before, step),
  };
}

/** A session that the API opened meanwhile must not be lost: it is named only when it is over. */
function paymentColumns(before: StepContext, { step, payment }: RecordStepInput) {
  if (payment) {
    return {
      // record_step refuses a payment of another gateway than the order's.
      gateway: payment.gateway,
      gatewayPaymentId: payment.gatewayPaymentId,
      paymentUtr: before.capturedUtr,
      paidAt: new Date(step.atMs),
      openSessionId: null,
    };
  }
  return step.status === 'CANCELLED' ? { openSessionId: null } : {};
}

function cancellationColumns(before: StepContext, { kind, atMs, details }: Step) {
  if (kind !== 'ORDER_CANCELLED') return {};
  return {
    cancelledBy: details?.by ?? 'expiry',
    cancelReason: textIn(before, 'reason'),
    cancelledAt: new Date(atMs),
  };
}

/** The latest dispute: it stays on the row after it ended, until another one is raised. */
function disputeColumns(before: StepContext, step: Step) {
  const at = new Date(step.atMs);
  const isEnded = isDisputed(before.status) && !isDisputed(step.status);
  const ended = isEnded ? { disputeEndedAt: at } : {};
  if (step.details?.for !== undefined) return { ...ended, ...decisionColumns(before, step) };
  switch (step.kind) {
    case 'DISPUTE_RAISED':
      return {
        disputeReason: textIn(before, 'reason') ?? '',
        disputeRaisedAt: at,
        disputeEvidence: null,
        disputeResolution: null,
        disputeDecidedFor: null,
        disputeDecisionReason: null,
        disputeDecidedAt: null,
        disputeEndedAt: null,
        waitingDisputeId: null,
        waitingDisputeReceivedAt: null,
      };
    case 'EVIDENCE_SUBMITTED':
      return { disputeEvidence: textIn(before, 'text') ?? '' };
    case 'DISPUTE_RESOLVED':
      return { ...ended, disputeResolution: textIn(before, 'resolution') };
    default:
      return ended;
  }
}

function decisionColumns(before: StepContext, { atMs, details }: Step) {
  return {
    disputeDecidedFor: details?.for,
    disputeDecisionReason: textIn(before, 'reason') ?? '',
    disputeDecidedAt: new Date(atMs),
  };
}

function refundColumns(before: StepContext, step: Step) {
  // What was given back before the cancel is shown from now on.
  if (step.kind === 'ORDER_CANCELLED' && before.surplus) {
    const { refundProcessedAt: at, ...surplus } = before.surplus;
    return { ...surplus, refundProcessedAt: at === null ? null : new Date(at) };
  }
  if (step.kind === 'REFUND_PROCESSED') {
    return {
      refundAmountPaise: before.amountPaise,
      refundReason: before.refundReason ?? 'settled_by_operator',
      refundProcessedAt: new Date(step.atMs),
    };
  }
  // A refund was under way, and the operator has settled the order the other way.
  if (step.kind === 'ORDER_COMPLETED') return { refundAmountPaise: null, refundReason: null };
  if (step.pendingOperation?.kind !== 'refunding') return {};
  return { refundAmountPaise: before.amountPaise, refundReason: step.pendingOperation.reason };
}
