import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { GatewayAdapter, GatewayOptions } from '../../../src/payments/gateway/adapter.ts';
import type { PaymentGateway, TransferInput } from '../../../src/payments/gateway/gateway.ts';
import type {
  CallbackHeaders,
  CallbackResult,
  GatewayPayment,
  GatewaySession,
  GatewayTransfer,
} from '../../../src/payments/gateway/gateway-objects.ts';
import { GatewayRefused, GatewayUnavailable } from '../../../src/payments/gateway/gateway.ts';
import { text, webAddress } from '../../../src/settings.ts';
import type { Charge, Intent, Payout, Refund } from './server.ts';
import { signCallback } from './server.ts';

const secretText = (description: string) => text(undefined, { accepts: description, description });

/**
 * A second gateway, which only tests use: JSON over HTTP with a token, UUIDs in capitals as ids, and
 * callbacks signed with a time and the body.
 */
export const otherpay = {
  name: 'otherpay',
  settings: () => ({
    BASE_URL: webAddress('where its API is'),
    TOKEN: secretText('the token of its API'),
    CALLBACK_KEY: secretText('the key that it signs callbacks with'),
  }),
  callback: {
    path: '/hooks/otherpay',
    signatureHeader: 'Otherpay-Signature',
    otherHeaders: [],
  },
  create: async (settings, options) => createOtherpay(settings, options),
} as const satisfies GatewayAdapter<OtherpaySettings>;

type OtherpaySettings = {
  BASE_URL: ReturnType<typeof webAddress>;
  TOKEN: ReturnType<typeof secretText>;
  CALLBACK_KEY: ReturnType<typeof secretText>;
};

interface Given {
  baseUrl: string;
  token: string;
  callbackKey: string;
}

function createOtherpay(given: Given, { timeoutMs }: GatewayOptions): PaymentGateway {
  const api = createApi(given, timeoutMs);
  const payments = async (id: string) =>
    (await api<Charge[]>('GET', `/intents/${id}/charges`)).map(presentCharge);
  return {
    async openSession({ orderNumber, sessionId, amountPaise, expiresAtMs }) {
      const body = { order: orderNumber, session: sessionId, paise: amountPaise, expiresAtMs };
      const intent = await api<Intent>('POST', '/intents', body);
      return {
        gatewaySessionId: intent.id,
        upiIntent: `upi://pay?tr=${intent.id}`,
        pageUrl: `${given.baseUrl}/pay/${intent.id}`,
      };
    },
    async closeSession(id) {
      const charge = await api<Charge | null>('POST', `/intents/${id}/cancel`);
      return charge ? [presentCharge(charge)] : [];
    },
    fetchSession: async (id) => presentIntent(await api<Intent>('GET', `/intents/${id}`)),
    listSessions: async (sinceMs) =>
      (await api<Intent[]>('GET', `/intents?since=${sinceMs}`)).map(presentIntent),
    listSessionPayments: payments,
    fetchPayment: async (id) => presentCharge(await api<Charge>('GET', `/charges/${id}`)),
    // Every charge names its order.
    fetchSessionOfPayment: () => Promise.resolve(undefined),
    listRefunds: async (id) =>
      (await api<Refund[]>('GET', `/charges/${id}/refunds`)).map(presentRefund),
    listNewestChargebacks: () => Promise.resolve([]),
    fetchChargeback: (id) =>
      Promise.reject(new GatewayRefused('fetchChargeback', 'NOT_FOUND', `no chargeback ${id}`)),
    async fetchTransferred(id) {
      const payouts = await api<Payout[]>('GET', `/charges/${id}/payouts`);
      const sum = (isHeld: boolean) =>
        payouts
          .filter((payout) => payout.held === isHeld)
          .reduce((paise, payout) => paise + payout.paise, 0);
      const recipients = payouts.map(({ account }) => account);
      const heldPaise = sum(true);
      return { heldPaise, releasedPaise: sum(false), feePaise: null, recipients, payouts: [] };
    },
    fetchPayoutUtr: async () => null,
    holdFunds: (input) => payOut(api, input, true),
    releaseFunds: (input) => payOut(api, input, false),
    async takeBackHeld({ gatewayPaymentId, beforeMoving }) {
      await beforeMoving();
      await api<Payout[]>('POST', `/charges/${gatewayPaymentId}/takeback`);
    },
    async refund({ gatewayPaymentId, amountPaise, idempotencyKey, beforeMoving }) {
      await beforeMoving();
      const body = { paise: amountPaise, key: idempotencyKey };
      return presentRefund(await api<Refund>('POST', `/charges/${gatewayPaymentId}/refunds`, body));
    },
    async createLinkedAccount({ email, name }) {
      const { id } = await api<{ id: string }>('POST', '/accounts', { email, name });
      return { linkedAccountId: id };
    },
    fetchLinkedAccount: () => Promise.resolve({ state: 'unknown', transfersFromMs: 0 }),
    async payAsBuyer(id) {
      await api<Charge>('POST', `/intents/${id}/pay`);
    },
    chargeBackAsBank: () =>
      Promise.reject(new GatewayRefused('chargeBackAsBank', 'NOT_SUPPORTED', 'no chargebacks')),
    failRefundAsBank: () =>
      Promise.reject(new GatewayRefused('failRefundAsBank', 'NOT_SUPPORTED', 'no failures')),
    parseCallback: (rawBody, headers) => parseCallback(given.callbackKey, rawBody, headers),
  };
}

