import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { atGateway } from './gateway.ts';
import type { World } from './world.ts';

const DAY_SECONDS = 24 * 3600;
/** Less than the amount of any order: the minimum is INR 5. */
const SOME_PAISE = 150;

/** One order, with the data that its merchant and its buyer have. */
export interface Life {
  api: ApiClient;
  amountPaise: number;
  /** Set once the merchant has a response. */
  orderNumber: string | undefined;
  /** The QR code that the buyer saw last. */
  qrCodeId: string | undefined;
  /** The latest chargeback at the gateway. */
  chargebackId: string | undefined;
}

export const newLife = (api: ApiClient, amountPaise: number): Life => ({
  api,
  amountPaise,
  orderNumber: undefined,
  qrCodeId: undefined,
  chargebackId: undefined,
});

/** Repeats a call after 500 and 502, as the specification asks of clients, and after a lost response. */
async function withRetries<Data>(call: () => Promise<ApiAnswer<Data>>): Promise<ApiAnswer<Data>> {
  let latest: unknown;
  const answered = await until(async () => {
    try {
      const answer = await call();
      latest = answer.body;
      return answer.status < 500 ? answer : undefined;
    } catch (error) {
      latest = error;
      return undefined;
    }
  }).catch((cause: unknown) => {
    throw new Error(`No answer below 500 came; the latest: ${inspect(latest)}`, { cause });
  });
  return answered!;
}

/** A request of the merchant or of the buyer, with one Idempotency-Key however often it is sent. */
function post({ api, orderNumber }: Life, action: string, body?: object): Promise<ApiAnswer> {
  const headers = { 'Idempotency-Key': randomUUID() };
  return withRetries(() => api.post(`/orders/${orderNumber}/${action}`, body, headers));
}

function help({ api, orderNumber }: Life, helper: string, body?: object): Promise<ApiAnswer> {
  const headers = { 'Idempotency-Key': randomUUID() };
  const path = `/test-helpers/orders/${orderNumber}/${helper}`;
  return withRetries(() => api.post(path, body, headers));
}

/** The buyer's app reads the QR code's id from its content, as UPI apps do. */
async function openSession(_world: World, life: Life): Promise<void> {
  const { body } = await post(life, 'payment-sessions');
  const { upi_intent: intent } = (body.data ?? {}) as { upi_intent?: string };
  const reference = intent && new URL(intent).searchParams.get('tr');
  if (reference) life.qrCodeId = `qr_${reference.slice('RZP'.length, -'qrv2'.length)}`;
}

async function payQrCode(world: World, { qrCodeId }: Life, attempt: object): Promise<void> {
  if (qrCodeId) await atGateway(world, `/qr_codes/${qrCodeId}/pay`, attempt);
}

async function paymentOf({ api, orderNumber }: Life): Promise<string | undefined> {
  const { body } = await withRetries(() => api.get(`/orders/${orderNumber}`));
  return body.data?.payment?.gateway_payment_id;
}

async function refundAtGateway(world: World, life: Life, amount: object): Promise<void> {
  const paymentId = await paymentOf(life);
  if (paymentId) await atGateway(world, `/payments/${paymentId}/refund`, amount);
}

async function settleChargeback(world: World, { chargebackId }: Life, status: string) {
  if (chargebackId) await atGateway(world, `/disputes/${chargebackId}/settle`, { status });
}

/** All actions on one order. An action that no longer fits is refused and skipped. */
const ACTS = {
  async create(_world: World, life: Life) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const order = {
      amount: life.amountPaise / 100,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Blue kurta, size M',
    };
    const { status, body } = await withRetries(() => life.api.post('/orders', order, headers));
    if (status !== 201) throw new Error(`An order was not created: ${status} ${body.message}`);
    life.orderNumber = body.data.order_number;
  },
  pay: (_world: World, life: Life) => help(life, 'pay'),
  openSession,
  async payAtGateway(world: World, life: Life) {
    await openSession(world, life);
    await payQrCode(world, life, {});
  },
  async payTwice(world: World, life: Life) {
    await openSession(world, life);
    await Promise.all([{}, { late: true }].map((attempt) => payQrCode(world, life, attempt)));
  },
  payLate: (world: World, life: Life) => payQrCode(world, life, { late: true }),
  async payWrongAmount(world: World, life: Life) {
    await openSession(world, life);
    await payQrCode(world, life, { amountPaise: life.amountPaise - SOME_PAISE });
  },
  async failPayment(world: World, life: Life) {
    await openSession(world, life);
    if (life.qrCodeId) await atGateway(world, `/qr_codes/${life.qrCodeId}/fail`);
  },
  async payWhileCancelling(world: World, life: Life) {
    await openSession(world, life);
    await Promise.all([payQrCode(world, life, {}), post(life, 'cancel')]);
  },
  cancel: (_world: World, life: Life) => post(life, 'cancel', { reason: 'Out of stock' }),
  expire: (_world: World, life: Life) => help(life, 'advance', { seconds: DAY_SECONDS }),
  deliver: (_world: World, life: Life) => post(life, 'deliver', { trackingId: 'TRACK-1' }),
  refund: (_world: World, life: Life) => post(life, 'refund', { reason: 'Cannot be sent' }),
  dispute: (_world: World, life: Life) =>
    help(life, 'dispute', { reason: 'The parcel was empty when it came' }),
  submitEvidence: (_world: World, life: Life) =>
    post(life, 'dispute/evidence', { text: 'The courier has a signature' }),
  resolve: (_world: World, life: Life) =>
    post(life, 'dispute/resolve', { resolution: 'A new parcel was sent' }),
  accept: (_world: World, life: Life) => post(life, 'dispute/accept'),
  refundAtGateway: (world: World, life: Life) => refundAtGateway(world, life, {}),
  refundSomeAtGateway: (world: World, life: Life) =>
    refundAtGateway(world, life, { amountPaise: SOME_PAISE }),
  async chargeBack(world: World, life: Life) {
    const paymentId = await paymentOf(life);
    if (!paymentId) return;
    const path = `/payments/${paymentId}/disputes`;
    life.chargebackId = (await atGateway<{ id: string }>(world, path))?.id;
  },
  winChargeback: (world: World, life: Life) => settleChargeback(world, life, 'won'),
  loseChargeback: (world: World, life: Life) => settleChargeback(world, life, 'lost'),
} as const satisfies Record<string, (world: World, life: Life) => Promise<unknown>>;
export type Act = keyof typeof ACTS;

/** @throws Error when the service does not answer within a minute and a half */
export async function perform(world: World, life: Life, act: Act): Promise<void> {
  await ACTS[act](world, life);
}
