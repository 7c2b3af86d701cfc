import { describe, expect } from 'vitest';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import type { OrderStatus, Settlement } from '../../../src/domain/index.ts';
import { compareWithGateway } from '../../../src/payments/reconcile/compare-gateway.ts';
import { holdFunds } from '../../../src/payments/funds/funds.ts';
import { settleOutside } from '../../../src/payments/settlement/settle-outside.ts';
import { TEST_ACTOR } from '../../support/actor.ts';
import { openChargeback, setSwitches, sweep } from '../../support/gateway.ts';
import type { DirectOrder, Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;
const PART_PAISE = 10_000;
const REST_PAISE = AMOUNT_PAISE - PART_PAISE;
const CANNOT_SETTLE =
  'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } });

/** Sets the database's clock to Temporal's and lets it run again. */
test.beforeEach(({ service }) => service.skip(1));
test.afterEach(async ({ service }) => {
  const { ok, faults } = await verifyLedger(service.sql);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
});

const windowEnds = (service: TestService) => service.skip(24 * HOUR_MS + 1000);

/** An order whose payment, or some of it, was refunded in the dashboard of the gateway. */
async function refundedOrder(orders: Orders, status: OrderStatus, amountPaise?: number) {
  const order = await orders.in(status);
  await order.refundInDashboard(amountPaise);
  return order;
}

const settle = ({ deps }: TestService, { orderNumber }: DirectOrder, outcome?: Settlement) =>
  settleOutside(
    { ...deps, actor: TEST_ACTOR },
    { orderNumber, outcome, reason: 'The buyer was refunded in the dashboard' },
  );

describe('an operator ends an order whose money has left at the gateway', () => {
  const WAYS: [OrderStatus, Settlement, OrderStatus, string][] = [
    ['PAID', 'refunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DELIVERED', 'refunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DELIVERED', 'released', 'COMPLETED', 'ORDER_COMPLETED'],
    ['DISPUTE_OPEN', 'refunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_UNDER_REVIEW', 'released', 'COMPLETED', 'ORDER_COMPLETED'],
  ];
  test.for(WAYS)(
    '%s, as %s: %s with %s',
    async ([from, as, ends, event], { service, merchant, orders }) => {
      const order = await refundedOrder(orders, from);
      const { order: after, warning } = await settle(service, order, as);
      expect([after.status, warning]).toEqual([ends, null]);
      expect((await order.events()).at(-1)).toContain(event);
      expect((await order.ledgerLines()).slice(1)).toEqual([
        `reversal: merchant_held → refunds ${AMOUNT_PAISE}`,
      ]);
      expect(await order.openAlerts()).toEqual([]);
      const read = await merchant.sandbox.read(order);
      expect(read.refund).toEqual(
        ends === 'REFUNDED'
          ? { amount: 499.5, reason: 'settled_by_operator', processed_at: expect.any(String) }
          : null,
      );
      if (from.startsWith('DISPUTE')) expect(read.dispute?.ended_at).toEqual(expect.any(String));
      // The gateway moves no more money, now or later.
      await service.skip(26 * HOUR_MS);
      expect(await order.made('refunds')).toHaveLength(1);
      expect(await order.made('transfers')).toEqual([]);
      expect((await order.handle.result()).status).toBe(ends);
    },
  );

  test.for<[Settlement, string]>([
    ['released', `release: merchant_held → merchant_available ${REST_PAISE}`],
    ['refunded', `refund: merchant_held → refunds ${REST_PAISE}`],
  ])('of some of it: what is left counts as %s', async ([as, line], { service, orders }) => {
    const order = await refundedOrder(orders, 'DELIVERED', PART_PAISE);
    await windowEnds(service);
    await until(async () => (await order.openAlerts()).length === 2);
    await settle(service, order, as);
    expect((await order.ledgerLines()).slice(1)).toEqual([
      `reversal: merchant_held → refunds ${PART_PAISE}`,
      line,
    ]);
    expect(await order.openAlerts()).toEqual([]);
  });

  test('after a lost chargeback, what is on hold for the merchant comes back to the platform', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await holdFunds(service.deps, order.orderNumber);
    expect(await order.made('transfers')).toMatchObject([{ on_hold: true, status: 'processed' }]);
    const setStatus = await openChargeback(service, await order.paymentId());
    await setStatus('lost');
    await until(async () => (await order.row()).reversedPaise > 0);
    await settle(service, order, 'refunded');
    expect(await order.made('transfers')).toMatchObject([{ status: 'reversed' }]);
    const { faults } = await compareWithGateway(service.deps);
    expect(faults.filter(({ orderNumber }) => orderNumber === order.orderNumber)).toEqual([]);
  });

  test('a settlement whose process has died is found through the sweep', async ({
    service,
    orders,
  }) => {
    const order = await refundedOrder(orders, 'DELIVERED');
    await windowEnds(service);
    await until(async () => (await order.openAlerts()).length === 2);
    const { deps } = service;
    const update = () => Promise.reject(new Error('The process dies'));
    const dying = { ...deps, workflows: { ...deps.workflows, update }, actor: TEST_ACTOR };
    const settlement = {
      orderNumber: order.orderNumber,
      outcome: 'refunded',
      reason: 'R',
    } as const;
    await expect(settleOutside(dying, settlement)).rejects.toThrow('could not be notified');
    await sweep(service);
    await order.untilStatus('REFUNDED');
    expect((await order.kinds()).slice(-2)).toEqual(['DELIVERY_CONFIRMED', 'REFUND_PROCESSED']);
  });

  test('a refund that the gateway refuses may still end as released', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DISPUTE_OPEN');
    await setSwitches(service, await order.paymentId(), { refundsRefused: true });
    await order.update('accept');
    await until(async () => (await order.openAlerts()).length === 1);
    const { order: after } = await settle(service, order, 'released');
    expect(after).toMatchObject({ status: 'COMPLETED', refundAmountPaise: null });
    expect((await order.ledgerLines()).slice(1)).toEqual([
      `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
    ]);
  });
});

describe('a settlement is refused', () => {
  test('for an order whose money has not moved', async ({ service, orders }) => {
    for (const status of ['PAID', 'DELIVERED', 'DISPUTE_OPEN'] as const) {
      const order = await orders.in(status);
      await expect(settle(service, order, 'refunded')).rejects.toThrow(CANNOT_SETTLE);
      expect((await order.row()).status).toBe(status);
    }
  });

  test('without an outcome, or that releases money for an order that was not delivered', async ({
    service,
    orders,
  }) => {
    const order = await refundedOrder(orders, 'PAID');
    await expect(settle(service, order)).rejects.toThrow(CANNOT_SETTLE);
    await expect(settle(service, order, 'released')).rejects.toThrow(CANNOT_SETTLE);
    expect((await settle(service, order, 'refunded')).order.status).toBe('REFUNDED');
    await expect(settle(service, order, 'released')).rejects.toThrow(
      `Order ${order.orderNumber} is settled outside already, as refunded`,
    );
  });
});
