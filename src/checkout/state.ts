import { createHash } from 'node:crypto';
import type { OrderStatus, PendingOperation } from '../domain/index.ts';
import type { Checkout } from './queries.ts';

/** The states of the page for an ACCEPTED order, by the state of its payment. */
export type PaymentState =
  | 'waiting'
  | 'session_expired'
  | 'confirming'
  | 'looked_at'
  | 'link_expired'
  | 'merchant_unavailable';

/** The state of the page: the order's status, its pending operation, or the state of its payment. */
export type CheckoutState =
  | PaymentState
  | PendingOperation['kind']
  | 'payable'
  | 'paid'
  | 'delivered'
  | 'disputed'
  | 'completed'
  | 'refunded'
  | 'cancelled';

const STATE_OF_STATUS = {
  ACCEPTED: paymentState,
  PAID: () => 'paid',
  DELIVERED: () => 'delivered',
  DISPUTE_OPEN: () => 'disputed',
  DISPUTE_UNDER_REVIEW: () => 'disputed',
  COMPLETED: () => 'completed',
  REFUNDED: () => 'refunded',
  CANCELLED: () => 'cancelled',
} as const satisfies Record<OrderStatus, (checkout: Checkout) => CheckoutState>;

export function stateOf(checkout: Checkout): CheckoutState {
  const { status, pendingOperation } = checkout.order;
  if (pendingOperation?.kind === 'releasing' || pendingOperation?.kind === 'refunding')
    return pendingOperation.kind;
  return STATE_OF_STATUS[status](checkout);
}

function paymentState(checkout: Checkout): CheckoutState {
  const { order, takesPayments, session, unapplied, surplus, now } = checkout;
  if (unapplied === 'looked_at') return 'looked_at';
  // The payment is captured and its order will be notified. A surplus payment never makes the order PAID.
  const isSurplus = surplus.some(({ sessionId }) => sessionId === session?.sessionId);
  if (unapplied !== null || (session?.state === 'PAID' && !isSurplus)) return 'confirming';
  if (order.pendingOperation !== null) return 'closing';
  if (order.paymentLinkExpiresAt <= now) return 'link_expired';
  if (!takesPayments) return 'merchant_unavailable';
  if (session?.state === 'OPEN' && !session.isExpired) return 'waiting';
  const wasOpen = session?.state === 'OPEN' || session?.state === 'CLOSED';
  return wasOpen && session.isExpired ? 'session_expired' : 'payable';
}

export function canDispute(checkout: Checkout): boolean {
  const state = stateOf(checkout);
  return (state === 'paid' || state === 'delivered') && checkout.disputeLimit === null;
}

/**
 * How often an open page asks whether it has changed: the first interval and the longest one, in seconds. Each
 * interval is a tenth longer than the one before, so that ten thousand open pages cause few requests.
 */
export interface Polling {
  readonly firstSeconds: number;
  readonly mostSeconds: number;
}

const FOR_SECONDS: Polling = { firstSeconds: 3, mostSeconds: 15 };
const FOR_MINUTES: Polling = { firstSeconds: 15, mostSeconds: 120 };
const FOR_HOURS: Polling = { firstSeconds: 60, mostSeconds: 900 };
/** Only a surplus payment or its refund can still change the page. */
const FINAL: Polling = { firstSeconds: 60, mostSeconds: 3600 };

const POLLING = {
  waiting: FOR_SECONDS,
  confirming: FOR_SECONDS,
  looked_at: FOR_MINUTES,
  closing: FOR_SECONDS,
  payable: FOR_MINUTES,
  session_expired: FOR_MINUTES,
  link_expired: FOR_MINUTES,
  merchant_unavailable: FOR_MINUTES,
  releasing: FOR_MINUTES,
  refunding: FOR_MINUTES,
  paid: FOR_HOURS,
  delivered: FOR_HOURS,
  disputed: FOR_HOURS,
  completed: FINAL,
  refunded: FINAL,
  cancelled: FINAL,
} as const satisfies Record<CheckoutState, Polling>;

/** How often an open page asks for changes. Undefined once the buyer has the money back. */
export function pollingOf(state: CheckoutState, { order, surplus }: Checkout): Polling | undefined {
  const isOver = state === 'refunded' && order.refundProcessedAt !== null;
  const isSurplusOver = surplus.every(({ processedAt }) => processedAt !== null);
  return isOver && isSurplusOver ? undefined : POLLING[state];
}

/** A hash that changes whenever the page would look different. */
export function versionOf(checkout: Checkout): string {
  const { order, session, surplus, unapplied } = checkout;
  const { stepNumber, refundProcessedAt } = order;
  const state = stateOf(checkout);
  const facts = [state, stepNumber, refundProcessedAt, session?.sessionId, surplus, unapplied];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 12);
}
