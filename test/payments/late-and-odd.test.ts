import { expect } from 'vitest';
import { recordPayment } from '../../src/payments/captures/captures.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import {
  capturedWhole,
  openChargeback,
  SANDBOX,
  orderBeingPaid,
  simulator,
  withCallbacks,
  withoutCallbacks,
  setSwitches,
} from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.beforeEach(async ({ service }) => {
  await service.clock.set(0);
  await withCallbacks(service);
});

async function reversalOf({ sql }: TestService, paymentId: string) {
  const [row] = await sql<{ state: string; isEnded: boolean }[]>`
    SELECT state, ended_at IS NOT NULL AS is_ended FROM gateway_reversals
    WHERE gateway_payment_id = ${paymentId}`;
  return row;
}

test('a chargeback that was won opens again when the gateway says so, and not by an old callback', async ({
  service,
  merchant,
}) => {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const paymentId = (await merchant.sandbox.read(order)).payment!.gateway_payment_id;
  const setStatus = await openChargeback(service, paymentId);
  await setStatus('won');
  await until(async () => (await reversalOf(service, paymentId))?.state === 'won');

  const { events } = await simulator<{ events: { id: string; name: string; body: string }[] }>(
    service,
    'GET',
    '/callbacks',
  );
  const old = events.find(
    ({ name, body }) => name === 'payment.dispute.created' && body.includes(paymentId),
  );
  await simulator(service, 'POST', `/callbacks/${old!.id}/resend`);
  await simulator(service, 'POST', '/callbacks/idle');
  expect(await reversalOf(service, paymentId)).toEqual({ state: 'won', isEnded: true });

  await setStatus('under_review');
  await until(async () => (await reversalOf(service, paymentId))?.state === 'open');
  expect(await reversalOf(service, paymentId)).toEqual({ state: 'open', isEnded: false });
  const refund = await merchant.sandbox.command(order, 'refund', { reason: 'Cannot be sent' });
  expect([refund.status, refund.body.message]).toEqual([
    400,
    expect.stringContaining('a chargeback is open'),
  ]);
});

/** An order whose payment is authorised and not captured, and the time of its session's next check. */
async function withAuthorizedPayment(
  service: TestService,
  merchant: Parameters<typeof orderBeingPaid>[1],
) {
  const order = await orderBeingPaid(service, merchant);
  await setSwitches(service, order.gatewaySessionId, { paymentsStartAuthorized: true });
  const paymentId = await order.pay();
  // Only reconciliation reports it.
  await withoutCallbacks(service);
  return {
    ...order,
    paymentId,
    async isWatched() {
      const [row] = await service.sql<[{ isWatched: boolean }]>`
        SELECT next_check_at IS NOT NULL AS is_watched FROM payment_sessions
        WHERE session_id = ${order.sessionId}`;
      return row.isWatched;
    },
    /** Moves the database's clock, and looks as often as sessions are due. */
    async lookAfter(hours: number) {
      await service.clock.set(hours * HOUR_MS);
      await reconcilePayments(service.deps);
    },
  };
}

test('a payment that was authorised is watched until it is captured', async ({
  service,
  merchant,
}) => {
  const paid = await withAuthorizedPayment(service, merchant);
  for (const hours of [0.3, 2, 5, 11]) await paid.lookAfter(hours);
  expect(await paid.isWatched()).toBe(true);
  expect((await paid.read()).status).toBe('ACCEPTED');
  await simulator(service, 'POST', `/payments/${paid.paymentId}/capture`);
  await paid.lookAfter(23);
  await paid.untilStatus('PAID');
});

test('a payment that was authorised is looked at for the last time after four days', async ({
  service,
  merchant,
}) => {
  const paid = await withAuthorizedPayment(service, merchant);
  for (const hours of [0.3, 2, 5, 11, 23, 47]) await paid.lookAfter(hours);
  expect(await paid.isWatched()).toBe(true);
  await simulator(service, 'POST', `/payments/${paid.paymentId}/void`);
  for (const hours of [95.9, 96.5, 97]) await paid.lookAfter(hours);
  expect(await paid.isWatched()).toBe(false);
  expect(
    await service.sql`SELECT FROM payments WHERE gateway_payment_id = ${paid.paymentId}`,
  ).toHaveLength(0);
});

test('a failure that is reported once the order is paid is recorded, and waits for nothing', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  const payment = {
    ...capturedWhole('pay_failed_late', await order.row()),
    status: 'failed' as const,
  };
  await recordPayment(service.deps, { at: SANDBOX, payment });
  const commands = await service.sql`
    SELECT state FROM order_commands
    WHERE order_number = ${order.orderNumber} AND command_id = 'failed:pay_failed_late'`;
  expect(commands).toEqual([{ state: 'DONE' }]);
});
