import type { CheckoutState } from '../../src/checkout/state.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { writeCallback } from '../../src/payments/captures/capture-queries.ts';
import { capturedWhole, SANDBOX, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { post } from './buyer.ts';

/** An order whose page a test opens, its merchant, and the service. */
export interface Checkout {
  service: TestService;
  merchant: Merchant;
  order: Order;
}

const DAY_SECONDS = 24 * 3600;

export async function openSession({ order }: Checkout): Promise<void> {
  const { status } = await post(`${order.payment_url}/sessions`);
  if (status !== 200) throw new Error(`No session was opened: ${status}`);
}

export const advance = ({ merchant, order }: Checkout, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });

export const untilStatus = ({ merchant, order }: Checkout, status: Order['status']) =>
  until(async () => {
    const { body } = await merchant.sandbox.get(`/orders/${order.order_number}`);
    return body.data.status === status;
  });

const command = ({ merchant, order }: Checkout, name: string, body?: object) =>
  merchant.sandbox.command(order, name, body);

const raise = ({ merchant, order }: Checkout, reason: string) =>
  merchant.sandbox.help(order, 'dispute', { reason });

/** Makes an order that has ended one that an operator has settled. */
const settle = ({ service, order }: Checkout, outcome: 'released' | 'refunded') => service.sql`
  WITH settlement AS (
    INSERT INTO outside_settlements (order_number, outcome, amount_paise, reference, reason, actor)
    VALUES (${order.order_number}, ${outcome}, 49950, ${`UTR-${order.order_number}`},
      'The account was closed', 'operator:ravi@ops.example')
    RETURNING order_number
  )
  UPDATE order_steps SET command_id = 'settle:' || settlement.order_number
  FROM settlement WHERE order_steps.order_number = settlement.order_number
    AND kind IN ('ORDER_COMPLETED', 'REFUND_PROCESSED')`;

const untilSurplusRefunded = ({ service, order }: Checkout) =>
  until(async () => {
    const rows = await service.sql`SELECT FROM surplus_refunds
      WHERE order_number = ${order.order_number} AND processed_at IS NOT NULL`;
    return rows.length > 0;
  });

/** Sets the order's pending operation without the gateway operation itself. */
async function setPendingOperation(
  { service, order }: Checkout,
  pendingOperation: object,
): Promise<void> {
  await service.sql`UPDATE orders SET pending_operation = ${service.sql.json({ ...pendingOperation })}
    WHERE order_number = ${order.order_number}`;
}

/** Records a capture that does not fit the order, and nothing else. */
const writeUnfit = ({ service, order }: Checkout) => service.sql`
  INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, currency)
  VALUES ('razorpay', ${`pay_of_${order.order_number}`}, 'sandbox', ${order.order_number}, 49950, 'USD')`;

/** The buyer's latest payment at the gateway simulator. */
export async function gatewaySessionOf({ service, order }: Checkout): Promise<string> {
  const [row] = await service.sql<{ gatewaySessionId: string }[]>`
    SELECT gateway_session_id FROM payment_sessions
    WHERE order_number = ${order.order_number} ORDER BY session_id DESC LIMIT 1`;
  return row?.gatewaySessionId ?? '';
}

