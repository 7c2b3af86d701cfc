import { hostname } from 'node:os';
import { describe, expect } from 'vitest';
import {
  clearAlert,
  clearResolvedAlerts,
  listAlerts,
  raiseAlert,
} from '../../src/alerts/alerts.ts';
import type { AlertKind } from '../../src/alerts/kinds.ts';
import { databaseTime } from '../../src/db/client.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import type { RefundOrChargeback } from '../../src/payments/gateway/gateway-objects.ts';
import { recordRefundsOf, recordReversal } from '../../src/payments/reversals/reversals.ts';
import { clearClockSkew } from '../../src/webhooks/sending/clock.ts';
import { capturedWhole, SANDBOX } from '../support/gateway.ts';
import { anAccountId, giveAccount } from '../support/linked-accounts.ts';
import type { DirectOrder, Orders } from '../support/orders.ts';
import { writeOrder, writePayment } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

/** An alert about something, and what remedies its cause. */
interface Case {
  subject: string;
  fields?: Record<string, string>;
  resolve: () => Promise<unknown>;
}
type Prepare = (service: TestService, orders: Orders) => Promise<Case>;

async function anOrderToCancel(_service: TestService, orders: Orders): Promise<Case> {
  const order = await orders.in('ACCEPTED');
  return { subject: order.orderNumber, resolve: () => order.update('cancel') };
}

type Reversal = Pick<RefundOrChargeback, 'kind' | 'state'>;

/** Records a refund or chargeback of an order's payment that this service has not made. */
async function reverse({ deps }: TestService, order: DirectOrder, reversal: Reversal) {
  const gatewayPaymentId = await order.paymentId();
  const reversalId = `${reversal.kind}_${order.orderNumber}`;
  const found = { reversalId, gatewayPaymentId, amountPaise: 100, idempotencyKey: null };
  await recordReversal(deps, SANDBOX, { ...found, ...reversal }, 'gateway');
}

/** A reversal that ends without taking money. */
const ending =
  ({ kind, state }: Reversal, ends: Reversal['state']): Prepare =>
  async (service, orders) => {
    const order = await orders.in('PAID');
    await reverse(service, order, { kind, state });
    const resolve = () => reverse(service, order, { kind, state: ends });
    return { subject: order.orderNumber, resolve };
  };
const aFailingRefund = ending({ kind: 'refund', state: 'pending' }, 'failed');
const aWonChargeback = ending({ kind: 'chargeback', state: 'open' }, 'won');

/** An order that was partly refunded at the gateway itself. */
const anOrderToRefund: Prepare = async ({ deps }, orders) => {
  const order = await orders.in('DELIVERED');
  await order.refundInDashboard(10_000);
  await recordRefundsOf(deps, SANDBOX, await order.paymentId());
  const resolve = () => order.update('refund').then(() => order.untilStatus('REFUNDED'));
  return { subject: order.orderNumber, resolve };
};

/** The refund of an order that has failed, which is not booked yet. */
const aRefundToMakeAgain: Prepare = async ({ sql }, orders) => {
  const { orderNumber, paymentId } = await orders.in('REFUNDED');
  const resolve = async () => sql`
    UPDATE orders SET refund_processed_at = service_now() WHERE order_number = ${orderNumber}`;
  return { subject: `razorpay:${await paymentId()}`, resolve };
};

const anUnconfirmedCapture: Prepare = async (service, orders) => {
  const order = await orders.write();
  const payment = capturedWhole('pay_confirmed_late', order);
  const resolve = () => writeCapture(service.sql, { at: SANDBOX, payment });
  return { subject: 'razorpay:pay_confirmed_late', resolve };
};

const aSurplus: Prepare = async (service, orders) => {
  const { sql } = service;
  const order = await orders.write();
  const paymentId = await writePayment(service, order);
  await sql`
    INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason)
    VALUES ('razorpay', ${paymentId}, ${order.orderNumber}, ${order.amountPaise}, 'order_paid')`;
  const resolve = async () => sql`
    UPDATE surplus_refunds SET processed_at = service_now() WHERE gateway_payment_id = ${paymentId}`;
  return { subject: `razorpay:${paymentId}`, resolve };
};

/** A surplus capture whose refund has failed, which is not booked yet. */
const aSurplusToRefundAgain: Prepare = async (service, orders) => {
  const surplus = await aSurplus(service, orders);
  await surplus.resolve();
  return surplus;
};

