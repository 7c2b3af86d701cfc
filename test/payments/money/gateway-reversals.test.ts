import { describe, expect } from 'vitest';
import { clearResolvedAlerts } from '../../../src/alerts/alerts.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { writeCallback } from '../../../src/payments/captures/capture-queries.ts';
import type { RefundOrChargeback } from '../../../src/payments/gateway/gateway-objects.ts';
import { reconcilePayments } from '../../../src/payments/reconcile/reconcile.ts';
import { recordRefundsOf, recordReversal } from '../../../src/payments/reversals/reversals.ts';
import { createWorkflowInspector } from '../../../src/temporal/pending-activities.ts';
import {
  openChargeback,
  reconcile,
  SANDBOX,
  setSwitches,
  simulator,
  sweep,
} from '../../support/gateway.ts';
import type { DirectOrder, Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;
const PART_PAISE = 10_000;
const CAPTURED = `capture: gateway_clearing → merchant_held ${AMOUNT_PAISE}`;

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } });

test.beforeEach(({ service }) => simulator(service, 'PATCH', '/callbacks', { dropProbability: 0 }));
/** Sets the database's clock to Temporal's and lets it run again. */
test.beforeEach(({ service }) => service.skip(1));
test.afterEach(async ({ service }) => {
  const { ok, faults } = await verifyLedger(service.sql);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
  expect(await simulator(service, 'GET', '/totals')).toMatchObject({ isBalanced: true });
});

const loseCallbacks = (service: TestService) =>
  simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });
const callbacksArrive = (service: TestService) => simulator(service, 'POST', '/callbacks/idle');
const windowEnds = (service: TestService) => service.skip(24 * HOUR_MS + 1000);

/** A delivered order whose payment is charged back. */
async function orderChargedBack(service: TestService, orders: Orders) {
  const order = await orders.in('DELIVERED');
  return { order, setChargebackStatus: await openChargeback(service, await order.paymentId()) };
}

const reversalsOf = ({ sql }: TestService, { orderNumber }: DirectOrder) =>
  sql<{ kind: string; state: string; amountPaise: number }[]>`
    SELECT kind, state, amount_paise FROM gateway_reversals
    WHERE order_number = ${orderNumber} ORDER BY reversal_id`;

/** Checks that the window has ended and the release waits for an operator: nothing is recorded or moved. */
async function assertReleaseWaits(service: TestService, order: DirectOrder): Promise<void> {
  await windowEnds(service);
  await until(async () => (await order.openAlerts()).includes('release_blocked'));
  await service.skip(3 * HOUR_MS);
  expect(await order.row()).toMatchObject({ status: 'DELIVERED', pendingOperation: null });
  expect(await order.kinds()).not.toContain('RELEASE_STARTED');
  expect(await order.made('transfers')).toEqual([]);
  expect(await order.currentDetails()).toContain('**The release waits:** the gateway has reversed');
}

