import type { RecordStepInput } from '../../contracts/activities.ts';
import type { PendingOperation, RefundReason, Step } from '../../domain/index.ts';
import { isDisputed, isFinal, statusesThatTake } from '../../domain/index.ts';
import type { DisputeEnding } from './disputes.ts';
import type { MailReader } from '../../merchants/public.ts';
import type { OrderRow, CommandBody } from '../rows.ts';

/** The dispute columns of an order that was never disputed. */
export const NO_DISPUTE = {
  disputeReason: null,
  disputeRaisedAt: null,
  disputeRespondBy: null,
  disputeEvidence: null,
  disputeResolution: null,
  disputeDecidedFor: null,
  disputeDecisionReason: null,
  disputeDecidedAt: null,
  disputeEndedAt: null,
  operatorReview: null,
} as const;

/** An order before a step, with the related values that the step copies. */
export type StepContext = OrderRow &
  MailReader & {
    /** For a payment: no order of the merchant was paid before in this environment. */
    isFirstPayment: boolean;
    commandBody: CommandBody | null;
    commandActor: string | null;
    /** The id of the sandbox command that paid the captured payment's session. */
    payCommandId: string | null;
    hasWebhook: boolean;
    seen: BesideStep;
  };

/**
 * The result of the SQL function `beside_step`, as far as this process reads it: what others may change, so that
 * `record_step` compares all of it.
 */
interface BesideStep {
  /** The UTR of the order's payment, or of that which this step makes it. */
  paymentUtr: string | null;
  /** The order's refund failed after the gateway had made it, and is made again after the step. */
  isRefundOwed: boolean;
  /** The order's first surplus refund, while the order can be cancelled. */
  surplus:
    | (Pick<OrderRow, 'refundAmountPaise' | 'refundReason'> & { refundProcessedAt: string | null })
    | null;
}

/** Reads a text of the command that caused the step. Null if the command has no row. */
export function textIn({ commandBody: body }: StepContext, name: string): string | null {
  const text = body?.[name];
  return typeof text === 'string' ? text : null;
}

/** Computes the columns of the order that a step changes, with their values after it. */
export function columnsAfter(before: StepContext, input: RecordStepInput) {
  const { step } = input;
  const deadlineAt = step.deadline && new Date(step.deadline.atMs);
  const kind = step.deadline?.kind;
  return {
    status: step.status,
    pendingOperation: step.pendingOperation,
    stepNumber: step.number,
    disputeCount: step.disputeCount,
    paymentLinkExpiresAt:
      deadlineAt && kind === 'payment_link' ? deadlineAt : before.paymentLinkExpiresAt,
    completesAt: kind === 'completion' ? deadlineAt : null,
    updatedAt: new Date(step.atMs),
    ...paymentColumns(before, input),
    ...cancellationColumns(before, step),
    ...refundColumns(before, step),
    ...(endsWaitingDispute(input) && {
      waitingDisputeId: null,
      waitingDisputeReceivedAt: null,
    }),
  };
}

/** A step that is written again, after a restore, says nothing of another dispute that was received since. */
const endsWaitingDispute = ({ step, isRewritten = false }: RecordStepInput): boolean =>
  !statusesThatTake('dispute').includes(step.status) && (!isRewritten || isFinal(step.status));

