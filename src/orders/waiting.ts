import type {
  Deadline,
  MerchantCircumstances,
  Sentence,
  UnappliedCapture,
} from '../domain/index.ts';
import {
  AT_DEADLINE,
  DISPUTE_RECEIVED,
  phaseOf,
  STATUSES,
  UNAPPLIED,
  WAITING,
} from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

const COLUMNS = {
  payment_link: 'paymentLinkExpiresAt',
  completion: 'completesAt',
  dispute_answer: 'disputeRespondBy',
} as const satisfies Record<Deadline['kind'], keyof OrderRow>;

/** The next deadline of an order and its effect, or the pending operation at the gateway. */
export function nextActionOf(
  order: OrderRow,
  unapplied: UnappliedCapture | null = null,
): { at: Date; action: string } | null {
  const { pendingOperation, status, updatedAt } = order;
  if (pendingOperation) return { at: updatedAt, action: WAITING[pendingOperation.kind].client };
  const { deadline } = STATUSES[status];
  if (deadline === null) return null;
  const at = order[COLUMNS[deadline]];
  const meanwhile = deadline === 'payment_link' && unapplied ? `; ${UNAPPLIED[unapplied]}` : '';
  return at && { at, action: AT_DEADLINE[deadline].client + meanwhile };
}

/** The next deadline of an order. Null while an operation is pending at the gateway. */
export const deadlineOf = (order: OrderRow): Date | null =>
  order.pendingOperation ? null : (nextActionOf(order)?.at ?? null);

/**
 * What an order waits for, as its merchant reads it, and until when.
 *
 * @returns `until` is null if there is no deadline
 */
export function waitingOf(
  order: OrderRow,
  circumstances: MerchantCircumstances,
): { until: Date | null; sentence: Sentence } {
  const { pendingOperation, waitingDisputeId, status } = order;
  const until = deadlineOf(order);
  const isReceived = waitingDisputeId !== null && STATUSES[status].funds === 'held';
  if (isReceived && !pendingOperation) return { until, sentence: DISPUTE_RECEIVED };
  return { until, sentence: WAITING[phaseOf(order)].merchant(order, circumstances) };
}
