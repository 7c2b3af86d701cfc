import type { Deadline, UnappliedCapture } from '../domain/index.ts';
import { AT_DEADLINE, PENDING_OPERATIONS, STATUSES, UNAPPLIED } from '../domain/index.ts';
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
  if (pendingOperation) return { at: updatedAt, action: PENDING_OPERATIONS[pendingOperation.kind] };
  const { deadline } = STATUSES[status];
  if (deadline === null) return null;
  const at = order[COLUMNS[deadline]];
  const meanwhile = deadline === 'payment_link' && unapplied ? `; ${UNAPPLIED[unapplied]}` : '';
  return at && { at, action: AT_DEADLINE[deadline].client + meanwhile };
}

/** The next deadline of an order. Null while an operation is pending at the gateway. */
export const deadlineOf = (order: OrderRow): Date | null =>
  order.pendingOperation ? null : (nextActionOf(order)?.at ?? null);
