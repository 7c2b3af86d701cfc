import { createHash } from 'node:crypto';
import type { OrderStatus, PendingOperation } from '../domain/index.ts';
import type { Checkout } from './queries.ts';

/** The states of the page in which the payment of an ACCEPTED order decides what it says. */
export type PaymentState =
  | 'waiting'
  | 'session_expired'
  | 'confirming'
  | 'link_expired'
  | 'merchant_unavailable';

/**
 * The state of the page: the order's status, its pending operation, or the state of its payment.
 */
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

/** The current state of the page, which determines what the buyer sees and may do. */
export function stateOf(checkout: Checkout): CheckoutState {
  const { status, pendingOperation } = checkout.order;
  if (pendingOperation?.kind === 'releasing' || pendingOperation?.kind === 'refunding')
    return pendingOperation.kind;
  return STATE_OF_STATUS[status](checkout);
}

function paymentState({ order, takesPayments, session, surplus, now }: Checkout): CheckoutState {
  // The payment is captured and its order will be notified. A surplus payment never makes it PAID.
  const isSurplus = surplus.some(({ sessionId }) => sessionId === session?.sessionId);
  if (session?.state === 'PAID' && !isSurplus) return 'confirming';
  if (order.pendingOperation !== null) return 'closing';
  if (order.paymentLinkExpiresAt <= now) return 'link_expired';
  if (!takesPayments) return 'merchant_unavailable';
  if (session?.state === 'OPEN' && !session.isExpired) return 'waiting';
  const wasOpen = session?.state === 'OPEN' || session?.state === 'CLOSED';
  return wasOpen && session.isExpired ? 'session_expired' : 'payable';
}

/** Whether the buyer may raise a dispute. */
export function canDispute(checkout: Checkout): boolean {
  const state = stateOf(checkout);
  return (state === 'paid' || state === 'delivered') && checkout.disputeLimit === null;
}

/** How often an open page polls for changes, in seconds; undefined in final states. */
export function pollSecondsOf(state: CheckoutState, { surplus }: Checkout): number | undefined {
  switch (state) {
    case 'waiting':
    case 'confirming':
    case 'closing':
      return 3;
    case 'payable':
    case 'session_expired':
    case 'link_expired':
    case 'merchant_unavailable':
    case 'releasing':
    case 'refunding':
      return 15;
    case 'paid':
    case 'delivered':
    case 'disputed':
      return 60;
    case 'completed':
    case 'refunded':
    case 'cancelled':
      return surplus.some(({ processedAt }) => processedAt === null) ? 60 : undefined;
  }
}

/** A hash that changes whenever the page would look different. */
export function versionOf(checkout: Checkout): string {
  const { order, session, surplus } = checkout;
  const facts = [stateOf(checkout), order.stepNumber, session?.sessionId, surplus];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, 12);
}
