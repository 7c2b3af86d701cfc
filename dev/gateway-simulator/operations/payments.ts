import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { balanceChange } from './balance.ts';
import { type Payment, type QrCode, badRequest } from '../state/entities.ts';
import { NO_FEE, feeOf } from './fees.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { currentQrCode } from './qr-codes.ts';
import { newId } from '../random.ts';
import { shownPayment, shownQrCode } from '../api/shown.ts';
import { type Changes, type Row, requireRow } from '../state/store.ts';
import { subjectsOfPayment, switchOf } from '../switches.ts';

/** Razorpay's test address from which payments succeed. */
export const SUCCESS_VPA = 'success@razorpay';
/** Razorpay's test address from which payments fail. */
export const FAILURE_VPA = 'failure@razorpay';

/** A buyer's attempt to pay. */
export const paymentAttempt = z.strictObject({
  vpa: z.string().max(256).optional(),
  /** An amount other than the QR code's, which a real UPI app would not allow. */
  amountPaise: z.number().int().min(1).optional(),
  /** Captures the payment even if the QR code is closed. */
  late: z.boolean().optional(),
});
type Attempt = z.output<typeof paymentAttempt>;

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
  status: 'authorized' | 'failed',
): Payment {
  const isFailed = status === 'failed';
  return {
    id: newId('pay_'),
    entity: 'payment',
    amount: attempt.amountPaise ?? qrCode.payment_amount,
    currency: 'INR',
    status,
    order_id: null,
    method: 'upi',
    amount_refunded: 0,
    refund_status: null,
    captured: false,
    description: 'QRv2 Payment',
    vpa: attempt.vpa ?? (isFailed ? FAILURE_VPA : SUCCESS_VPA),
    email: 'void@razorpay.com',
    contact: '+919000090000',
    // As in the sample of qr_code.credited: a payment has the notes of its QR code.
    notes: qrCode.notes,
    fee: null,
    tax: null,
    ...(isFailed ? DECLINED : NO_ERROR),
    acquirer_data: { rrn: isFailed ? null : String(randomInt(1e11, 1e12)) },
    created_at: gateway.now(),
  };
}

const newRow = (payment: Payment, qrCodeId: string): Row<'payments'> => ({
  entity: payment,
  qrCodeId,
  refundIds: [],
  transferIds: [],
});

/** The QR code with one more payment. */
const withPayment = (row: Row<'qrCodes'>, payment: Payment): Row<'qrCodes'> => ({
  ...row,
  paymentIds: [...row.paymentIds, payment.id],
});

/** The QR code once it is paid. A late payment does not change why it was closed. */
function asPaid(gateway: SimulatedGateway, { entity, ...rest }: Row<'qrCodes'>): Row<'qrCodes'> {
  const closing = { status: 'closed', closed_at: gateway.now(), close_reason: 'paid' } as const;
  return { ...rest, entity: { ...entity, ...(entity.status === 'active' && closing) } };
}

const rowsFor = (row: Row<'payments'>, qrCode: Row<'qrCodes'>): Changes => ({
  payments: { [row.entity.id]: row },
  qrCodes: { [row.qrCodeId]: qrCode },
});