type Api = ReturnType<typeof createApi>;

function createApi({ baseUrl, token }: Given, timeoutMs: number) {
  return async function call<Answer>(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<Answer> {
    const operation = `${method} ${path}`;
    const response = await fetch(new URL(path, baseUrl), {
      method,
      headers: { 'x-otherpay-token': token },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new GatewayUnavailable(operation, 'no answer', { cause });
    });
    if (response.status >= 500) throw new GatewayUnavailable(operation, `${response.status}`);
    if (!response.ok) throw new GatewayRefused(operation, 'REFUSED', await response.text());
    return (await response.json()) as Answer;
  };
}

async function payOut(api: Api, input: TransferInput, held: boolean): Promise<GatewayTransfer> {
  await input.beforeMoving();
  const body = {
    paise: input.amountPaise,
    account: input.linkedAccountId,
    key: input.idempotencyKey,
    held,
  };
  const payout = await api<Payout>('POST', `/charges/${input.gatewayPaymentId}/payouts`, body);
  return { transferId: payout.id, state: payout.held ? 'held' : 'released', feePaise: null };
}

function presentIntent(intent: Intent): GatewaySession {
  return {
    gatewaySessionId: intent.id,
    state: intent.open ? 'open' : 'closed',
    isPaid: false,
    orderNumber: intent.order,
    sessionId: intent.session,
  };
}

function presentCharge(charge: Charge): GatewayPayment {
  return {
    gatewayPaymentId: charge.id,
    status: charge.refundedPaise === charge.paise ? 'refunded' : 'captured',
    amountPaise: charge.paise,
    refundedPaise: charge.refundedPaise,
    currency: 'INR',
    orderNumber: charge.order,
    sessionId: charge.session,
    failure: null,
    utr: null,
    feePaise: null,
  };
}

function presentRefund(refund: Refund) {
  return {
    reversalId: refund.id,
    gatewayPaymentId: refund.charge,
    kind: 'refund' as const,
    amountPaise: refund.paise,
    state: 'processed' as const,
    idempotencyKey: refund.key,
  };
}

const callbackSchema = z.object({
  id: z.string(),
  type: z.literal('charge.paid'),
  charge: z.object({
    id: z.string(),
    intent: z.string(),
    order: z.string(),
    session: z.string(),
    paise: z.number().int(),
    refundedPaise: z.number().int(),
    atMs: z.number(),
  }),
});

function parseCallback(key: string, rawBody: Uint8Array, headers: CallbackHeaders): CallbackResult {
  const given = headers['otherpay-signature'];
  if (typeof given !== 'string') return { verified: false };
  const atMs = Number(/^t=(\d+),/.exec(given)?.[1]);
  const expected = Buffer.from(signCallback(key, rawBody, atMs));
  const isSigned =
    given.length === expected.length && timingSafeEqual(Buffer.from(given), expected);
  if (!isSigned) return { verified: false };
  try {
    const { id, type, charge } = callbackSchema.parse(
      JSON.parse(Buffer.from(rawBody).toString('utf8')),
    );
    const payment = presentCharge(charge);
    const gatewaySessionId = charge.intent;
    return {
      verified: true,
      event: { eventId: id, name: type, type: 'payment', payment, gatewaySessionId },
    };
  } catch {
    return { verified: true, event: null, eventId: '' };
  }
}
