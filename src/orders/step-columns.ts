import type { RecordStepInput } from '../contracts/activities.ts';
import type { Step } from '../domain/index.ts';
import { isDisputed } from '../domain/index.ts';
import type { OrderRow, CommandBody } from './rows.ts';

/**
 * The columns of a dispute that neither merchant nor operator has answered: what an order starts with,
 * and what a new dispute resets. No dispute waits for the workflow.
 */
export const NO_DISPUTE_ANSWER = {
  disputeEvidence: null,
  disputeResolution: null,
  disputeDecidedFor: null,
  disputeDecisionReason: null,
  disputeDecidedAt: null,
  disputeEndedAt: null,
  waitingDisputeId: null,
  waitingDisputeReceivedAt: null,
} as const;

/** An order before a step, with the related rows that the step copies from. */
export type StepContext = OrderRow & {
  /** The texts of the command that caused the step. */
  commandBody: CommandBody | null;
  /** The id of the sandbox's pay command that paid the captured payment's session. */
  payCommandId: string | null;
  /** The UTR of the captured payment. */
  capturedUtr: string | null;
  /** The merchant has a webhook URL. */
  hasWebhook: boolean;
  /** The order's first surplus refund. */
  surplus:
    | (Pick<OrderRow, 'refundAmountPaise' | 'refundReason'> & {
        refundProcessedAt: string | null;
      })
    | null;
};

/** Reads a text of the command that caused the step; null when the command has no row. */
export function textIn({ commandBody: body }: StepContext, name: string): string | null {
  const text = body?.[name];
  return typeof text === 'string' ? text : null;
}

/** Computes the columns that a step changes, with their values after the step. */
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

/** Sets `openSessionId` only to clear it: the API may have opened another session since the read. */
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

/** The row keeps the latest dispute after its end, until another one is raised. */
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
        ...NO_DISPUTE_ANSWER,
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
  // A surplus refund made before the cancellation becomes the order's refund.
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
  // A refund had started, but an operator recorded a settlement in favour of the merchant.
  if (step.kind === 'ORDER_COMPLETED') return { refundAmountPaise: null, refundReason: null };
  if (step.pendingOperation?.kind !== 'refunding') return {};
  return { refundAmountPaise: before.amountPaise, refundReason: step.pendingOperation.reason };
}