/** Something that a restored database lacks at first. */
async function aLostOrder(_service: TestService, orders: Orders): Promise<Case> {
  const orderNumber = 'ORD01LOSTANDFOUND';
  return { subject: orderNumber, resolve: () => orders.write({ orderNumber }) };
}

async function aLostPayment(service: TestService, orders: Orders): Promise<Case> {
  const order = await orders.write();
  const { sql } = service;
  const resolve = async () => {
    const paymentId = await writePayment(service, order);
    await sql`
      UPDATE payments SET gateway_payment_id = 'pay_lost' WHERE gateway_payment_id = ${paymentId}`;
  };
  return { subject: 'razorpay:pay_lost', resolve };
}

async function aLostDelivery(service: TestService): Promise<Case> {
  const { merchantId } = await service.newMerchant();
  const { orderNumber } = await writeOrder(service, { merchantId });
  const resolve = async () => service.sql`
    UPDATE webhook_deliveries SET delivery_id = 'dlv_lost'
    WHERE event_id IN (SELECT event_id FROM order_events WHERE order_number = ${orderNumber})`;
  return { subject: 'dlv_lost', resolve };
}

/** A gateway that opens a session again. */
async function aGateway(_service: TestService, orders: Orders): Promise<Case> {
  const resolve = () => orders.beingPaid();
  return { subject: 'razorpay:sandbox', resolve };
}

async function aMerchantWithoutAccount(service: TestService): Promise<Case> {
  const merchant = await service.newMerchant({ webhooks: false });
  const { merchantId } = merchant;
  const { orderNumber } = await writeOrder(service, { merchantId, environment: 'production' });
  return {
    subject: merchantId,
    fields: { merchantId, orderNumber },
    resolve: () => giveAccount(service, merchant, anAccountId()),
  };
}

async function anAccountThatIsReplaced(service: TestService): Promise<Case> {
  const { sql } = service;
  const linkedAccountId = anAccountId();
  const merchant = await service.newMerchant({ webhooks: false, linkedAccountId });
  const { merchantId } = merchant;
  const resolve = async () => {
    await giveAccount(service, merchant, anAccountId());
    await sql`
      UPDATE linked_account_changes SET active_from = now() - interval '1 second'
      WHERE merchant_id = ${merchantId} AND linked_account_id <> ${linkedAccountId}`;
    await sql`
      UPDATE linked_account_changes SET active_from = now() - interval '1 day'
      WHERE merchant_id = ${merchantId} AND linked_account_id = ${linkedAccountId}`;
  };
  const fields = { merchantId, gateway: 'razorpay', linkedAccountId };
  return { subject: `razorpay:${linkedAccountId}`, fields, resolve };
}

/** Each kind whose alert the view `resolved_alerts` ends, and the reason that its operators read. */
const ENDING: [AlertKind, Prepare, string][] = [
  ['gateway_refused', anOrderToCancel, 'the order is CANCELLED'],
  ['gateway_refused', aSurplus, 'the payment was refunded'],
  ['release_blocked', anOrderToRefund, 'the order is REFUNDED'],
  ['release_blocked', aWonChargeback, 'no reversal at the gateway is left'],
  ['charged_back', aWonChargeback, 'no reversal at the gateway is left'],
  ['refunded_at_gateway', aFailingRefund, 'no reversal at the gateway is left'],
  ['step_not_recorded', anOrderToCancel, 'the order is CANCELLED'],
  ['order_without_row', aLostOrder, 'the database has the order again'],
  ['delivery_unknown', aLostDelivery, 'the database has the webhook again'],
  ['payment_without_order', aLostPayment, 'the order of the payment was found'],
  ['payment_unconfirmed', anUnconfirmedCapture, 'the gateway has confirmed the payment'],
  ['surplus_capture', aSurplus, 'the payment was refunded'],
  ['wrong_amount', aSurplus, 'the payment was refunded'],
  ['refund_failed', aSurplusToRefundAgain, 'the payment was refunded'],
  ['refund_failed', aRefundToMakeAgain, 'nothing of it is left to refund'],
  ['session_refused', aGateway, 'a payment session has opened'],
  ['no_gateway', aGateway, 'a payment session has opened'],
  [
    'no_linked_account',
    aMerchantWithoutAccount,
    'the merchant has a linked account that receives transfers',
  ],
  ['linked_account_unusable', anAccountThatIsReplaced, 'the merchant has another linked account'],
];

