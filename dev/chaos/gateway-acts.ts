import type { Timeline } from '../../src/orders/steps/timeline.ts';
import {
  askSimulator,
  chargebacksAtGateway,
  controlSimulator,
  refundsAtGateway,
  untilAnswered,
} from '../load/simulator.ts';
import type { RunningOrder } from './running-order.ts';
import { readOrder, untilFound } from './running-order.ts';

/** What the buyer and the buyer's bank do at the gateway, and what its dashboard does. */
export const GATEWAY_ACTS = {
  async payAtGateway(order) {
    await payQrCode(order);
    await untilStatus(order, 'PAID');
  },
  async payTwiceAtGateway(order) {
    await Promise.all([payQrCode(order), payQrCode(order, { late: true })]);
    await untilStatus(order, 'PAID');
  },
  /** The payment waits for its capture at the gateway. */
  async payAuthorizedAtGateway(order) {
    const path = `/switches/${order.qrCodeId}`;
    await controlSimulator(order.deps.simulator, 'PATCH', path, { paymentsStartAuthorized: true });
    await payQrCode(order);
    for (const id of await untilPayments(order)) await control(order, `/payments/${id}/capture`);
    await untilStatus(order, 'PAID');
  },
  payLateAtGateway: (order) => payQrCode(order, { late: true }),
  failAtGateway: (order) => control(order, `/qr_codes/${order.qrCodeId}/fail`),
  /** Its refund is pending until it ends. */
  async refundsPend(order) {
    await setRefundsPending(order, true);
  },
  async endPendingRefund(order) {
    await endRefund(order, await untilRefund(order, 'pending'), 'processed');
  },
  /** The refund that the service makes instead is processed at once. */
  async failPendingRefund(order) {
    const refundId = await untilRefund(order, 'pending');
    await setRefundsPending(order, false);
    await endRefund(order, refundId, 'failed');
  },
  /** The bank returns a refund after the gateway has processed it. */
  async failProcessedRefund(order) {
    await untilStatus(order, 'REFUNDED');
    await endRefund(order, await untilRefund(order, 'processed'), 'failed');
  },
  async chargeBack(order) {
    await control(order, `/payments/${await paymentOf(order)}/disputes`);
    await untilInTimeline(order, 'CHARGEBACK_OPENED');
  },
  async winChargeback(order) {
    await endChargebacks(order, 'won');
    await untilInTimeline(order, 'CHARGEBACK_WON');
  },
  async loseChargeback(order) {
    await endChargebacks(order, 'lost');
    await untilInTimeline(order, 'CHARGEBACK_LOST');
  },
  /** The gateway's dashboard refunds the payment as soon as it is captured. */
  async payAndRefundAtGateway(order) {
    await payQrCode(order);
    for (const id of await untilPayments(order)) await control(order, `/payments/${id}/refund`);
  },
} as const satisfies Record<string, (order: RunningOrder) => Promise<void>>;

const control = ({ deps }: RunningOrder, path: string, body: object = {}) =>
  controlSimulator(deps.simulator, 'POST', path, body);

const payQrCode = (order: RunningOrder, body: object = {}) =>
  control(order, `/qr_codes/${order.qrCodeId}/pay`, body);

/** The ids of the payments of its QR code, once they are listed. */
async function untilPayments(order: RunningOrder): Promise<string[]> {
  const path = `/v1/payments/qr_codes/${order.qrCodeId}/payments`;
  const ids = await untilFound(order, 'payment at the gateway', async () => {
    const { items } = await untilAnswered(() =>
      askSimulator<{ items: { id: string }[] }>(order.deps.simulator, 'GET', path),
    );
    return items.length > 0 ? items.map(({ id }) => id) : undefined;
  });
  return ids ?? [];
}

async function untilStatus(order: RunningOrder, wanted: 'PAID' | 'REFUNDED'): Promise<void> {
  await untilFound(order, `status ${wanted}`, async () =>
    (await readOrder(order)).status === wanted ? true : undefined,
  );
}

async function untilInTimeline(
  order: RunningOrder,
  wanted: Timeline['entries'][number]['kind'],
): Promise<void> {
  const { client, orderNumber } = order;
  const path = `/orders/${orderNumber}/timeline`;
  await untilFound(order, `${wanted} in its timeline`, async () => {
    const { data } = await client.untilAnswered<Timeline>({ method: 'GET', path });
    return data?.entries.some(({ kind }) => kind === wanted) ? true : undefined;
  });
}

async function paymentOf(order: RunningOrder): Promise<string> {
  const { payment } = await readOrder(order);
  if (!payment) throw new Error(`${order.orderNumber} has no payment`);
  return payment.gateway_payment_id;
}

async function setRefundsPending(order: RunningOrder, isPending: boolean): Promise<void> {
  const path = `/switches/${await paymentOf(order)}`;
  await controlSimulator(order.deps.simulator, 'PATCH', path, { refundsStartPending: isPending });
}

/** The id of the payment's refund that the service has made. */
async function untilRefund(
  order: RunningOrder,
  wanted: 'pending' | 'processed',
): Promise<string | undefined> {
  const paymentId = await paymentOf(order);
  const { simulator } = order.deps;
  return untilFound(order, `refund that is ${wanted}`, async () => {
    const refunds = await untilAnswered(() => refundsAtGateway(simulator, paymentId));
    return refunds.find(({ status }) => status === wanted)?.id;
  });
}

async function endRefund(
  order: RunningOrder,
  refundId: string | undefined,
  status: 'processed' | 'failed',
): Promise<void> {
  if (refundId !== undefined) await control(order, `/refunds/${refundId}/end`, { status });
}

/** A chargeback without an answer may have been opened twice: at most one of them is lost. */
async function endChargebacks(order: RunningOrder, status: 'won' | 'lost'): Promise<void> {
  const paymentId = await paymentOf(order);
  const opened = await untilFound(order, 'chargeback at the gateway', async () => {
    const all = await untilAnswered(() => chargebacksAtGateway(order.deps.simulator));
    const own = all.filter(({ payment_id: of }) => of === paymentId);
    return own.length > 0 ? own : undefined;
  });
  const [first, ...others] = opened ?? [];
  for (const { id } of others) await control(order, `/disputes/${id}/status`, { status: 'won' });
  if (first) await control(order, `/disputes/${first.id}/status`, { status });
}
