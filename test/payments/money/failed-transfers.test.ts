import { expect } from 'vitest';
import { listAlerts } from '../../../src/alerts/alerts.ts';
import { recheckTransfer, releaseFunds } from '../../../src/payments/funds/funds.ts';
import { reconcilePayments } from '../../../src/payments/reconcile/reconcile.ts';
import { atRazorpay, madeAtGateway, simulator, setSwitches } from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.beforeEach(({ service }) => service.clock.set(0));

/** A paid order whose transfers at the gateway end when the test says so. */
async function withPendingTransfers(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { payment } = await merchant.sandbox.read(order);
  const paymentId = payment!.gateway_payment_id;
  const setSwitch = (transfersStay: 'pending' | 'processed') =>
    setSwitches(service, paymentId, { transfersStay });
  await setSwitch('pending');
  const transfers = () => madeAtGateway(service, paymentId, 'transfers');
  return {
    order,
    orderNumber: order.order_number,
    transfers,
    setSwitch,
    async end(status: 'processed' | 'failed') {
      const [newest] = await transfers();
      await simulator(service, 'POST', `/transfers/${newest!.id}/end`, { status });
      await simulator(service, 'POST', '/callbacks/idle');
    },
    async isHeld() {
      const [row] = await service.sql<[{ isHeld: boolean }]>`
        SELECT held_at IS NOT NULL AS is_held FROM payments
        WHERE gateway_payment_id = ${paymentId}`;
      return row.isHeld;
    },
    /** The reason and count of the open alert about the platform's balance; undefined without one. */
    async alert() {
      const [row] = await service.sql<{ error: string; count: number }[]>`
        SELECT details->>'error' AS error, count FROM alerts
        WHERE kind = 'gateway_balance_low' AND cleared_at IS NULL`;
      return row;
    },
  };
}

test('a hold that is accepted and fails later is alerted with its reason, and made again after an hour', async ({
  service,
  merchant,
}) => {
  const paid = await withPendingTransfers(service, merchant);
  await reconcilePayments(service.deps);
  expect(await paid.isHeld()).toBe(false);
  await paid.end('failed');
  await until(() => paid.alert());
  expect(await paid.alert()).toMatchObject({
    error: expect.stringContaining('insufficient balance') as string,
    count: 1,
  });
  await reconcilePayments(service.deps);
  await reconcilePayments(service.deps);
  expect(await paid.transfers()).toMatchObject([{ status: 'failed' }]);
  expect((await paid.alert())?.count).toBe(1);

  await service.clock.set(61 * MINUTE_MS);
  await reconcilePayments(service.deps);
  expect(await paid.transfers()).toMatchObject([{ status: 'pending' }, { status: 'failed' }]);
  await paid.end('processed');
  await until(() => paid.isHeld());
  await reconcilePayments(service.deps);
  expect(await paid.alert()).toBeUndefined();
});

test('a hold that fails after it was processed is no longer held, and says so', async ({
  service,
  merchant,
}) => {
  const paid = await withPendingTransfers(service, merchant);
  await reconcilePayments(service.deps);
  await paid.end('processed');
  await until(() => paid.isHeld());
  await paid.end('failed');
  await until(() => paid.alert());
  expect(await paid.isHeld()).toBe(false);
});

test('a transfer that fails after the release is alerted at once', async ({ service, orders }) => {
  const order = await orders.in('DELIVERED');
  await order.update('advance', { seconds: 24 * 3600 });
  await order.untilStatus('COMPLETED');
  const subject = `razorpay:${await order.paymentId()}`;
  const [transfer] = await order.made('transfers');
  await simulator(service, 'POST', `/transfers/${transfer!.id}/end`, { status: 'failed' });
  await until(async () => {
    const rows = await service.sql`
      SELECT FROM alerts WHERE kind = 'gateway_differs' AND subject = ${subject}`;
    return rows.length > 0;
  });
  expect((await order.row()).status).toBe('COMPLETED');
});

test('a late report that an earlier transfer failed raises no alert about the one that was released', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  await order.update('advance', { seconds: 24 * 3600 });
  await order.untilStatus('COMPLETED');
  const paymentId = await order.paymentId();
  const report = { transferId: 'trf_earlier', hasFailed: true };
  await recheckTransfer(service.deps, { ...atRazorpay(paymentId), ...report });
  const { alerts } = await listAlerts(service.sql, { subject: `razorpay:${paymentId}` }, 1);
  expect(alerts).toEqual([]);
});

test('a release whose transfer fails makes one transfer for each failure that is known', async ({
  service,
  merchant,
}) => {
  const paid = await withPendingTransfers(service, merchant);
  await simulator(service, 'PATCH', '/callbacks', { hold: true });
  const release = () => releaseFunds(service.deps, paid.orderNumber);
  await expect(release()).rejects.toThrow('The transfer is pending');
  await expect(release()).rejects.toThrow('The transfer is pending');
  await paid.end('failed');
  await expect(release()).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE' });
  expect(await paid.transfers()).toHaveLength(1);
  await expect(release()).rejects.toThrow('The transfer is pending');
  expect(await paid.transfers()).toMatchObject([{ status: 'pending' }, { status: 'failed' }]);
  await paid.end('processed');
  await release();
  expect(await paid.transfers()).toHaveLength(2);
  await simulator(service, 'POST', '/callbacks/release');
  await simulator(service, 'PATCH', '/callbacks', { hold: false });
});
