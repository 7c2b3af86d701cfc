import type { CheckoutState } from '../../src/checkout/state.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { post } from './buyer.ts';

/** One order and all who have to do with it. */
export interface Stage {
  service: TestService;
  merchant: Merchant;
  order: Order;
}

const DAY_SECONDS = 24 * 3600;

/** The buyer presses the button. */
export async function openSession({ order }: Stage): Promise<void> {
  const { status } = await post(`${order.payment_url}/sessions`);
  if (status !== 200) throw new Error(`No session was opened: ${status}`);
}

/** Lets the order's deadlines come nearer. */
export const advance = ({ merchant, order }: Stage, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });

/** Waits until the merchant sees this status. */
export const untilStatus = ({ merchant, order }: Stage, status: Order['status']) =>
  until(async () => {
    const { body } = await merchant.sandbox.get(`/orders/${order.order_number}`);
    return body.data.status === status;
  });

/** What the order is busy with, without the gateway that would be busy with it. */
async function beBusy({ service, order }: Stage, busy: object): Promise<void> {
  await service.sql`UPDATE orders SET busy = ${service.sql.json({ ...busy })}
    WHERE order_number = ${order.order_number}`;
}

/** The buyer's latest attempt, as the gateway's simulator knows it. */
export async function gatewaySessionOf({ service, order }: Stage): Promise<string> {
  const [row] = await service.sql<{ gateway_session_id: string }[]>`
    SELECT gateway_session_id FROM payment_sessions
    WHERE order_number = ${order.order_number} ORDER BY session_id DESC LIMIT 1`;
  return row?.gateway_session_id ?? '';
}

/** How an order's page gets into each of its states. */
export const WAYS: Record<CheckoutState, (stage: Stage) => Promise<unknown>> = {
  payable: async () => undefined,
  waiting: openSession,
  async session_expired(stage) {
    await openSession(stage);
    await advance(stage, 15 * 60);
  },
  async confirming(stage) {
    await openSession(stage);
    await stage.service.sql`UPDATE payment_sessions SET state = 'PAID'
      WHERE order_number = ${stage.order.order_number}`;
  },
  closing: (stage) => beBusy(stage, { kind: 'closing', because: 'cancel' }),
  link_expired: ({ service, order }) => service.sql`
    UPDATE orders SET payment_link_expires_at = service_now()
    WHERE order_number = ${order.order_number}`,
  merchant_unavailable: ({ service, merchant }) => service.sql`
    UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${merchant.merchantId}`,
  paid: ({ merchant, order }) => merchant.sandbox.help(order, 'pay'),
  async delivered(stage) {
    await WAYS.paid(stage);
    const { merchant, order } = stage;
    const body = { trackingId: 'SPEEDPOST-4711' };
    await merchant.sandbox.post(`/orders/${order.order_number}/deliver`, body);
  },
  async releasing(stage) {
    await WAYS.delivered(stage);
    await beBusy(stage, { kind: 'releasing' });
  },
  async disputed(stage) {
    await WAYS.delivered(stage);
    const reason = 'The kurta has a hole.\nI want my money back.';
    await stage.merchant.sandbox.help(stage.order, 'dispute', { reason });
  },
  async refunding(stage) {
    await WAYS.disputed(stage);
    await beBusy(stage, { kind: 'refunding', reason: 'dispute_accepted' });
  },
  async completed(stage) {
    await WAYS.delivered(stage);
    await advance(stage, DAY_SECONDS);
    await untilStatus(stage, 'COMPLETED');
  },
  async refunded(stage) {
    await WAYS.disputed(stage);
    await stage.merchant.sandbox.post(`/orders/${stage.order.order_number}/dispute/accept`);
    await untilStatus(stage, 'REFUNDED');
  },
  cancelled: ({ merchant, order }) => merchant.sandbox.post(`/orders/${order.order_number}/cancel`),
};

/** What else a page can look like inside of a state. */
export const VARIANTS = {
  async failed_attempt(stage: Stage) {
    await openSession(stage);
    const path = `/qr_codes/${await gatewaySessionOf(stage)}/fail`;
    await simulator(stage.service, 'POST', path, { vpa: 'failure@razorpay' });
    await until(async () => {
      const { service, order } = stage;
      const rows = await service.sql`SELECT FROM order_steps
        WHERE order_number = ${order.order_number} AND kind = 'PAYMENT_FAILED'`;
      return rows.length > 0;
    });
  },
  async under_review(stage: Stage) {
    await WAYS.disputed(stage);
    const { merchant, order } = stage;
    const body = { text: 'It left our shop without a hole: see the photographs.' };
    await merchant.sandbox.post(`/orders/${order.order_number}/dispute/evidence`, body);
  },
  async link_expired_and_cancelled(stage: Stage) {
    await advance(stage, DAY_SECONDS);
    await untilStatus(stage, 'CANCELLED');
  },
  /** Paid in the moment in which the order was cancelled. */
  async late_payment(stage: Stage) {
    await openSession(stage);
    const gatewaySession = await gatewaySessionOf(stage);
    await WAYS.cancelled(stage);
    const path = `/qr_codes/${gatewaySession}/pay`;
    await simulator(stage.service, 'POST', path, { vpa: 'success@razorpay', late: true });
    await until(async () => {
      const { service, order } = stage;
      const rows = await service.sql`SELECT FROM surplus_refunds
        WHERE order_number = ${order.order_number} AND processed_at IS NOT NULL`;
      return rows.length > 0;
    });
  },
} satisfies Record<string, (stage: Stage) => Promise<unknown>>;

/** A fresh order, brought where a test wants it. */
export async function stageOf(
  service: TestService,
  merchant: Merchant,
  way: (stage: Stage) => Promise<unknown> = WAYS.payable,
  overrides: Record<string, unknown> = {},
): Promise<Stage> {
  const stage = { service, merchant, order: await merchant.sandbox.create(overrides) };
  // The workflow's first step must not write over what a way does to the row.
  await until(async () => {
    const { order_number } = stage.order;
    const rows = await service.sql`SELECT FROM order_steps WHERE order_number = ${order_number}`;
    return rows.length > 0;
  });
  await way(stage);
  return stage;
}