/** Captures a payment, whose amount less its fee the platform then has. */
function capture(
  gateway: SimulatedGateway,
  authorized: Row<'payments'>,
  qrCode: Row<'qrCodes'>,
): Row<'payments'> {
  const { amount } = authorized.entity;
  const hasFee = switchOf(gateway, 'fees', subjectsOfPayment(gateway, authorized));
  const { feePaise, taxPaise } = hasFee ? feeOf('payment', amount) : NO_FEE;
  const captured = { status: 'captured', captured: true, fee: feePaise, tax: taxPaise } as const;
  const row = { ...authorized, entity: { ...authorized.entity, ...captured } };
  const paid = asPaid(gateway, qrCode);
  const credited = {
    ...paid.entity,
    payments_amount_received: paid.entity.payments_amount_received + amount,
    payments_count_received: paid.entity.payments_count_received + 1,
  };
  const changes = {
    ...rowsFor(row, { ...paid, entity: credited }),
    ...balanceChange(gateway, amount - feePaise),
  };
  const payment = shownPayment(gateway, row);
  publish(gateway, changes, [
    { name: 'payment.captured', entities: { payment } },
    { name: 'qr_code.credited', entities: { payment, qr_code: shownQrCode(gateway, credited) } },
  ]);
  return row;
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
 * The buyer pays. A payment by QR code is captured immediately, or is authorized until a control call
 * captures or voids it.
 *
 * @throws RazorpayError 400 when the QR code is closed, unless the attempt is `late`
 */
export function payQrCode(
  gateway: SimulatedGateway,
  qrCodeId: string,
  attempt: Attempt,
): Row<'payments'> {
  if (attempt.vpa === FAILURE_VPA) return failQrCode(gateway, qrCodeId, attempt);
  const before = requirePayable(gateway, qrCodeId, attempt);
  const payment = newPayment(gateway, before.entity, attempt, 'authorized');
  const row = newRow(payment, qrCodeId);
  const qrCode = withPayment(before, payment);
  const waits = switchOf(gateway, 'paymentsStartAuthorized', [qrCodeId]);
  if (!waits) return capture(gateway, row, qrCode);
  // The buyer has paid: a single-use QR code takes no second payment.
  const newEvent = {
    name: 'payment.authorized',
    entities: { payment: shownPayment(gateway, row) },
  };
  publish(gateway, rowsFor(row, asPaid(gateway, qrCode)), [newEvent]);
  return row;
}

/** The buyer's attempt fails; the QR code stays open. */
export function failQrCode(
  gateway: SimulatedGateway,
  qrCodeId: string,
  attempt: Attempt,
): Row<'payments'> {
  const before = requirePayable(gateway, qrCodeId, attempt);
  const payment = newPayment(gateway, before.entity, attempt, 'failed');
  const row = newRow(payment, qrCodeId);
  const newEvent = { name: 'payment.failed', entities: { payment: shownPayment(gateway, row) } };
  publish(gateway, rowsFor(row, withPayment(before, payment)), [newEvent]);
  return row;
}

function requireAuthorized(gateway: SimulatedGateway, id: string): Row<'payments'> {
  const row = requireRow(gateway, 'payments', id);
  if (row.entity.status !== 'authorized') {
    throw badRequest(`The payment is ${row.entity.status} already`);
  }
  return row;
}

/** Captures an authorized payment. @throws RazorpayError 400 when it has another status */
export function capturePayment(gateway: SimulatedGateway, id: string): Row<'payments'> {
  const row = requireAuthorized(gateway, id);
  return capture(gateway, row, currentQrCode(gateway, row.qrCodeId));
}

/**
 * Returns an authorized payment to the buyer without a callback, as Razorpay does when it was not captured
 * within 3 days (payments/payments, payments/payments/capture-settings) or 5 days
 * (payments/payments/capture-settings/api).
 *
 * @throws RazorpayError 400 when it has another status
 */
export function voidPayment(gateway: SimulatedGateway, id: string): Row<'payments'> {
  const row = requireAuthorized(gateway, id);
  const { amount } = row.entity;
  const voided = { status: 'refunded', amount_refunded: amount, refund_status: 'full' } as const;
  const changed = { ...row, entity: { ...row.entity, ...voided } };
  publish(gateway, { payments: { [id]: changed } });
  return changed;
}

/** All attempts on a QR code, oldest first. */
export function paymentsOf(gateway: SimulatedGateway, qrCodeId: string): Row<'payments'>[] {
  const { paymentIds } = currentQrCode(gateway, qrCodeId);
  return paymentIds.map((id) => requireRow(gateway, 'payments', id));
}

/** The QR code of a payment; empty for an unknown payment. */
export function qrCodesOfPayment(gateway: SimulatedGateway, paymentId: string): Row<'qrCodes'>[] {
  const row = gateway.store.get('payments', paymentId);
  return row === undefined ? [] : [currentQrCode(gateway, row.qrCodeId)];
}
