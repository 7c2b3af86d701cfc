import { randomInt } from 'node:crypto';
import type { Row } from './book.ts';
import type { Payment, QrCode } from './entities.ts';
import { currentQrCode } from './qr-codes.ts';
import { newId } from './random.ts';
import { badRequest } from './razorpay-error.ts';
import { balanceChange, existing, publish } from './world.ts';
import type { World } from './world.ts';

/** Razorpay's addresses for testing: one always pays, one always fails. */
export const SUCCESS_VPA = 'success@razorpay';
export const FAILURE_VPA = 'failure@razorpay';

export interface Attempt {
  vpa?: string | undefined;
  /** Another amount than the QR code's, which a UPI app would not let through. */
  amountPaise?: number | undefined;
  /** Lets the money arrive although the QR code is closed. */
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

function newPayment(world: World, qrCode: QrCode, attempt: Attempt, captured: boolean): Payment {
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
    created_at: world.now(),
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

function afterCapture(world: World, qrCode: QrCode, amountPaise: number): QrCode {
  const closing = { status: 'closed', closed_at: world.now(), close_reason: 'paid' } as const;
  return {
    ...qrCode,
    // Money that comes late does not change how the QR code was closed.
    ...(qrCode.status === 'active' && closing),
    payments_amount_received: qrCode.payments_amount_received + amountPaise,
    payments_count_received: qrCode.payments_count_received + 1,
  };
}

function openOrLate(world: World, qrCodeId: string, { late = false }: Attempt): Row<'qrCodes'> {
  const row = currentQrCode(world, qrCodeId);
  if (row.entity.status === 'closed' && !late) throw badRequest('The QR Code is closed');
  return row;
}

/**
 * The buyer pays; the payment is captured at once, as payments by QR code are.
 *
 * @throws RazorpayError 400 when the QR code is closed, unless the attempt says `late`
 */
export function payQrCode(world: World, qrCodeId: string, attempt: Attempt): Payment {
  if (attempt.vpa === FAILURE_VPA) return failQrCode(world, qrCodeId, attempt);
  const row = openOrLate(world, qrCodeId, attempt);
  const payment = newPayment(world, row.entity, attempt, true);
  const qrCode = afterCapture(world, row.entity, payment.amount);
  const changes = { ...rowsFor(row, qrCode, payment), ...balanceChange(world, payment.amount) };
  publish(world, changes, [
    { name: 'payment.captured', entities: { payment } },
    { name: 'qr_code.credited', entities: { payment, qr_code: qrCode } },
  ]);
  return payment;
}

/** The buyer's attempt fails; the QR code stays as it is. */
export function failQrCode(world: World, qrCodeId: string, attempt: Attempt): Payment {
  const row = openOrLate(world, qrCodeId, attempt);
  const payment = newPayment(world, row.entity, attempt, false);
  const announcement = { name: 'payment.failed', entities: { payment } };
  publish(world, rowsFor(row, row.entity, payment), [announcement]);
  return payment;
}

/** All attempts on a QR code, the oldest first. */
export function paymentsOf(world: World, qrCodeId: string): Payment[] {
  const { paymentIds } = currentQrCode(world, qrCodeId);
  return paymentIds.map((id) => existing(world, 'payments', id).entity);
}

/** The QR codes on which a payment was made: one, or none. */
export function qrCodesOfPayment(world: World, paymentId: string): QrCode[] {
  const row = world.book.get('payments', paymentId);
  return row === undefined ? [] : [currentQrCode(world, row.qrCodeId).entity];
}
