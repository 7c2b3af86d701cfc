import { rupeesFromPaise } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';
import type { Order } from './schemas.ts';

/** Makes the Order object, which API responses and the `data` of webhooks share. */
export type PresentOrder = (row: OrderRow) => Order;

/** @param publicBaseUrl the base URL of the payment pages */
export function createOrderPresenter(publicBaseUrl: string): PresentOrder {
  return (row) => ({
    order_number: row.orderNumber,
    ...(row.merchantOrderId !== null && { merchant_order_id: row.merchantOrderId }),
    amount: rupeesFromPaise(row.amountPaise),
    currency: 'INR',
    status: row.status,
    dispute_count: row.disputeCount,
    buyer: { email: row.buyerEmail, name: row.buyerName, phone: row.buyerPhone },
    description: row.description,
    // An erased order has no payment page, so the URL is empty.
    payment_url: row.erasedAt === null ? `${publicBaseUrl}/pay/${row.paymentToken}` : '',
    ...(row.returnUrl !== null && { return_url: row.returnUrl }),
    payment_link_expires_at: row.paymentLinkExpiresAt.toISOString(),
    completes_at: iso(row.completesAt),
    dispute: presentDispute(row),
    refund: presentRefund(row),
    payment: presentPayment(row),
    cancellation: presentCancellation(row),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  });
}

function presentDispute(row: OrderRow): Order['dispute'] {
  if (row.disputeRaisedAt === null) return null;
  return {
    reason: row.disputeReason ?? '',
    raised_at: row.disputeRaisedAt.toISOString(),
    respond_by: iso(row.disputeRespondBy),
    evidence: row.disputeEvidence,
    resolution: row.disputeResolution,
    decision: presentDecision(row),
    ended_at: iso(row.disputeEndedAt),
  };
}

function presentDecision(row: OrderRow): NonNullable<Order['dispute']>['decision'] {
  const { disputeDecidedFor: winner, disputeDecidedAt: decidedAt } = row;
  if (winner === null || decidedAt === null) return null;
  const reason = row.disputeDecisionReason ?? '';
  return { for: winner, reason, decided_at: decidedAt.toISOString() };
}

function presentRefund(row: OrderRow): Order['refund'] {
  if (row.refundAmountPaise === null) return null;
  return {
    amount: rupeesFromPaise(row.refundAmountPaise),
    reason: row.refundReason ?? '',
    processed_at: iso(row.refundProcessedAt),
  };
}

function presentPayment(row: OrderRow): Order['payment'] {
  const { gatewayPaymentId, paymentUtr: utr, paidAt } = row;
  if (gatewayPaymentId === null || paidAt === null) return null;
  return {
    gateway_payment_id: gatewayPaymentId,
    utr,
    paid_at: paidAt.toISOString(),
    reversed_amount: rupeesFromPaise(row.reversedPaise),
  };
}

function presentCancellation(row: OrderRow): Order['cancellation'] {
  const { cancelledBy: by, cancelReason: reason, cancelledAt } = row;
  if (by === null || cancelledAt === null) return null;
  return { by, reason, cancelled_at: cancelledAt.toISOString() };
}

function iso(date: Date | null): string | null {
  return date && date.toISOString();
}