describe('a refund made at the gateway itself', () => {
  test('is in the timeline, the ledger and the alerts, and blocks the release', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await order.refundInDashboard(PART_PAISE);
    expect(await reversalsOf(service, order)).toEqual([
      { kind: 'refund', state: 'processed', amountPaise: PART_PAISE },
    ]);
    expect(await order.ledgerLines()).toEqual([
      CAPTURED,
      `reversal: merchant_held → refunds ${PART_PAISE}`,
    ]);
    expect(await order.openAlerts()).toEqual(['refunded_at_gateway']);
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.at(-1)).toMatchObject({
      kind: 'REFUNDED_AT_GATEWAY',
      status: 'DELIVERED',
      details: { amount: 100, gateway_id: expect.stringMatching(/^rfnd_/) },
      webhook: null,
    });
    await assertReleaseWaits(service, order);
  });

  test('is recorded by reconciliation if the process that stored its callback has died', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('PAID');
    const gatewayPaymentId = await order.paymentId();
    await loseCallbacks(service);
    await order.refundInDashboard();
    const callback = { eventId: `evt_${order.orderNumber}`, event: 'refund.processed', body: '{}' };
    const reports = { type: 'refund', gatewayPaymentId, by: 'others' } as const;
    await writeCallback(service.sql, { ...SANDBOX, ...callback, reports });
    // The order was notified of its payment a moment ago.
    await service.skip(5 * 60_000 + 1000);
    await reconcile(service);
    await until(async () => (await order.row()).reversedPaise === AMOUNT_PAISE);
    expect(await order.refusalOf('deliver', {})).toContain('refunded');
    // The same reconciliation confirms a callback of the test before, perhaps later.
    await expect
      .poll(() => service.sql`SELECT FROM gateway_callbacks WHERE is_unconfirmed`)
      .toEqual([]);
  });

  test('is recorded together with its alert', async ({ service, orders }) => {
    const order = await orders.in('DELIVERED');
    const reversal: RefundOrChargeback = {
      reversalId: `rfnd_${order.orderNumber}`,
      gatewayPaymentId: await order.paymentId(),
      kind: 'refund',
      amountPaise: PART_PAISE,
      state: 'processed',
      idempotencyKey: null,
    };
    const record = () => recordReversal(service.deps, SANDBOX, reversal, 'callback');
    await service.sql`ALTER TABLE alerts ADD CONSTRAINT no_space CHECK (false) NOT VALID`;
    try {
      await expect(record()).rejects.toThrow('no_space');
    } finally {
      await service.sql`ALTER TABLE alerts DROP CONSTRAINT no_space`;
    }
    expect(await reversalsOf(service, order)).toEqual([]);
    expect(await record()).toBe('recorded');
    expect(await record()).toBe('known');
    expect(await order.openAlerts()).toEqual(['refunded_at_gateway']);
  });

  test('is found before money moves if its callback was lost', async ({ service, orders }) => {
    const order = await orders.in('DELIVERED');
    await loseCallbacks(service);
    await order.refundInDashboard(PART_PAISE);
    expect(await reversalsOf(service, order)).toEqual([]);
    await windowEnds(service);
    await until(async () => (await order.openAlerts()).includes('release_blocked'));
    await service.skip(3 * HOUR_MS);
    expect(await order.row()).toMatchObject({ pendingOperation: { kind: 'releasing' } });
    expect(await order.made('transfers')).toEqual([]);
    expect(await reversalsOf(service, order)).toMatchObject([{ amountPaise: PART_PAISE }]);
  });

  test('is found by a release that continues after the gateway was unavailable', async ({
    service,
    orders,
    gateway,
  }) => {
    const order = await orders.in('DELIVERED');
    await loseCallbacks(service);
    await order.refundInDashboard(PART_PAISE);
    const { endFault } = await gateway.addFault({ kind: 'error' });
    await windowEnds(service);
    await order.untilStep('RELEASE_STARTED');
    await endFault();
    await service.skip(HOUR_MS);
    await until(async () => (await order.openAlerts()).includes('release_blocked'));
    expect(await order.made('transfers')).toEqual([]);
  });

  test('is found when reconciliation checks its session', async ({ service, merchant, orders }) => {
    const created = await merchant.sandbox.create();
    await merchant.sandbox.help(created, 'pay');
    const order = await orders.workflowOf(created);
    await loseCallbacks(service);
    await order.refundInDashboard(PART_PAISE);
    await service.clock.advance(76 * 60_000);
    await reconcilePayments(service.deps);
    await reconcilePayments(service.deps);
    expect(await reversalsOf(service, order)).toMatchObject([{ amountPaise: PART_PAISE }]);
    expect(await order.openAlerts()).toEqual(['refunded_at_gateway']);
  });

  test.for([1, 2])(
    'of a part leaves the rest to a refund of the order: %i, of which the last was not reported',
    async (count, { service, orders }) => {
      const order = await orders.in('PAID');
      for (let nth = 1; nth < count; nth += 1) await order.refundInDashboard(PART_PAISE);
      await loseCallbacks(service);
      await order.refundInDashboard(PART_PAISE);
      await order.update('refund');
      await service.skip(60_000);
      await order.untilStatus('REFUNDED');
      const parts = Array.from({ length: count }, () => PART_PAISE);
      const rest = AMOUNT_PAISE - count * PART_PAISE;
      const refunds = await order.made('refunds');
      expect(refunds.map(({ amount }) => amount)).toEqual([rest, ...parts]);
      expect(await order.ledgerLines()).toEqual([
        CAPTURED,
        ...parts.map((paise) => `reversal: merchant_held → refunds ${paise}`),
        `refund: merchant_held → refunds ${rest}`,
      ]);
    },
  );

  test('of the whole payment leaves nothing to refund', async ({ orders }) => {
    const order = await orders.in('DISPUTE_OPEN');
    await order.refundInDashboard();
    await order.update('accept');
    await order.untilStatus('REFUNDED');
    expect(await order.made('refunds')).toHaveLength(1);
    expect(await order.ledgerLines()).toEqual([
      CAPTURED,
      `reversal: merchant_held → refunds ${AMOUNT_PAISE}`,
    ]);
  });

  test('that is pending is asked about every hour, because no callback may report its end', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await setSwitches(service, await order.paymentId(), { refundsStartPending: true });
    await order.refundInDashboard(PART_PAISE);
    expect(await reversalsOf(service, order)).toMatchObject([{ state: 'pending' }]);
    await loseCallbacks(service);
    const [refund] = await order.made('refunds');
    await simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status: 'failed' });
    await service.clock.advance(HOUR_MS + 1000);
    await reconcilePayments(service.deps);
    expect(await reversalsOf(service, order)).toMatchObject([{ state: 'failed' }]);
    // A run clears alerts before it asks gateways, so the next one clears this.
    await reconcilePayments(service.deps);
    expect(await order.openAlerts()).toEqual([]);
  });

  test('that fails after it was processed is alerted, and no refund of the order counts on it', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DISPUTE_OPEN');
    await order.refundInDashboard();
    const [refund] = await order.made('refunds');
    await simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status: 'failed' });
    await callbacksArrive(service);
    const [alert] = await service.sql<[{ message: string }]>`
      SELECT details->>'message' AS message FROM alerts WHERE subject = ${order.orderNumber}`;
    expect(alert.message).toContain('propose a settlement');
    // It is raised once, however often the gateway is asked.
    await service.sql`
      UPDATE alerts SET cleared_at = service_now() WHERE subject = ${order.orderNumber}`;
    await recordRefundsOf(service.deps, SANDBOX, await order.paymentId());
    expect(await order.openAlerts()).toEqual([]);
    await order.update('accept');
    const workflows = createWorkflowInspector(service.temporal.client);
    await until(async () => {
      const { pending = [] } = (await workflows.inspect(order.orderNumber)) ?? {};
      return pending.some(({ lastError }) => lastError?.includes('has not processed the refund'));
    });
    expect(await order.row()).toMatchObject({
      status: 'DISPUTE_OPEN',
      pendingOperation: { kind: 'refunding' },
    });
    expect(await order.made('refunds')).toHaveLength(1);
  });

  test('is not recorded for a refund that this service makes', async ({ service, orders }) => {
    const order = await orders.in('DISPUTE_OPEN');
    await order.update('accept');
    await order.untilStatus('REFUNDED');
    await callbacksArrive(service);
    await reconcilePayments(service.deps);
    expect(await reversalsOf(service, order)).toEqual([]);
    expect(await order.openAlerts()).toEqual([]);
  });

  test('after the release is charged to the merchant in the ledger', async ({ orders }) => {
    const order = await orders.in('COMPLETED');
    await order.refundInDashboard(PART_PAISE);
    expect((await order.ledgerLines()).at(-1)).toBe(
      `reversal: merchant_available → refunds ${PART_PAISE}`,
    );
    expect(await order.openAlerts()).toEqual(['refunded_at_gateway']);
  });
});