/** Brings an order's page into each of its states. */
export const WAYS: Record<CheckoutState, (checkout: Checkout) => Promise<unknown>> = {
  payable: async () => undefined,
  waiting: openSession,
  async session_expired(checkout) {
    await openSession(checkout);
    await advance(checkout, 15 * 60);
  },
  async confirming(checkout) {
    await openSession(checkout);
    await checkout.service.sql`UPDATE payment_sessions SET state = 'PAID'
      WHERE order_number = ${checkout.order.order_number}`;
  },
  looked_at: (checkout) => writeUnfit(checkout),
  closing: (checkout) => setPendingOperation(checkout, { kind: 'closing', cause: 'cancel' }),
  link_expired: ({ service, order }) => service.sql`
    UPDATE orders SET payment_link_expires_at = service_now()
    WHERE order_number = ${order.order_number}`,
  merchant_unavailable: ({ service, merchant }) => service.sql`
    UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${merchant.merchantId}`,
  paid: ({ merchant, order }) => merchant.sandbox.help(order, 'pay'),
  async delivered(checkout) {
    await WAYS.paid(checkout);
    await command(checkout, 'deliver', { trackingId: 'SPEEDPOST-4711' });
  },
  async releasing(checkout) {
    await WAYS.delivered(checkout);
    await setPendingOperation(checkout, { kind: 'releasing' });
  },
  async disputed(checkout) {
    await WAYS.delivered(checkout);
    await raise(checkout, 'The kurta has a hole.\nI want my money back.');
  },
  async refunding(checkout) {
    await WAYS.disputed(checkout);
    await setPendingOperation(checkout, { kind: 'refunding', reason: 'dispute_accepted' });
  },
  async completed(checkout) {
    await WAYS.delivered(checkout);
    await advance(checkout, DAY_SECONDS);
    await untilStatus(checkout, 'COMPLETED');
  },
  async refunded(checkout) {
    await WAYS.disputed(checkout);
    await command(checkout, 'dispute/accept');
    await untilStatus(checkout, 'REFUNDED');
  },
  cancelled: ({ merchant, order }) => merchant.sandbox.cancel(order),
};

