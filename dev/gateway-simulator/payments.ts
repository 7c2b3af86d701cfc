import { randomInt } from 'node:crypto';
import { type Dispute, type Payment, type QrCode, badRequest } from './entities.ts';
import { type SimulatedGateway, balanceChange, requireRow, publish } from './gateway.ts';
import { currentQrCode } from './qr-codes.ts';
import { newId } from './random.ts';
import type { Row } from './store.ts';

/** Razorpay's test address from which payments succeed. */
export const SUCCESS_VPA = 'success@razorpay';
/** Razorpay's test address from which payments fail. */
export const FAILURE_VPA = 'failure@razorpay';

/** A buyer's attempt to pay. */
export interface Attempt {
  vpa?: string | undefined;
  /** An amount other than the QR code's, which a real UPI app would not allow. */
  amountPaise?: number | undefined;
  /** Captures the payment even if the QR code is closed. */
  late?: boolean | undefined;
}

const NO_ERROR = {
  error_code: null,
  error_description: null,
  error_source: null,
  error_step: null,
  error_reason: null,
};
const DECLINED = {
  error_code: 'BAD_REQUEST_ERROR',
  error_description: 'Payment was unsuccessful as the transaction was declined in the UPI app.',
  error_source: 'customer',
  error_step: 'payment_authentication',
  error_reason: 'payment_declined',
};

function newPayment(
  gateway: SimulatedGateway,
  qrCode: QrCode,
  attempt: Attempt,
  captured: boolean,
): Payment {
  return {
    id: newId('pay_'),
    entity: 'payment',
    amount: attempt.amountPaise ?? qrCode.payment_amount,
    currency: 'INR',
    status: captured ? 'captured' : 'failed',
    order_id: null,
    method: 'upi',
    amount_refunded: 0,
    refund_status: null,
    captured,
    description: 'QRv2 Payment',
    vpa: attempt.vpa ?? (captured ? SUCCESS_VPA : FAILURE_VPA),
    email: 'void@razorpay.com',
    contact: '+919000090000',
    // As in the sample of qr_code.credited: a payment has the notes of its QR code.
    notes: qrCode.notes,
    fee: 0,
    tax: 0,
    ...(captured ? NO_ERROR : DECLINED),
    acquirer_data: { rrn: captured ? String(randomInt(1e11, 1e12)) : null },
    created_at: gateway.now(),
  };
}

function rowsFor(row: Row<'qrCodes'>, qrCode: QrCode, payment: Payment) {
  const paymentIds = [...row.paymentIds, payment.id];
  const paymentRow = { entity: payment, qrCodeId: qrCode.id, refundIds: [], transferIds: [] };
  return {
    qrCodes: { [qrCode.id]: { entity: qrCode, paymentIds } },
    payments: { [payment.id]: paymentRow },
  };
}

function afterCapture(gateway: SimulatedGateway, qrCode: QrCode, amountPaise: number): QrCode {
  const closing = { status: 'closed', closed_at: gateway.now(), close_reason: 'paid' } as const;
  return {
    ...qrCode,
    // A late payment does not change why the QR code was closed.
    ...(qrCode.status === 'active' && closing),
    payments_amount_received: qrCode.payments_amount_received + amountPaise,
    payments_count_received: qrCode.payments_count_received + 1,
  };
}

/** @throws RazorpayError 400 when the QR code is closed, unless the attempt is `late` */
function requirePayable(
  gateway: SimulatedGateway,
  qrCodeId: string,
  { late = false }: Attempt,
): Row<'qrCodes'> {
  const row = currentQrCode(gateway, qrCodeId);
  if (row.entity.status === 'closed' && !late) throw badRequest('The QR Code is closed');
  return row;
}

/**
 * The buyer pays. A payment by QR code is captured immediately.
 *
 * @throws RazorpayError 400 when the QR code is closed, unless the attempt is `late`
 */