const stateOf = async ({ sql }: TestService, kind: AlertKind, subject: string) => {
  const [alert] = (await listAlerts(sql, { kind, subject, show: 'all' }, 1)).alerts;
  return alert && [alert.clearedBy, alert.clearedReason];
};

describe('an alert ends once its cause is resolved, and says why', () => {
  test.for(ENDING)('%s: $2', async ([kind, prepare, reason], { service, orders }) => {
    const { subject, fields = {}, resolve } = await prepare(service, orders);
    await raiseAlert(service.deps, { kind, subject, message: 'A test raises it', fields });
    await clearResolvedAlerts(service.sql);
    expect(await stateOf(service, kind, subject)).toEqual([null, null]);
    await resolve();
    await clearResolvedAlerts(service.sql);
    expect(await stateOf(service, kind, subject)).toEqual(['service', reason]);
  });

  test('clock_skew: once the clocks agree', async ({ service }) => {
    const subject = hostname();
    await raiseAlert(service.deps, { kind: 'clock_skew', subject, message: 'A test raises it' });
    await clearClockSkew(service);
    expect(await stateOf(service, 'clock_skew', subject)).toEqual(['service', 'the clocks agree']);
  });
});

test.for<[string, Prepare]>([
  ['an order has ended', anOrderToCancel],
  ['a payment was refunded', aSurplus],
])('what the gateway refuses after %s stays open', async ([, prepare], { service, orders }) => {
  const { subject, resolve } = await prepare(service, orders);
  await resolve();
  const kind = 'gateway_refused';
  await raiseAlert(service.deps, { kind, subject, message: 'A transfer or refund has failed' });
  await clearResolvedAlerts(service.sql);
  expect(await stateOf(service, kind, subject)).toEqual([null, null]);
});

test('an alert that is raised again after the look at its cause stays open', async ({
  service,
}) => {
  const { sql } = service;
  const [kind, subject] = ['gateway_differs', 'razorpay:pay_looked_at'] as const;
  const before = await databaseTime(sql);
  await raiseAlert(service.deps, { kind, subject, message: 'It differs' });
  await clearAlert(sql, kind, subject, 'both sides agree', { before });
  expect(await stateOf(service, kind, subject)).toEqual([null, null]);
  await clearAlert(sql, kind, subject, 'they agree', { before: await databaseTime(sql) });
  expect(await stateOf(service, kind, subject)).toEqual(['service', 'they agree']);
});

test('what only a person can judge stays open, also when its order has ended', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const { orderNumber: subject } = order;
  await reverse(service, order, { kind: 'chargeback', state: 'lost' });
  const kinds = [
    'break_glass_used',
    'charged_back',
    'callback_not_understood',
    'gateway_not_understood',
    'gateway_differs',
    'mail_failed',
    'unfit_capture',
  ] as const;
  for (const kind of kinds) {
    await raiseAlert(service.deps, { kind, subject, message: 'A test raises it' });
  }
  await clearResolvedAlerts(service.sql);
  const { alerts } = await listAlerts(service.sql, { subject }, 10);
  expect(alerts.map(({ kind }) => kind).toSorted()).toEqual([...kinds].toSorted());
});

test('refunds of two payments of an order at the gateway itself have one alert, which ends with both', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const subject = order.orderNumber;
  const kind = 'refunded_at_gateway';
  await order.refundInDashboard(100);
  await recordRefundsOf(service.deps, SANDBOX, await order.paymentId());
  const second = await writePayment(service, await order.row());
  const { amountPaise } = await order.row();
  const refund = { reversalId: `second_${subject}`, gatewayPaymentId: second, amountPaise };
  const whole = { ...refund, kind: 'refund', state: 'processed', idempotencyKey: null } as const;
  await recordReversal(service.deps, SANDBOX, whole, 'gateway');
  await clearResolvedAlerts(service.sql);
  expect(await stateOf(service, kind, subject)).toEqual([null, null]);
  await order.update('refund');
  await order.untilStatus('REFUNDED');
  await clearResolvedAlerts(service.sql);
  expect(await stateOf(service, kind, subject)).toEqual([
    'service',
    'all of the payment was refunded',
  ]);
});