/** Variants of the page within a state. */
const VARIANTS = {
  async failed_attempt(checkout: Checkout) {
    await openSession(checkout);
    const path = `/qr_codes/${await gatewaySessionOf(checkout)}/fail`;
    await simulator(checkout.service, 'POST', path, { vpa: 'failure@razorpay' });
    await until(async () => {
      const { service, order } = checkout;
      const rows = await service.sql`SELECT FROM order_steps
        WHERE order_number = ${order.order_number} AND kind = 'PAYMENT_FAILED'`;
      return rows.length > 0;
    });
  },
  /** Only the callback has told of it, and the session has expired since. */
  async reported(checkout: Checkout) {
    await WAYS.session_expired(checkout);
    const { service, order } = checkout;
    const { order_number: orderNumber } = order;
    const payment = capturedWhole(`pay_of_${orderNumber}`, { orderNumber, amountPaise: 49_950 });
    await writeCallback(service.sql, {
      ...SANDBOX,
      eventId: `evt_of_${orderNumber}`,
      event: 'payment.captured',
      body: '{}',
      reports: { type: 'capture', ...payment, gatewaySessionId: null },
    });
  },
  async looked_at_and_cancelled(checkout: Checkout) {
    await WAYS.looked_at(checkout);
    await WAYS.cancelled(checkout);
  },
  async under_review(checkout: Checkout) {
    await WAYS.disputed(checkout);
    const text = 'It left our shop without a hole: see the photographs.';
    await command(checkout, 'dispute/evidence', { text });
  },
  async disputed_before_delivery(checkout: Checkout) {
    await WAYS.paid(checkout);
    await raise(checkout, 'It never arrived.');
  },
  async resolved_before_delivery(checkout: Checkout) {
    await VARIANTS.disputed_before_delivery(checkout);
    await command(checkout, 'dispute/resolve', { resolution: 'A neighbour has your parcel.' });
  },
  async decided_for_merchant(checkout: Checkout) {
    await VARIANTS.disputed_before_delivery(checkout);
    await command(checkout, 'dispute/evidence', { text: 'It was signed for.' });
    await checkout.merchant.sandbox.help(checkout.order, 'decide', { for: 'merchant' });
  },
  async decided_for_buyer(checkout: Checkout) {
    await VARIANTS.under_review(checkout);
    await checkout.merchant.sandbox.help(checkout.order, 'decide', { for: 'buyer' });
    await untilStatus(checkout, 'REFUNDED');
  },
  async not_resolved_in_time(checkout: Checkout) {
    await WAYS.disputed(checkout);
    await advance(checkout, 3 * DAY_SECONDS);
    await untilStatus(checkout, 'REFUNDED');
  },
  async disputed_twice(checkout: Checkout) {
    await VARIANTS.resolved_before_delivery(checkout);
    await raise(checkout, 'The neighbour has no parcel.');
  },
  async disputed_by_operator(checkout: Checkout) {
    await WAYS.disputed(checkout);
    await checkout.service.sql`UPDATE disputes SET raised_by = 'operator:ravi@ops.example'
      WHERE order_number = ${checkout.order.order_number}`;
  },
  async refunded_by_merchant(checkout: Checkout) {
    await WAYS.paid(checkout);
    await command(checkout, 'refund', { reason: 'It is sold out' });
    await untilStatus(checkout, 'REFUNDED');
  },
  /** The buyer's bank has returned the refund. */
  async refund_returned(checkout: Checkout) {
    await VARIANTS.refunded_by_merchant(checkout);
    await checkout.service.sql`UPDATE orders SET refund_processed_at = NULL
      WHERE order_number = ${checkout.order.order_number}`;
  },
  async settled_as_released(checkout: Checkout) {
    await WAYS.completed(checkout);
    await settle(checkout, 'released');
  },
  async settled_as_refunded(checkout: Checkout) {
    await WAYS.refunded(checkout);
    await settle(checkout, 'refunded');
    await checkout.service.sql`UPDATE orders SET refund_reason = 'settled_by_operator'
      WHERE order_number = ${checkout.order.order_number}`;
    await checkout.service.sql`UPDATE disputes SET ending = 'settled_by_operator'
      WHERE order_number = ${checkout.order.order_number}`;
  },
  async disputed_five_times(checkout: Checkout) {
    await VARIANTS.resolved_before_delivery(checkout);
    await checkout.service.sql`
      INSERT INTO disputes
      SELECT (jsonb_populate_record(d, jsonb_build_object('number', n))).*
      FROM disputes d CROSS JOIN generate_series(2, 5) n
      WHERE d.order_number = ${checkout.order.order_number}`;
    await checkout.service.sql`UPDATE orders SET dispute_count = 5
      WHERE order_number = ${checkout.order.order_number}`;
  },
  async paid_twice(checkout: Checkout) {
    await WAYS.paid(checkout);
    await checkout.merchant.sandbox.help(checkout.order, 'second-payment');
    await untilSurplusRefunded(checkout);
  },
  async wrong_amount(checkout: Checkout) {
    await VARIANTS.paid_twice(checkout);
    await checkout.service
      .sql`UPDATE surplus_refunds SET reason = 'wrong_amount', processed_at = NULL
      WHERE order_number = ${checkout.order.order_number}`;
  },
  async link_expired_and_cancelled(checkout: Checkout) {
    await advance(checkout, DAY_SECONDS);
    await untilStatus(checkout, 'CANCELLED');
  },
  /** Paid at the moment in which the order was cancelled. */
  async late_payment(checkout: Checkout) {
    await openSession(checkout);
    const gatewaySession = await gatewaySessionOf(checkout);
    await WAYS.cancelled(checkout);
    const path = `/qr_codes/${gatewaySession}/pay`;
    await simulator(checkout.service, 'POST', path, { vpa: 'success@razorpay', late: true });
    await untilSurplusRefunded(checkout);
  },
} satisfies Record<string, (checkout: Checkout) => Promise<unknown>>;

const ALL_WAYS = { ...WAYS, ...VARIANTS };
export type PageState = keyof typeof ALL_WAYS;
export const PAGE_STATES = Object.keys(ALL_WAYS) as PageState[];

export async function checkoutIn(
  service: TestService,
  merchant: Merchant,
  state: PageState = 'payable',
  overrides: Record<string, unknown> = {},
): Promise<Checkout> {
  const checkout = { service, merchant, order: await merchant.sandbox.create(overrides) };
  await ALL_WAYS[state](checkout);
  return checkout;
}
