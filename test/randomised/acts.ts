import type { Answer, MerchantClient } from '../../dev/load/client.ts';
import { atGateway, refundsOf } from './gateway.ts';
import type { System } from './system.ts';

const DAY_SECONDS = 24 * 3600;
/** Less than the amount of any order: the minimum is INR 5. */
const SOME_PAISE = 150;

/** One order, with the data that its merchant and its buyer have. */
export interface TestOrder {
  api: MerchantClient;
  amountPaise: number;
  /** Set once the merchant has a response. */
  orderNumber: string | undefined;
  /** The QR code that the buyer saw last. */
  qrCodeId: string | undefined;
  /** The latest chargeback at the gateway. */
  chargebackId: string | undefined;
}

export const newTestOrder = (api: MerchantClient, amountPaise: number): TestOrder => ({
  api,
  amountPaise,
  orderNumber: undefined,
  qrCodeId: undefined,
  chargebackId: undefined,
});

/** A request of the merchant or of the buyer. */
function post(
  { api, orderNumber }: TestOrder,
  action: string,
  body?: object,
  { isHelper = false } = {},
): Promise<Answer> {
  const path = `${isHelper ? '/test-helpers' : ''}/orders/${orderNumber}/${action}`;
  return api.untilAnswered({ method: 'POST', path, ...(body && { body }) });
}

const help = (testOrder: TestOrder, helper: string, body?: object) =>
  post(testOrder, helper, body, { isHelper: true });

/** The buyer's app reads the QR code's id from its content, as UPI apps do. */
async function openSession(_system: System, testOrder: TestOrder): Promise<void> {
  const { data } = await post(testOrder, 'payment-sessions');
  const intent = data?.upi_intent;
  const reference = intent && new URL(intent).searchParams.get('tr');
  if (reference) testOrder.qrCodeId = `qr_${reference.slice('RZP'.length, -'qrv2'.length)}`;
}

async function payQrCode(system: System, { qrCodeId }: TestOrder, attempt: object): Promise<void> {
  if (qrCodeId) await atGateway(system, `/qr_codes/${qrCodeId}/pay`, attempt);
}

async function paymentOf({ api, orderNumber }: TestOrder): Promise<string | undefined> {
  const { data } = await api.untilAnswered({ method: 'GET', path: `/orders/${orderNumber}` });
  return data?.payment?.gateway_payment_id;
}

async function refundAtGateway(
  system: System,
  testOrder: TestOrder,
  amount: object,
): Promise<void> {
  const paymentId = await paymentOf(testOrder);
  if (paymentId) await atGateway(system, `/payments/${paymentId}/refund`, amount);
}

async function setChargebackStatus(system: System, { chargebackId }: TestOrder, status: string) {
  if (chargebackId) await atGateway(system, `/disputes/${chargebackId}/status`, { status });
}

/** All actions on one order. An action that no longer fits is refused and skipped. */
const ACTS = {
  async create(_system: System, testOrder: TestOrder) {
    const order = {
      amount: testOrder.amountPaise / 100,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Blue kurta, size M',
    };
    const request = { method: 'POST', path: '/orders', body: order } as const;
    const { status, message, data } = await testOrder.api.untilAnswered(request);
    // The merchant is suspended.
    if (status === 403) return;
    if (status !== 201) throw new Error(`An order was not created: ${status} ${message}`);
    testOrder.orderNumber = data?.order_number;
  },
  pay: (_system: System, testOrder: TestOrder) => help(testOrder, 'pay'),
  openSession,
  async payAtGateway(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    await payQrCode(system, testOrder, {});
  },
  async payTwice(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    await Promise.all([{}, { late: true }].map((attempt) => payQrCode(system, testOrder, attempt)));
  },
  payLate: (system: System, testOrder: TestOrder) => payQrCode(system, testOrder, { late: true }),
  async payWrongAmount(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    await payQrCode(system, testOrder, { amountPaise: testOrder.amountPaise - SOME_PAISE });
  },
  async failPayment(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    if (testOrder.qrCodeId) await atGateway(system, `/qr_codes/${testOrder.qrCodeId}/fail`);
  },
  async payWhileCancelling(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    await Promise.all([payQrCode(system, testOrder, {}), post(testOrder, 'cancel')]);
  },
  cancel: (_system: System, testOrder: TestOrder) =>
    post(testOrder, 'cancel', { reason: 'Out of stock' }),
  expire: (_system: System, testOrder: TestOrder) =>
    help(testOrder, 'advance', { seconds: DAY_SECONDS }),
  deliver: (_system: System, testOrder: TestOrder) =>
    post(testOrder, 'deliver', { trackingId: 'TRACK-1' }),
  refund: (_system: System, testOrder: TestOrder) =>
    post(testOrder, 'refund', { reason: 'Cannot be sent' }),
  dispute: (_system: System, testOrder: TestOrder) =>
    help(testOrder, 'dispute', { reason: 'The parcel was empty when it came' }),
  submitEvidence: (_system: System, testOrder: TestOrder) =>
    post(testOrder, 'dispute/evidence', { text: 'The courier has a signature' }),
  resolve: (_system: System, testOrder: TestOrder) =>
    post(testOrder, 'dispute/resolve', { resolution: 'A new parcel was sent' }),
  accept: (_system: System, testOrder: TestOrder) => post(testOrder, 'dispute/accept'),
  refundAtGateway: (system: System, testOrder: TestOrder) => refundAtGateway(system, testOrder, {}),
  refundSomeAtGateway: (system: System, testOrder: TestOrder) =>
    refundAtGateway(system, testOrder, { amountPaise: SOME_PAISE }),
  /** The gateway refunds the payment in its dashboard before the service has taken it. */
  async payAndRefundAtGateway(system: System, testOrder: TestOrder) {
    await openSession(system, testOrder);
    if (!testOrder.qrCodeId) return;
    const paid = await atGateway<{ id: string }>(system, `/qr_codes/${testOrder.qrCodeId}/pay`);
    if (paid) await atGateway(system, `/payments/${paid.id}/refund`);
  },
  /** The bank returns the refund that the service has made, after the gateway has processed it. */
  async failRefund(system: System, testOrder: TestOrder) {
    const paymentId = await paymentOf(testOrder);
    const refunds = paymentId ? await refundsOf(system, paymentId) : [];
    const refund = refunds.find(
      ({ status, notes }) => status === 'processed' && notes.idempotency_key !== undefined,
    );
    if (refund) await atGateway(system, `/refunds/${refund.id}/end`, { status: 'failed' });
  },
  async chargeBack(system: System, testOrder: TestOrder) {
    const paymentId = await paymentOf(testOrder);
    if (!paymentId) return;
    const path = `/payments/${paymentId}/disputes`;
    testOrder.chargebackId = (await atGateway<{ id: string }>(system, path))?.id;
  },
  winChargeback: (system: System, testOrder: TestOrder) =>
    setChargebackStatus(system, testOrder, 'won'),
  loseChargeback: (system: System, testOrder: TestOrder) =>
    setChargebackStatus(system, testOrder, 'lost'),
} as const satisfies Record<string, (system: System, testOrder: TestOrder) => Promise<unknown>>;
export type Act = keyof typeof ACTS;

/** @throws Error when the service does not answer within a minute and a half */
export async function perform(system: System, testOrder: TestOrder, act: Act): Promise<void> {
  await ACTS[act](system, testOrder);
}
