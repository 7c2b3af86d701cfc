import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import { controlSimulator, listAtGateway } from './simulator.ts';
import type { LoadOrder } from './order.ts';
import { marked, readOrder, surprise, untilFound } from './order.ts';

/** Less than the amount of any order: the minimum is INR 5. */
const SOME_PAISE = 150;

/** What the buyer and the buyer's bank do at the gateway, and what its dashboard does. */
export const GATEWAY_ACTS = {
  async payAtGateway(order) {
    await payQrCode(order);
    await untilStatus(order, 'PAID');
  },
  async payTwice(order) {
    await Promise.all([payQrCode(order), payQrCode(order, { late: true })]);
    await untilStatus(order, 'PAID');
  },
  /** The payment waits for its capture at the gateway. */
  async payAuthorized(order) {
    const path = `/switches/${order.qrCodeId}`;
    await controlSimulator(order.deps.simulator, 'PATCH', path, { paymentsStartAuthorized: true });
    await payQrCode(order);
    for (const id of await untilPayments(order)) await control(order, `/payments/${id}/capture`);
    await untilStatus(order, 'PAID');
  },
  payWrongAmount: (order) => payQrCode(order, { amountPaise: order.amountPaise - SOME_PAISE }),
  payLate: (order) => payQrCode(order, { late: true }),
  async failAtGateway(order) {
    if (order.qrCodeId) await control(order, `/qr_codes/${order.qrCodeId}/fail`);
  },
  /** The gateway's dashboard refunds the payment. */
  refundAll: (order) => controlPayment(order, 'refund'),
  refundSome: (order) => controlPayment(order, 'refund', { amountPaise: SOME_PAISE }),
  /** The bank returns a refund after the gateway has processed it. */
  async failProcessedRefund(order) {
    await untilStatus(order, 'REFUNDED');
    const paymentId = await paymentOf(order);
    if (paymentId === undefined) return;
    const refundId = await untilFound(order, 'refund that is processed', async () => {
      const path = `/v1/payments/${paymentId}/refunds`;
      const refunds = await listAtGateway<Ended>(order.deps.simulator, path);
      return refunds.find(({ status }) => status === 'processed')?.id;
    });
    if (refundId) await control(order, `/refunds/${refundId}/end`, { status: 'failed' });
  },
  async chargeBack(order) {
    await controlPayment(order, 'disputes');
    await untilInTimeline(order, 'CHARGEBACK_OPENED');
  },
  winChargeback: (order) => endChargebacks(order, 'won'),
  loseChargeback: (order) => endChargebacks(order, 'lost'),
  /** The gateway's dashboard refunds the payment as soon as it is captured. */
  async payAndRefund(order) {
    await payQrCode(order);
    for (const id of await untilPayments(order)) await control(order, `/payments/${id}/refund`);
  },
} as const satisfies Record<string, (order: LoadOrder) => Promise<void>>;

const control = ({ deps }: LoadOrder, path: string, body: object = {}) =>
  controlSimulator(deps.simulator, 'POST', path, body);

async function payQrCode(order: LoadOrder, body: object = {}): Promise<void> {
  const vpa = marked(order.deps, 'UPI address', 'asha@upi');
  if (order.qrCodeId) await control(order, `/qr_codes/${order.qrCodeId}/pay`, { vpa, ...body });
}

/** Does something to the order's payment, if it has one. */
async function controlPayment(order: LoadOrder, what: string, body: object = {}): Promise<void> {
  const paymentId = await paymentOf(order);
  if (paymentId !== undefined) await control(order, `/payments/${paymentId}/${what}`, body);
}

/** The ids of the payments of its QR code, once they are listed. */
async function untilPayments(order: LoadOrder): Promise<string[]> {
  if (order.qrCodeId === '') return [];
  const path = `/v1/payments/qr_codes/${order.qrCodeId}/payments`;
  const ids = await untilFound(order, 'payment at the gateway', async () => {
    const payments = await listAtGateway<{ id: string }>(order.deps.simulator, path);
    return payments.length > 0 ? payments.map(({ id }) => id) : undefined;
  });
  return ids ?? [];
}

async function untilStatus(order: LoadOrder, wanted: 'PAID' | 'REFUNDED'): Promise<void> {
  await untilFound(order, `status ${wanted}`, async () =>
    (await readOrder(order))?.status === wanted ? true : undefined,
  );
}

async function untilInTimeline(
  order: LoadOrder,
  wanted: Timeline['entries'][number]['kind'],
): Promise<void> {
  const { merchant, orderNumber } = order;
  const path = `/orders/${orderNumber}/timeline`;
  await untilFound(order, `${wanted} in its timeline`, async () => {
    const { data } = await merchant.client.untilAnswered<Timeline>({ method: 'GET', path });
    return data?.entries.some(({ kind }) => kind === wanted) === true ? true : undefined;
  });
}

async function paymentOf(order: LoadOrder): Promise<string | undefined> {
  const paymentId = (await readOrder(order))?.payment?.gateway_payment_id;
  if (paymentId === undefined) surprise(order, 'has no payment');
  return paymentId;
}

/** A refund or a chargeback, as the gateway shows it. */
interface Ended {
  readonly id: string;
  readonly payment_id: string;
  readonly status: string;
}

/** A chargeback without an answer may have been opened twice: at most one of them is lost. */
async function endChargebacks(order: LoadOrder, status: 'won' | 'lost'): Promise<void> {
  const paymentId = await paymentOf(order);
  const opened = await untilFound(order, 'chargeback at the gateway', async () => {
    const all = await listAtGateway<Ended>(order.deps.simulator, '/v1/disputes');
    const own = all.filter(({ payment_id: of }) => of === paymentId);
    return own.length > 0 ? own : undefined;
  });
  const [first, ...others] = opened ?? [];
  for (const { id } of others) await control(order, `/disputes/${id}/status`, { status: 'won' });
  if (first) await control(order, `/disputes/${first.id}/status`, { status });
  await untilInTimeline(order, status === 'won' ? 'CHARGEBACK_WON' : 'CHARGEBACK_LOST');
}
