import { rupeesFromPaise, STATUSES } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';
import type { Order } from './schemas.ts';

/** The one shape of an order: the API answers it, and webhooks carry it as `data`. */
export type PresentOrder = (row: OrderRow) => Order;

/** @param publicBaseUrl where buyers open their payment page */
export function createOrderPresenter(publicBaseUrl: string): PresentOrder {
  return (row) => ({
    order_number: row.order_number,
    ...(row.merchant_order_id !== null && { merchant_order_id: row.merchant_order_id }),
    amount: rupeesFromPaise(row.amount_paise),
    currency: 'INR',
    status: row.status,
    dispute_count: row.dispute_count,
    buyer: { email: row.buyer_email, name: row.buyer_name, phone: row.buyer_phone },
    description: row.description,
    payment_url: `${publicBaseUrl}/pay/${row.payment_token}`,
    payment_link_expires_at: row.payment_link_expires_at.toISOString(),
    completes_at: STATUSES[row.status].deadline === 'completion' ? iso(row.completes_at) : null,
    dispute: presentDispute(row),
    refund: presentRefund(row),
    payment: presentPayment(row),
    cancellation: presentCancellation(row),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  });
}

function presentDispute(row: OrderRow): Order['dispute'] {
  if (row.dispute_raised_at === null) return null;
  return {
    reason: row.dispute_reason ?? '',
    raised_at: row.dispute_raised_at.toISOString(),
    respond_by: iso(row.dispute_respond_by),
    evidence: row.dispute_evidence,
    resolution: row.dispute_resolution,
    decision: presentDecision(row),
    ended_at: iso(row.dispute_ended_at),
  };
}

function presentDecision(row: OrderRow): NonNullable<Order['dispute']>['decision'] {
  const { dispute_decided_for: winner, dispute_decided_at: decidedAt } = row;
  if (winner === null || decidedAt === null) return null;
  const reason = row.dispute_decision_reason ?? '';
  return { for: winner, reason, decided_at: decidedAt.toISOString() };
}

function presentRefund(row: OrderRow): Order['refund'] {
  if (row.refund_amount_paise === null) return null;
  return {
    amount: rupeesFromPaise(row.refund_amount_paise),
    reason: row.refund_reason ?? '',
    processed_at: iso(row.refund_processed_at),
  };
}

function presentPayment(row: OrderRow): Order['payment'] {
  const { gateway_payment_id, payment_utr: utr, paid_at: paidAt } = row;
  if (gateway_payment_id === null || paidAt === null) return null;
  return { gateway_payment_id, utr, paid_at: paidAt.toISOString() };
}

function presentCancellation(row: OrderRow): Order['cancellation'] {
  const { cancelled_by: by, cancel_reason: reason, cancelled_at: cancelledAt } = row;
  if (by === null || cancelledAt === null) return null;
  return { by, reason, cancelled_at: cancelledAt.toISOString() };
}

function iso(date: Date | null): string | null {
  return date && date.toISOString();
}