export function payQrCode(gateway: SimulatedGateway, qrCodeId: string, attempt: Attempt): Payment {
  if (attempt.vpa === FAILURE_VPA) return failQrCode(gateway, qrCodeId, attempt);
  const row = requirePayable(gateway, qrCodeId, attempt);
  const payment = newPayment(gateway, row.entity, attempt, true);
  const qrCode = afterCapture(gateway, row.entity, payment.amount);
  const changes = { ...rowsFor(row, qrCode, payment), ...balanceChange(gateway, payment.amount) };
  publish(gateway, changes, [
    { name: 'payment.captured', entities: { payment } },
    { name: 'qr_code.credited', entities: { payment, qr_code: qrCode } },
  ]);
  return payment;
}

/** The buyer's attempt fails; the QR code stays open. */
export function failQrCode(gateway: SimulatedGateway, qrCodeId: string, attempt: Attempt): Payment {
  const row = requirePayable(gateway, qrCodeId, attempt);
  const payment = newPayment(gateway, row.entity, attempt, false);
  const newEvent = { name: 'payment.failed', entities: { payment } };
  publish(gateway, rowsFor(row, row.entity, payment), [newEvent]);
  return payment;
}

/** All attempts on a QR code, oldest first. */
export function paymentsOf(gateway: SimulatedGateway, qrCodeId: string): Payment[] {
  const { paymentIds } = currentQrCode(gateway, qrCodeId);
  return paymentIds.map((id) => requireRow(gateway, 'payments', id).entity);
}

/** The QR code of a payment; empty for an unknown payment. */
export function qrCodesOfPayment(gateway: SimulatedGateway, paymentId: string): QrCode[] {
  const row = gateway.store.get('payments', paymentId);
  return row === undefined ? [] : [currentQrCode(gateway, row.qrCodeId).entity];
}

/** How long the platform may respond to the buyer's bank. */
const RESPOND_WITHIN_SECONDS = 7 * 24 * 3600;

function storeDispute(
  gateway: SimulatedGateway,
  name: string,
  dispute: Dispute,
  takenPaise: number,
): Dispute {
  const payment = requireRow(gateway, 'payments', dispute.payment_id).entity;
  const changes = {
    disputes: { [dispute.id]: { entity: dispute } },
    ...balanceChange(gateway, -takenPaise),
  };
  publish(gateway, changes, [{ name: `payment.dispute.${name}`, entities: { payment, dispute } }]);
  return dispute;
}

/** The buyer's bank opens a chargeback of a payment or of a part of it. */
export function openDispute(
  gateway: SimulatedGateway,
  paymentId: string,
  amountPaise?: number,
): Dispute {
  const { entity: payment } = requireRow(gateway, 'payments', paymentId);
  if (!payment.captured) throw badRequest('The payment status should be captured');
  const amount = amountPaise ?? payment.amount;
  if (amount > payment.amount) throw badRequest('The amount is greater than the amount captured');
  const dispute: Dispute = {
    id: newId('disp_'),
    entity: 'dispute',
    payment_id: paymentId,
    amount,
    currency: 'INR',
    amount_deducted: 0,
    reason_code: 'goods_or_services_not_received_or_partially_received',
    respond_by: gateway.now() + RESPOND_WITHIN_SECONDS,
    status: 'open',
    phase: 'chargeback',
    created_at: gateway.now(),
  };
  return storeDispute(gateway, 'created', dispute, 0);
}

/** Changes the status of an open chargeback. A lost one is debited from the platform's balance. */
export function updateDisputeStatus(
  gateway: SimulatedGateway,
  id: string,
  status: Exclude<Dispute['status'], 'open'>,
): Dispute {
  const { entity } = requireRow(gateway, 'disputes', id);
  if (entity.status !== 'open' && entity.status !== 'under_review') {
    throw badRequest('The dispute has ended');
  }
  const takenPaise = status === 'lost' ? entity.amount : 0;
  return storeDispute(
    gateway,
    status,
    { ...entity, status, amount_deducted: takenPaise },
    takenPaise,
  );
}