describe('a chargeback', () => {
  test('that is open blocks the release, which continues within an hour after the merchant has won', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, setChargebackStatus } = await orderChargedBack(service, orders);
    expect(await order.openAlerts()).toEqual(['charged_back']);
    await assertReleaseWaits(service, order);
    await setChargebackStatus('under_review');
    await setChargebackStatus('won');
    await clearResolvedAlerts(service.sql);
    expect(await order.openAlerts()).toEqual([]);
    await service.skip(HOUR_MS);
    await order.untilStatus('COMPLETED');
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.map(({ kind }) => kind).slice(-5)).toEqual([
      'DELIVERY_CONFIRMED',
      'CHARGEBACK_OPENED',
      'CHARGEBACK_WON',
      'RELEASE_STARTED',
      'ORDER_COMPLETED',
    ]);
    expect((await order.ledgerLines()).slice(1)).toEqual([
      `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
    ]);
  });

  test('that is opened while the order is releasing blocks it until the merchant has won', async ({
    service,
    orders,
    gateway,
  }) => {
    const order = await orders.in('DELIVERED');
    const { endFault } = await gateway.addFault({ kind: 'error' });
    await windowEnds(service);
    await order.untilStep('RELEASE_STARTED');
    const setChargebackStatus = await openChargeback(service, await order.paymentId());
    await endFault();
    await service.skip(HOUR_MS);
    await until(async () => (await order.openAlerts()).includes('release_blocked'));
    expect(await order.made('transfers')).toEqual([]);
    await setChargebackStatus('won');
    await service.skip(HOUR_MS);
    await order.untilStatus('COMPLETED');
    expect(await order.made('transfers')).toHaveLength(1);
  });

  test('that is won wakes the order, which does not wait for its next try', async ({
    service,
    orders,
  }) => {
    const { order, setChargebackStatus } = await orderChargedBack(service, orders);
    await assertReleaseWaits(service, order);
    await setChargebackStatus('won');
    await sweep(service);
    await order.untilStatus('COMPLETED');
    await clearResolvedAlerts(service.sql);
    expect(await order.openAlerts()).toEqual([]);
  });

  test('that is lost posts its ledger line once, whatever arrives after it', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, setChargebackStatus } = await orderChargedBack(service, orders);
    expect(await order.ledgerLines()).toEqual([CAPTURED]);
    await simulator(service, 'PATCH', '/callbacks', { hold: true });
    await setChargebackStatus('under_review');
    await setChargebackStatus('lost');
    await simulator(service, 'POST', '/callbacks/release', { order: 'reversed' });
    await callbacksArrive(service);
    await simulator(service, 'PATCH', '/callbacks', { hold: false });
    expect(await order.ledgerLines()).toEqual([
      CAPTURED,
      `reversal: merchant_held → refunds ${AMOUNT_PAISE}`,
    ]);
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.map(({ kind }) => kind).slice(-2)).toEqual([
      'CHARGEBACK_OPENED',
      'CHARGEBACK_LOST',
    ]);
    await assertReleaseWaits(service, order);
  });

  test('is found by reconciliation if its callbacks were lost, and so is its end', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await loseCallbacks(service);
    const setChargebackStatus = await openChargeback(service, await order.paymentId());
    await reconcilePayments(service.deps);
    expect(await reversalsOf(service, order)).toMatchObject([
      { kind: 'chargeback', state: 'open' },
    ]);
    await setChargebackStatus('lost');
    await reconcilePayments(service.deps);
    expect(await reversalsOf(service, order)).toMatchObject([{ state: 'lost' }]);
    expect(await order.openAlerts()).toEqual(['charged_back']);
  });
});

test('an order whose whole payment is gone cannot be delivered, and shows how much is gone', async ({
  merchant,
  orders,
}) => {
  const order = await orders.in('PAID');
  await order.refundInDashboard(PART_PAISE);
  expect((await merchant.sandbox.read(order)).payment).toMatchObject({ reversed_amount: 100 });
  await order.refundInDashboard();
  expect((await merchant.sandbox.read(order)).payment).toMatchObject({ reversed_amount: 499.5 });
  const { status, body } = await merchant.sandbox.command(order, 'deliver');
  expect([status, body.message]).toEqual([
    400,
    'Cannot mark as delivered; order must be in PAID status; its payment was refunded or charged back at the gateway',
  ]);
  expect((await order.row()).status).toBe('PAID');
});
