import { DomainError } from './errors.ts';
import type { CommandType } from './lifecycle.ts';
import { transitionOf } from './lifecycle.ts';
import type { PhaseFacts } from './order.ts';
import { PENDING_OPERATIONS } from './waiting.ts';

const CANNOT_SETTLE =
  'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';

/** The message of each refused command. The first two are the specification's, word for word. */
export const REFUSALS = {
  deliver: 'Cannot mark as delivered; order must be in PAID status',
  cancel: 'Cannot cancel; order must be in ACCEPTED status',
  refund: 'Cannot refund; order must be in PAID or DELIVERED status',
  pay: 'Cannot pay; order must be in ACCEPTED status',
  failPayment: 'Cannot fail payment; order must be in ACCEPTED status',
  dispute: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
  submitEvidence: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
  resolve: 'Cannot resolve; order must be in DISPUTE status',
  accept: 'Cannot accept; order must be in DISPUTE status',
  decideForMerchant: 'Cannot decide; order must be in DISPUTE status',
  decideForBuyer: 'Cannot decide; order must be in DISPUTE status',
  expire: 'Cannot expire; order must have a deadline that has passed',
  extend: 'Cannot extend; order must have a deadline that has passed and was never extended',
  advance: 'Cannot advance; order must be in the sandbox, not busy, and in no final status',
  settleReleased: CANNOT_SETTLE,
  settleRefunded: CANNOT_SETTLE,
  sessionClosed: 'Cannot end the closing; order must be closing its payment session',
  closeFailed: 'Cannot end the closing; order must be closing its payment session',
  released: 'Cannot end the release; order must be releasing its money',
  refunded: 'Cannot end the refund; order must be refunding its money',
} as const satisfies Record<CommandType, string>;

/** The refusal of a merchant's resolution where an operator decides. */
const OPERATOR_DECIDES = 'Cannot resolve; an operator decides this dispute';

/**
 * The refusal of an illegal command. It names the status that the command requires and, if only a pending operation
 * prevents it, that operation.
 */
export function refusalOf(order: PhaseFacts, command: CommandType): DomainError {
  const { pendingOperation, operatorReview } = order;
  const isReviewed = command === 'resolve' && Boolean(operatorReview);
  if (isReviewed) return new DomainError('INVALID_STATE', OPERATOR_DECIDES);
  const isOnlyPending =
    pendingOperation !== null && transitionOf({ ...order, pendingOperation: null }, command);
  const cause = isOnlyPending ? `; ${PENDING_OPERATIONS[pendingOperation.kind]}` : '';
  return new DomainError('INVALID_STATE', REFUSALS[command] + cause);
}
