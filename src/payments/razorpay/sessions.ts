import { GatewayRefused } from '../gateway.ts';
import type {
  ClosedSession,
  GatewayPayment,
  OpenSessionInput,
  OpenedSession,
  PaymentGateway,
} from '../gateway.ts';
import { gatewayError, valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { listAll } from './list-all.ts';
import { presentPayment, presentSession, sessionNotes, shortText } from './present.ts';
import { collectionOf, paymentSchema, qrCodeSchema } from './schemas.ts';

/**
 * A QR code must be open for at least 2 minutes (api/qr-codes/create); half a minute more allows
 * for a clock behind Razorpay's. Reconciliation closes a session that ends earlier.
 */
const MIN_OPEN_MS = 150_000;

const QR_CODES = '/v1/payments/qr_codes';
const qrCodePath = (gatewaySessionId: string) =>
  `${QR_CODES}/${encodeURIComponent(gatewaySessionId)}`;

type Sessions = Pick<
  PaymentGateway,
  | 'openSession'
  | 'closeSession'
  | 'fetchSession'
  | 'listSessions'
  | 'findSessionOfPayment'
  | 'listSessionPayments'
>;

interface SessionOptions {
  closeTimeoutMs: number;
  now: () => number;
}

async function openQrCode(
  client: RazorpayClient,
  options: SessionOptions,
  input: OpenSessionInput,
): Promise<OpenedSession> {
  const closesAtMs = Math.max(input.expiresAtMs, options.now() + MIN_OPEN_MS);
  const body = {
    type: 'upi_qr',
    usage: 'single_use',
    fixed_amount: true,
    payment_amount: input.amountPaise,
    description: shortText(input.description),
    close_by: Math.floor(closesAtMs / 1000),
    notes: sessionNotes(input),
  };
  const answer = await client.call({ method: 'POST', path: QR_CODES, body }, qrCodeSchema);
  const qrCode = valueOf('openSession', answer);
  if (qrCode.image_content === undefined) {
    const remedy = 'ask Razorpay to enable image_content for QR codes';
    throw new GatewayRefused('openSession', 'IMAGE_CONTENT_MISSING', remedy);
  }
  return {
    gatewaySessionId: qrCode.id,
    upiIntent: qrCode.image_content,
    pageUrl: qrCode.image_url,
    // Razorpay may set another time than requested; its documentation says to use the returned one.
    closesAtMs: qrCode.close_by == null ? closesAtMs : qrCode.close_by * 1000,
  };
}

async function paymentsOf(
  client: RazorpayClient,
  operation: string,
  gatewaySessionId: string,
  signal?: AbortSignal,
): Promise<GatewayPayment[]> {
  const source = { path: `${qrCodePath(gatewaySessionId)}/payments`, ...(signal && { signal }) };
  const payments = await listAll(client, operation, source, paymentSchema);
  return payments.map(presentPayment);
}

type Closing = Awaited<ReturnType<RazorpayClient['call']>>;

/** A close that succeeded while the QR code is open is contradictory: the outcome is unknown. */
function stillOpen(closing: Closing) {
  if (closing.kind !== 'done') return closing;
  return { kind: 'unknown', detail: 'the QR code is still open' } as const;
}

/** Returns a refunded payment too: the caller must record that the session was paid. */
function closedSession(payments: GatewayPayment[]): ClosedSession {
  const captured = payments.filter(({ status }) => status === 'captured' || status === 'refunded');
  const payment = captured.find(({ refundedPaise }) => refundedPaise === 0) ?? captured[0];
  return payment === undefined ? { state: 'closed' } : { state: 'paid', payment };
}

/** One deadline for all calls, because a merchant's cancel waits for them. */
async function closeQrCode(
  client: RazorpayClient,
  { closeTimeoutMs }: SessionOptions,
  gatewaySessionId: string,
): Promise<ClosedSession> {
  const signal = AbortSignal.timeout(closeTimeoutMs);
  const path = qrCodePath(gatewaySessionId);
  const close = { method: 'POST', path: `${path}/close`, signal } as const;
  const closing = await client.call(close, qrCodeSchema);
  // Refused because it is closed already, or unknown: fetch the QR code.
  if (closing.kind !== 'done' || closing.value.status !== 'closed') {
    const found = await client.call({ method: 'GET', path, signal }, qrCodeSchema);
    const isClosed = valueOf('closeSession', found).status === 'closed';
    if (!isClosed) throw gatewayError('closeSession', stillOpen(closing));
  }
  // In Razorpay's samples, the QR code's count of payments lags behind its list of payments.
  return closedSession(await paymentsOf(client, 'closeSession', gatewaySessionId, signal));
}

/** Payment sessions as single-use UPI QR codes of a fixed amount. */
export function createSessions(client: RazorpayClient, options: SessionOptions): Sessions {
  return {
    openSession: (input) => openQrCode(client, options, input),
    closeSession: (gatewaySessionId) => closeQrCode(client, options, gatewaySessionId),
    listSessionPayments: (gatewaySessionId) =>
      paymentsOf(client, 'listSessionPayments', gatewaySessionId),

    async fetchSession(gatewaySessionId) {
      const call = { method: 'GET', path: qrCodePath(gatewaySessionId) } as const;
      return presentSession(valueOf('fetchSession', await client.call(call, qrCodeSchema)));
    },

    async listSessions(sinceMs) {
      const source = { path: QR_CODES, from: Math.floor(sinceMs / 1000) };
      return (await listAll(client, 'listSessions', source, qrCodeSchema)).map(presentSession);
    },

    async findSessionOfPayment(gatewayPaymentId) {
      const query = { payment_id: gatewayPaymentId };
      const call = { method: 'GET', path: QR_CODES, query } as const;
      const answer = await client.call(call, collectionOf(qrCodeSchema));
      const [qrCode] = valueOf('findSessionOfPayment', answer).items;
      return qrCode === undefined ? null : presentSession(qrCode);
    },
  };
}
