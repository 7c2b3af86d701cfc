import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real' });

const key = () => ({ 'Idempotency-Key': randomUUID() });

async function help(
  { sandbox }: Merchant,
  order: Order,
  helper: string,
  body: object = {},
  headers: Record<string, string> = key(),
) {
  const path = `/test-helpers/orders/${order.order_number}/${helper}`;
  const answer = await sandbox.post(path, body, headers);
  expect([helper, answer.status, answer.body.message]).toEqual([helper, 200, expect.any(String)]);
  return answer;
}

async function refusalOf({ sandbox }: Merchant, order: Order, helper: string, body: object = {}) {
  const { status, body: answered } = await sandbox.help(order, helper, body);
  return [status, answered.message];
}

const kindsOf = async ({ sandbox }: Merchant, order: Order) =>
  (await sandbox.timeline(order)).entries.map(({ kind }) => kind);

/** The events that the merchant was sent of an order, once as many have come. */
async function eventsOf({ receiver }: Merchant, order: Order, count: number) {
  const isOfOrder = ({ body }: { body: { data: Record<string, unknown> } }) =>
    body.data['order_number'] === order.order_number;
  const received = await receiver.until(count, isOfOrder);
  return received.map(({ event }) => event).sort();
}

const paidOrder = async (merchant: Merchant) => {
  const order = await merchant.sandbox.create();
  await help(merchant, order, 'pay');
  return order;
};

const countCaptures = async ({ sql }: TestService, order: Order) => {
  const rows = await sql`SELECT FROM payments WHERE order_number = ${order.order_number}`;
  return rows.length;
};

describe('late-payment', () => {
  test('pays a cancelled order, which is refunded and stays CANCELLED, once for each key', async ({
    service,
    merchant,
  }) => {
    const { sandbox } = merchant;
    const order = await sandbox.create();
    await sandbox.openSession(order);
    expect(await refusalOf(merchant, order, 'late-payment')).toEqual([
      400,
      'Cannot pay late; order must be in CANCELLED status',
    ]);
    expect((await sandbox.cancel(order)).status).toBe(200);
    const once = key();
    await help(merchant, order, 'late-payment', {}, once);
    await until(async () => (await sandbox.read(order)).refund?.processed_at);
    const again = await help(merchant, order, 'late-payment', {}, once);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(again.body.data).toMatchObject({
      status: 'CANCELLED',
      refund: { amount: 499.5, reason: 'late_payment' },
    });
    expect(await countCaptures(service, order)).toBe(1);
    expect(await eventsOf(merchant, order, 2)).toEqual(['ORDER_CANCELLED', 'ORDER_CREATED']);
  });

  test('needs a payment session', async ({ merchant }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.command(order, 'cancel');
    expect(await refusalOf(merchant, order, 'late-payment')).toEqual([
      400,
      'Cannot pay; the order has never had a payment session',
    ]);
  });
});

test('second-payment is refunded, and the order keeps its status', async ({ merchant }) => {
  const unpaid = await merchant.sandbox.create();
  expect(await refusalOf(merchant, unpaid, 'second-payment')).toEqual([
    400,
    'Cannot pay a second time; order must have been paid',
  ]);
  const order = await paidOrder(merchant);
  await help(merchant, order, 'second-payment');
  await until(async () => (await kindsOf(merchant, order)).includes('SURPLUS_REFUNDED'));
  expect(await merchant.sandbox.read(order)).toMatchObject({ status: 'PAID', refund: null });
  await merchant.sandbox.command(order, 'deliver');
  expect(await eventsOf(merchant, order, 3)).toEqual([
    'DELIVERY_CONFIRMED',
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
  ]);
});

describe('chargeback', () => {
  test('stops the money while it is open, and is won', async ({ merchant }) => {
    const { sandbox } = merchant;
    const unpaid = await sandbox.create();
    expect(await refusalOf(merchant, unpaid, 'chargeback', { outcome: 'open' })).toEqual([
      400,
      'Cannot charge back; order must have been paid',
    ]);
    const order = await paidOrder(merchant);
    await help(merchant, order, 'chargeback', { outcome: 'open' });
    const refused = await sandbox.command(order, 'refund', { reason: 'Sold out' });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringMatching(/; a chargeback is open$/),
    ]);
    await help(merchant, order, 'chargeback', { outcome: 'won' });
    const kinds = await kindsOf(merchant, order);
    expect(kinds.filter((kind) => kind.startsWith('CHARGEBACK'))).toEqual([
      'CHARGEBACK_OPENED',
      'CHARGEBACK_WON',
    ]);
    expect((await sandbox.command(order, 'refund', { reason: 'Sold out' })).status).toBe(200);
    await sandbox.untilStatus(order, 'REFUNDED');
  });

  test('takes the payment when it is lost', async ({ merchant }) => {
    const order = await paidOrder(merchant);
    const { body } = await help(merchant, order, 'chargeback', { outcome: 'lost' });
    expect(body.data.payment?.reversed_amount).toBe(499.5);
    const { status } = await merchant.sandbox.command(order, 'deliver');
    expect(status).toBe(400);
  });
});

test('fail-refund: the refund is made again, the order stays REFUNDED, and no second event is sent', async ({
  merchant,
}) => {
  const { sandbox } = merchant;
  const order = await paidOrder(merchant);
  expect(await refusalOf(merchant, order, 'fail-refund')).toEqual([
    400,
    'Cannot fail the refund; order must be in REFUNDED status, with its refund processed',
  ]);
  await sandbox.command(order, 'refund', { reason: 'Sold out' });
  await sandbox.untilStatus(order, 'REFUNDED');
  await help(merchant, order, 'fail-refund');
  await until(async () => (await kindsOf(merchant, order)).includes('REFUNDED_AGAIN'));
  expect(await sandbox.read(order)).toMatchObject({
    status: 'REFUNDED',
    refund: { processed_at: expect.any(String) },
  });
  expect(await kindsOf(merchant, order)).toContain('REFUND_FAILED');
  expect(await eventsOf(merchant, order, 3)).toEqual([
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'REFUND_PROCESSED',
  ]);
});