/** Sets `openSessionId` only to clear it, because the API may have opened another session since the read. */
function paymentColumns(before: StepContext, { step, payment }: RecordStepInput) {
  if (payment) {
    return {
      gatewayPaymentId: payment.gatewayPaymentId,
      paymentUtr: before.seen.paymentUtr,
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

/**
 * Computes the columns of the order's latest dispute that a step changes.
 *
 * @returns undefined when no dispute is running before or after the step
 */
export function disputeAfter(before: StepContext, step: Step): object | undefined {
  const isRunning = isDisputed(step.status);
  if (!isRunning && !isDisputed(before.status)) return undefined;
  const at = new Date(step.atMs);
  return {
    respondBy: isRunning && step.deadline ? new Date(step.deadline.atMs) : null,
    ...(!isRunning && { endedAt: at }),
    ...saidIn(before, step, at),
    ...decisionIn(before, step, at),
    ...endingBy(before, step),
  };
}

/** The texts of buyer and merchant that a step adds to the dispute. */
function saidIn(before: StepContext, { kind, status, details }: Step, at: Date) {
  switch (kind) {
    case 'DISPUTE_RAISED':
      return {
        reason: textIn(before, 'reason') ?? '',
        raisedBy: raisedBy(before),
        raisedAt: at,
        operatorDecides: status === 'DISPUTE_UNDER_REVIEW',
      };
    case 'EVIDENCE_SUBMITTED':
      return { evidence: textIn(before, 'text') ?? '', evidenceAt: at };
    case 'DISPUTE_RESOLVED':
      return details?.for === undefined ? { resolution: textIn(before, 'resolution') } : {};
    default:
      return {};
  }
}

/** The operator who raised a dispute for the buyer, else `buyer`; a sandbox helper acts as the buyer. */
function raisedBy({ commandActor }: StepContext): string {
  return commandActor !== null && isOperator(commandActor) ? commandActor : 'buyer';
}

export const isOperator = (actor: string | null): boolean => /^(operator|cli):/.test(actor ?? '');

function decisionIn(before: StepContext, { details }: Step, at: Date) {
  if (details?.for === undefined) return {};
  return {
    decidedFor: details.for,
    decidedBy: before.commandActor,
    decisionReason: textIn(before, 'reason') ?? '',
    decidedAt: at,
  };
}

const ENDING_OF_REFUND: Partial<Record<RefundReason, DisputeEnding>> = {
  dispute_accepted: 'accepted_by_merchant',
  dispute_decided_for_buyer: 'decided_for_buyer',
  dispute_not_resolved_in_time: 'not_resolved_in_time',
};

/** The start of a refund decides how the dispute ends, even if an operator settles the order afterwards. */
function endingBy(before: StepContext, { kind, pendingOperation, details }: Step) {
  switch (kind) {
    case 'DISPUTE_RESOLVED':
      return { ending: details?.for ? 'decided_for_merchant' : 'resolved_by_merchant' };
    case 'REFUND_STARTED':
      return { ending: endingOfRefund(pendingOperation) };
    case 'REFUND_PROCESSED':
    case 'ORDER_COMPLETED':
      return { ending: endingOfRefund(before.pendingOperation) ?? 'settled_by_operator' };
    default:
      return {};
  }
}

function endingOfRefund(operation: PendingOperation | null): DisputeEnding | undefined {
  return operation?.kind === 'refunding' ? ENDING_OF_REFUND[operation.reason] : undefined;
}

/** The latest dispute's columns under their names in the order's row, such as `disputeReason` for `reason`. */
export function disputeInOrder(step: Step, dispute: object = {}): Partial<OrderRow> {
  const columns = Object.entries(dispute).map(([name, value]) => [
    `dispute${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    value,
  ]);
  const before = step.kind === 'DISPUTE_RAISED' ? NO_DISPUTE : {};
  return { ...before, ...Object.fromEntries(columns) };
}

function refundColumns(before: StepContext, step: Step) {
  const { surplus: shown, isRefundOwed } = before.seen;
  // A surplus refund made before the cancellation becomes the order's refund.
  if (step.kind === 'ORDER_CANCELLED' && shown) {
    const { refundProcessedAt: at, ...surplus } = shown;
    return { ...surplus, refundProcessedAt: at === null ? null : new Date(at) };
  }
  if (step.kind === 'REFUND_PROCESSED') {
    return {
      refundAmountPaise: before.amountPaise,
      refundReason: before.refundReason ?? 'settled_by_operator',
      refundProcessedAt: isRefundOwed ? null : new Date(step.atMs),
    };
  }
  // A refund had started, but an operator settled the order in favour of the merchant.
  if (step.kind === 'ORDER_COMPLETED') return { refundAmountPaise: null, refundReason: null };
  if (step.pendingOperation?.kind !== 'refunding') return {};
  return { refundAmountPaise: before.amountPaise, refundReason: step.pendingOperation.reason };
}
