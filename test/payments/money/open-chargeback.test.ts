import { expect } from 'vitest';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { openChargeback, setSwitches, simulator } from '../../support/gateway.ts';
import type { ordersOf } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const AMOUNT_PAISE = 49_950;
const DISPUTE_ANSWER_SECONDS = 72 * 3600;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

// Chargebacks that were lost before have taken the platform's balance.
test.beforeEach(({ service }) =>
  simulator(service, 'POST', '/balance', { amountPaise: 10 * AMOUNT_PAISE }),
);

test.afterEach(async ({ service }) => {
  await setSwitches(service, 'all', { refundsStartPending: false, transfersStay: 'processed' });
  const { ok, faults } = await verifyLedger(service.sql);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
});

test('while a chargeback is open, no person moves money of its payment', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const end = await openChargeback(service, await order.paymentId());
  const refunded = await merchant.sandbox.command(order, 'refund', { reason: 'Sold out' });
  expect([refunded.status, refunded.body.message]).toEqual([
    400,
    'Cannot refund; order must be in PAID or DELIVERED status; a chargeback is open',
  ]);
  await merchant.sandbox.help(order, 'dispute', { reason: 'The parcel was empty' });
  const accepted = await merchant.sandbox.command(order, 'dispute/accept');
  expect([accepted.status, accepted.body.message]).toEqual([
    400,
    'Cannot accept; order must be in DISPUTE status; a chargeback is open',
  ]);
  expect(await order.made('refunds')).toEqual([]);
  await end('won');
  expect((await merchant.sandbox.command(order, 'dispute/accept')).status).toBe(200);
  await order.untilStatus('REFUNDED');
});

test.for<['won' | 'lost', number, string]>([
  ['won', 1, `refund: merchant_held → refunds ${AMOUNT_PAISE}`],
  ['lost', 0, `reversal: merchant_held → refunds ${AMOUNT_PAISE}`],
])(
  'the refund of a dispute that expires waits until the chargeback is %s',
  async ([ending, refunds, line], { service, merchant, orders }) => {
    const order = await orders.in('DISPUTE_OPEN');
    const end = await openChargeback(service, await order.paymentId());
    await merchant.sandbox.help(order, 'advance', { seconds: DISPUTE_ANSWER_SECONDS });
    await order.untilStep('REFUND_STARTED');
    expect(await order.made('refunds')).toEqual([]);
    expect(await order.row()).toMatchObject({ pendingOperation: { kind: 'refunding' } });
    await end(ending);
    await order.untilStatus('REFUNDED');
    expect(await order.made('refunds')).toHaveLength(refunds);
    expect((await order.ledgerLines()).slice(1)).toEqual([line]);
  },
);

/** An order whose accepted dispute's refund the bank processes when a chargeback of its payment is opened. */
async function chargedBackWhilePending(service: TestService, orders: ReturnType<typeof ordersOf>) {
  await setSwitches(service, 'all', { refundsStartPending: true });
  const order = await orders.in('DISPUTE_OPEN');
  await order.update('accept');
  await until(async () => (await order.made('refunds')).length === 1);
  const [refund] = await order.made('refunds');
  const end = await openChargeback(service, await order.paymentId());
  const endRefund = (status: 'processed' | 'failed') =>
    simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status });
  return { order, endRefund, end };
}

test('a refund that was pending when the chargeback was opened is booked as soon as it is processed', async ({
  service,
  orders,
}) => {
  const { order, endRefund, end } = await chargedBackWhilePending(service, orders);
  await endRefund('processed');
  await order.untilStatus('REFUNDED');
  await end('won');
  expect((await order.ledgerLines()).slice(1)).toEqual([
    `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
  ]);
});

test('a transfer that is processed after a chargeback was lost meanwhile is booked like one that came before it', async ({
  service,
  orders,
}) => {
  await setSwitches(service, 'all', { transfersStay: 'pending' });
  const order = await orders.in('DELIVERED');
  await order.update('advance', { seconds: 24 * 3600 });
  await until(async () => (await order.made('transfers')).length === 1);
  const end = await openChargeback(service, await order.paymentId());
  await end('lost');
  const [transfer] = await order.made('transfers');
  await simulator(service, 'POST', `/transfers/${transfer!.id}/end`, { status: 'processed' });
  await order.untilStatus('COMPLETED');
  expect((await order.ledgerLines()).slice(1)).toEqual([
    `reversal: merchant_held → refunds ${AMOUNT_PAISE}`,
    `covered: platform_losses → merchant_held ${AMOUNT_PAISE}`,
    `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
    `recovered: merchant_available → platform_losses ${AMOUNT_PAISE}`,
  ]);
  expect(await order.openAlerts()).toEqual(['charged_back']);
  expect(await order.made('transfers')).toHaveLength(1);
});

test('a chargeback that is lost after a refund is paid by the platform', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const end = await openChargeback(service, await order.paymentId());
  await end('lost');
  expect((await order.ledgerLines()).slice(1)).toEqual([
    `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
    `loss: platform_losses → refunds ${AMOUNT_PAISE}`,
  ]);
  expect(await order.openAlerts()).toEqual(['charged_back']);
});

test('a refund that is processed after a chargeback was lost meanwhile is paid by the platform, until it fails', async ({
  service,
  orders,
}) => {
  const { order, endRefund, end } = await chargedBackWhilePending(service, orders);
  await end('lost');
  await endRefund('processed');
  await order.untilStatus('REFUNDED');
  const processed = [
    `reversal: merchant_held → refunds ${AMOUNT_PAISE}`,
    `covered: platform_losses → merchant_held ${AMOUNT_PAISE}`,
    `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
  ];
  expect((await order.ledgerLines()).slice(1)).toEqual(processed);

  await endRefund('failed');
  await until(async () => (await order.ledgerLines()).length > 5);
  await until(async () => (await order.row()).refundProcessedAt !== null);
  expect((await order.ledgerLines()).slice(1)).toEqual([
    ...processed,
    `refund_failed: refunds → merchant_held ${AMOUNT_PAISE}`,
    `recovered: merchant_held → platform_losses ${AMOUNT_PAISE}`,
  ]);
  expect(await order.made('refunds')).toHaveLength(1);
});
