import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { PaymentGateway } from '../gateway/gateway.ts';
import type { CallbackHeaders, CallbackResult, GatewayEvent } from '../gateway/gateway-objects.ts';
import { presentChargeback, presentPayment, presentRefund, presentSession } from './present.ts';
import {
  disputePayloadSchema,
  paymentPayloadSchema,
  qrCodePayloadSchema,
  refundPayloadSchema,
  transferPayloadSchema,
  webhookSchema,
} from './schemas.ts';

/** The header with the signature (webhooks/validate-test). */
export const SIGNATURE_HEADER = 'X-Razorpay-Signature';
/** The id of the event, the same for every delivery of it. It is not signed. */
export const EVENT_ID_HEADER = 'X-Razorpay-Event-Id';

function header(headers: CallbackHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : value?.[0];
}

/** Checks the HMAC-SHA256 of the raw bytes, in hex (webhooks/validate-test), in constant time. */
function isSigned(rawBody: Uint8Array, signature: string, secret: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const expected = createHmac('sha256', secret).update(rawBody).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected);
}

/** The union's members without the properties that they share. */
type EventBody = GatewayEvent extends infer Event
  ? Event extends GatewayEvent
    ? Omit<Event, 'eventId' | 'name'>
    : never
  : never;

function paymentEvent(payload: unknown): EventBody {
  const { payment, qr_code: qrCode } = paymentPayloadSchema.parse(payload);
  const gatewaySessionId = qrCode?.entity.id ?? null;
  return { type: 'payment', payment: presentPayment(payment.entity), gatewaySessionId };
}

function refundEvent(payload: unknown): EventBody {
  const { refund } = refundPayloadSchema.parse(payload);
  return { type: 'refund_or_chargeback', found: presentRefund(refund.entity) };
}

function disputeEvent(payload: unknown): EventBody {
  const { dispute } = disputePayloadSchema.parse(payload);
  return { type: 'refund_or_chargeback', found: presentChargeback(dispute.entity) };
}

const transferEvent =
  ({ hasFailed }: { hasFailed: boolean }) =>
  (payload: unknown): EventBody => {
    const { transfer } = transferPayloadSchema.parse(payload);
    const { id: transferId, source: gatewayPaymentId } = transfer.entity;
    return { type: 'transfer', transferId, gatewayPaymentId, hasFailed };
  };

/** The readers of the used events. The payload is a snapshot from the time of the event. */
const READERS: Readonly<Record<string, (payload: unknown) => EventBody>> = {
  'qr_code.credited': paymentEvent,
  'qr_code.closed': (payload) => ({
    type: 'session_closed',
    ...presentSession(qrCodePayloadSchema.parse(payload).qr_code.entity),
  }),
  'payment.captured': paymentEvent,
  'payment.failed': paymentEvent,
  'refund.created': refundEvent,
  'refund.processed': refundEvent,
  'refund.failed': refundEvent,
  'transfer.processed': transferEvent({ hasFailed: false }),
  'transfer.failed': transferEvent({ hasFailed: true }),
  'payment.dispute.created': disputeEvent,
  'payment.dispute.under_review': disputeEvent,
  'payment.dispute.action_required': disputeEvent,
  'payment.dispute.won': disputeEvent,
  'payment.dispute.lost': disputeEvent,
  'payment.dispute.closed': disputeEvent,
};

/** Reads a callback whose signature was checked. @throws if its form is unknown */
export function readEvent(rawBody: Uint8Array, headers: CallbackHeaders): GatewayEvent {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(rawBody);
  const { event: name, payload } = webhookSchema.parse(JSON.parse(text));
  const read = Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  const bodyHash = () => createHash('sha256').update(rawBody).digest('hex');
  return {
    eventId: header(headers, EVENT_ID_HEADER) ?? bodyHash(),
    name,
    ...(read?.(payload) ?? { type: 'ignored' }),
  };
}

/** Parses Razorpay's webhooks. It checks the signature over the raw bytes before the body. */
export function createCallbackParser(webhookSecret: string): Pick<PaymentGateway, 'parseCallback'> {
  function parseCallback(rawBody: Uint8Array, headers: CallbackHeaders): CallbackResult {
    const signature = header(headers, SIGNATURE_HEADER);
    if (signature === undefined || !isSigned(rawBody, signature, webhookSecret)) {
      return { verified: false };
    }
    try {
      return { verified: true, event: readEvent(rawBody, headers) };
    } catch {
      return { verified: true, event: null, eventId: header(headers, EVENT_ID_HEADER) ?? '' };
    }
  }
  return { parseCallback };
}
