import type { OpenSessionInput } from '../gateway/gateway.ts';
import type {
  GatewayPayment,
  RefundOrChargeback,
  GatewaySession,
  GatewayTransfer,
} from '../gateway/gateway-objects.ts';
import type { Dispute, Payment, QrCode, Refund, Transfer } from './schemas.ts';
import { keyedSchema } from './schemas.ts';

/** Razorpay allows 256 characters in a note. 255 also fits a description. */
const TEXT_LIMIT = 255;

/** Shortens a text to Razorpay's limit without splitting a character. */
export function shortText(text: string): string {
  return Array.from(text).slice(0, TEXT_LIMIT).join('');
}

/** The notes that identify the order of a QR code, and of the payments that copy its notes. */
export function sessionNotes({ orderNumber, sessionId }: OpenSessionInput) {
  return { order_number: orderNumber, session_id: sessionId };
}

function textNote(notes: Record<string, unknown>, name: string): string | null {
  const value = notes[name];
  return typeof value === 'string' ? value : null;
}

export function presentSession(qrCode: QrCode): GatewaySession {
  return {
    gatewaySessionId: qrCode.id,
    state: qrCode.status === 'active' ? 'open' : 'closed',
    isPaid: qrCode.close_reason === 'paid',
    orderNumber: textNote(qrCode.notes, 'order_number'),
    sessionId: textNote(qrCode.notes, 'session_id'),
  };
}

/**
 * Converts a payment to the port's, without the buyer's address, phone and email. A payment that was refunded and
 * never captured has failed: Razorpay refunds an authorised payment that is not captured in time
 * (payments/payments/capture-settings).
 */
export function presentPayment(payment: Payment): GatewayPayment {
  const isUncaptured = payment.status === 'refunded' && payment.captured === false;
  const status = isUncaptured ? 'failed' : payment.status;
  const code = isUncaptured ? '' : (payment.error_code ?? '');
  const failure = { code, description: payment.error_description ?? '' };
  return {
    gatewayPaymentId: payment.id,
    status,
    amountPaise: payment.amount,
    refundedPaise: payment.amount_refunded ?? 0,
    currency: payment.currency,
    orderNumber: textNote(payment.notes, 'order_number'),
    sessionId: textNote(payment.notes, 'session_id'),
    failure: status === 'failed' ? failure : null,
    // For a payment by UPI, the retrieval reference number is the UTR.
    utr: payment.acquirer_data.rrn,
    feePaise: payment.fee,
  };
}

export function presentRefund(refund: Refund): RefundOrChargeback {
  return {
    reversalId: refund.id,
    gatewayPaymentId: refund.payment_id,
    kind: 'refund',
    amountPaise: refund.amount,
    state: refund.status,
    idempotencyKey: textNote(refund.notes, 'idempotency_key'),
  };
}

/** Converts a dispute to the port's chargeback. A closed dispute has taken no money. */
export function presentChargeback(dispute: Dispute): RefundOrChargeback {
  const deductedPaise = dispute.amount_deducted ?? 0;
  return {
    reversalId: dispute.id,
    gatewayPaymentId: dispute.payment_id,
    kind: 'chargeback',
    amountPaise: dispute.status === 'lost' && deductedPaise > 0 ? deductedPaise : dispute.amount,
    state: CHARGEBACK_STATES[dispute.status],
    idempotencyKey: null,
  };
}

/** The status alone decides the state: money is also deducted while a dispute is open, and returned when it is won. */
const CHARGEBACK_STATES = {
  open: 'open',
  under_review: 'open',
  won: 'won',
  closed: 'won',
  lost: 'lost',
} as const satisfies Record<Dispute['status'], RefundOrChargeback['state']>;

/**
 * Converts a Route transfer to the port's. Razorpay responds before it makes a transfer, so a new one is created or
 * pending.
 */
export function presentTransfer(transfer: Transfer): GatewayTransfer {
  const { id: transferId } = transfer;
  const isUnderWay = transfer.status === 'created' || transfer.status === 'pending';
  if (isUnderWay) return { transferId, state: 'pending', feePaise: null };
  const state = transfer.on_hold ? 'held' : 'released';
  return { transferId, state, feePaise: transfer.fees };
}

/** True if this refund or transfer was made with this idempotency key. */
export function madeUnder(idempotencyKey: string) {
  return ({ notes }: { notes: Record<string, unknown> }) =>
    textNote(notes, 'idempotency_key') === idempotencyKey;
}

/** True if the notes of an item of unknown form name another idempotency key. */
export function madeUnderAnother(idempotencyKey: string) {
  return (item: unknown) => {
    const keyed = keyedSchema.safeParse(item);
    return keyed.success && keyed.data.notes.idempotency_key !== idempotencyKey;
  };
}
