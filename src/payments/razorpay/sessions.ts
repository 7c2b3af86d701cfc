import { z } from 'zod';
import { GatewayRefused } from '../gateway/gateway.ts';
import { isCaptured, isDeclined } from '../gateway/gateway-objects.ts';
import type { OpenSessionInput, PaymentGateway } from '../gateway/gateway.ts';
import type { GatewayPayment, OpenedSession } from '../gateway/gateway-objects.ts';
import { gatewayError, valueOf } from './client.ts';
import type { Answer, RazorpayClient } from './client.ts';
import type { ListSource, MayLeaveOut } from './list-all.ts';
import { listAll } from './list-all.ts';
import { presentPayment, presentSession, sessionNotes, shortText } from './present.ts';
import type { Payment, QrCode } from './schemas.ts';
import { paymentSchema, qrCodeSchema } from './schemas.ts';

/**
 * A QR code must be open for at least 2 minutes (api/qr-codes/create). Half a minute more allows for a clock behind
 * Razorpay's. Reconciliation closes a session that ends earlier.
 */
const MIN_OPEN_MS = 150_000;

/** The UPI address with which Razorpay's test mode lets a payment succeed. */
const PAYING_VPA = 'success@razorpay';

const QR_CODES = '/v1/payments/qr_codes';
const qrCodePath = (gatewaySessionId: string) =>
  `${QR_CODES}/${encodeURIComponent(gatewaySessionId)}`;

type Sessions = Pick<
  PaymentGateway,
  | 'openSession'
  | 'closeSession'
  | 'fetchSession'
  | 'fetchSessionOfPayment'
  | 'listSessions'
  | 'listSessionPayments'
  | 'payAsBuyer'
>;

/**
 * The documents name two minutes (api/qr-codes/create) and fifteen minutes (payments/qr-codes/migrate) as the
 * shortest time.
 */
const LONG_OPEN_MS = 16 * 60_000;

async function openQrCode(client: RazorpayClient, input: OpenSessionInput): Promise<OpenedSession> {
  const create = (leastMs: number): Promise<Answer<QrCode>> => {
    const closesAtMs = Math.max(input.expiresAtMs, Date.now() + leastMs);
    const body = {
      type: 'upi_qr',
      usage: 'single_use',
      fixed_amount: true,
      payment_amount: input.amountPaise,
      description: shortText(input.description),
      close_by: Math.floor(closesAtMs / 1000),
      notes: sessionNotes(input),
    };
    return client.call({ method: 'POST', path: QR_CODES, body }, qrCodeSchema);
  };
  const first = await create(MIN_OPEN_MS);
  const isTooShort = first.kind === 'refused' && first.description.includes('close_by');
  const qrCode = valueOf('openSession', isTooShort ? await create(LONG_OPEN_MS) : first);
  if (qrCode.image_content === undefined) {
    // No buyer will see this QR code, but it could be paid.
    await client.call({ method: 'POST', path: `${qrCodePath(qrCode.id)}/close` }, qrCodeSchema);
    const remedy = 'ask Razorpay to enable image_content for QR codes';
    throw new GatewayRefused('openSession', 'IMAGE_CONTENT_MISSING', remedy);
  }
  return {
    gatewaySessionId: qrCode.id,
    upiIntent: qrCode.image_content,
    pageUrl: qrCode.image_url,
  };
}

/**
 * A payment of unknown form may be left out only if another one is captured. Otherwise the list would say that the
 * session was not paid.
 */
const isPaidWithout: MayLeaveOut<Payment> = (_item, read) =>
  read.some((payment) => isCaptured(presentPayment(payment)));

async function paymentsOf(
  client: RazorpayClient,
  operation: string,
  gatewaySessionId: string,
  options: Pick<ListSource<Payment>, 'signal' | 'mayLeaveOut'>,
): Promise<GatewayPayment[]> {
  const source = { path: `${qrCodePath(gatewaySessionId)}/payments`, ...options };
  const payments = await listAll(client, operation, source, paymentSchema);
  return payments.map(presentPayment);
}

type Closing = Awaited<ReturnType<RazorpayClient['call']>>;

/** A successful close of a QR code that is still open is a contradiction, so the outcome is unknown. */
function stillOpen(closing: Closing) {
  if (closing.kind !== 'done') return closing;
  return { kind: 'unknown', detail: 'the QR code is still open' } as const;
}

/** All calls share one deadline, because a merchant's cancel waits for them. */
async function closeQrCode(
  client: RazorpayClient,
  closeTimeoutMs: number,
  gatewaySessionId: string,
): Promise<GatewayPayment[]> {
  const signal = AbortSignal.timeout(closeTimeoutMs);
  const path = qrCodePath(gatewaySessionId);
  const close = { method: 'POST', path: `${path}/close`, signal } as const;
  const closing = await client.call(close, qrCodeSchema);
  let qrCode = closing.kind === 'done' ? closing.value : undefined;
  // Refused because it is closed already or not known: fetch the QR code.
  if (qrCode?.status !== 'closed') {
    const found = await client.call({ method: 'GET', path, signal }, qrCodeSchema);
    qrCode = valueOf('closeSession', found);
    if (qrCode.status !== 'closed') throw gatewayError('closeSession', stillOpen(closing));
  }
  // In Razorpay's samples, the QR code's count of payments is updated later than its list of payments.
  const payments = await paymentsOf(client, 'closeSession', gatewaySessionId, { signal });
  if (payments.every(isDeclined) && presentSession(qrCode).isPaid) {
    const detail = 'the QR code is paid, and its payment is not listed yet';
    throw gatewayError('closeSession', { kind: 'unknown', detail });
  }
  return payments;
}

/** Payment sessions as single-use UPI QR codes of a fixed amount. */
export function createSessions(client: RazorpayClient, closeTimeoutMs: number): Sessions {
  return {
    openSession: (input) => openQrCode(client, input),
    closeSession: (gatewaySessionId) => closeQrCode(client, closeTimeoutMs, gatewaySessionId),
    listSessionPayments: (gatewaySessionId) =>
      paymentsOf(client, 'listSessionPayments', gatewaySessionId, { mayLeaveOut: isPaidWithout }),

    async fetchSession(gatewaySessionId) {
      const call = { method: 'GET', path: qrCodePath(gatewaySessionId) } as const;
      return presentSession(valueOf('fetchSession', await client.call(call, qrCodeSchema)));
    },

    // api/qr-codes/fetch-payment-id
    async fetchSessionOfPayment(gatewayPaymentId) {
      const source = { path: QR_CODES, query: { payment_id: gatewayPaymentId }, isPaged: false };
      const [qrCode] = await listAll(client, 'fetchSessionOfPayment', source, qrCodeSchema);
      return qrCode && presentSession(qrCode);
    },

    async listSessions(sinceMs) {
      const query = { from: Math.floor(sinceMs / 1000) };
      const source = { path: QR_CODES, query, mayLeaveOut: () => true };
      return (await listAll(client, 'listSessions', source, qrCodeSchema)).map(presentSession);
    },

    /** Only the gateway simulator supports this. */
    async payAsBuyer(gatewaySessionId, { isLate } = { isLate: false }) {
      const path = `/simulator/qr_codes/${encodeURIComponent(gatewaySessionId)}/pay`;
      const call = { method: 'POST', path, body: { vpa: PAYING_VPA, late: isLate } } as const;
      valueOf('payAsBuyer', await client.call(call, z.unknown()));
    },
  };
}
