import { describe, expect } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import type { OrderRef } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  askGateway,
  madeAtGateway,
  sessionOf,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { Orders } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const OPENING = '/v1/payments/qr_codes';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } })
  /** Moves the database's clock forward by minutes and runs reconciliation. */
  .extend('reconcileAfter', ({ service }) => async (minutes: number) => {
    await service.clock.advance(minutes * MINUTE_MS);
    await reconcilePayments(service.deps);
  });

test.beforeEach(async ({ service }) => {
  await withCallbacks(service);
});

describe('reconciliation asks the gateway', () => {
  test('about a PAID session too: a second payment whose callback is lost is refunded', async ({
    service,
    orders,
    reconcileAfter,
  }) => {
    const session = await orders.beingPaid();
    await session.pay();
    await session.untilStatus('PAID');
    await withoutCallbacks(service);
    const secondPaymentId = await session.pay({ late: true });
    await reconcileAfter(76);
    await until(async () => {
      const [refund] = await madeAtGateway(service, secondPaymentId, 'refunds');
      return refund?.status === 'processed';
    });
    expect((await session.read()).status).toBe('PAID');
  });

  test('about an open session after 2 and 7 minutes, at its expiry and an hour later, about a PAID one once', async ({
    service,
    orders,
    gateway,
    onTestFinished,
  }) => {
    onTestFinished(async () => void (await service.clock.set(0)));
    const asked = async ({ gatewaySessionId }: { gatewaySessionId: string }) =>
      gateway.addFault({
        kind: 'late',
        path: `/v1/payments/qr_codes/${gatewaySessionId}/payments`,
        delayMs: 0,
      });
    const paid = await orders.beingPaid();
    await paid.pay();
    await paid.untilStatus('PAID');
    // The clock is stopped at the beginning of both sessions, so that no real time is added to these minutes.
    const [{ beganMs }] = await service.sql<[{ beganMs: number }]>`
      SELECT extract(epoch FROM created_at)::float8 * 1000 AS began_ms FROM payment_sessions
      WHERE gateway_session_id = ${paid.gatewaySessionId}`;
    await service.clock.stopAt(new Date(beganMs));
    const unpaid = await orders.beingPaid();
    // The callback about the closed session makes the service ask, too, at any moment.
    await withoutCallbacks(service);
    const [aboutPaid, aboutOpen] = [await asked(paid), await asked(unpaid)];
    const minutes: { paid: number[]; open: number[] } = { paid: [], open: [] };
    for (let minute = 1; minute <= 80; minute += 1) {
      const before = [await aboutPaid.hits(), await aboutOpen.hits()];
      await service.clock.stopAt(new Date(beganMs + (minute + 0.3) * MINUTE_MS));
      await reconcilePayments(service.deps);
      if ((await aboutPaid.hits()) > before[0]!) minutes.paid.push(minute);
      if ((await aboutOpen.hits()) > before[1]!) minutes.open.push(minute);
    }
    expect(minutes).toEqual({ paid: [75], open: [2, 7, 15, 75] });
    expect(await unpaid.atGateway()).toBe('closed');
  });

  test('for an hour from its beginning, even if `advance` has moved its expiry', async ({
    service,
    orders,
    reconcileAfter,
  }) => {
    await withoutCallbacks(service);
    const session = await orders.beingPaid();
    await session.advance(12 * 3600);
    await session.pay();
    await reconcileAfter(2);
    await session.untilStatus('PAID');
  });
});

describe('a session that has ended is closed at the gateway', () => {
  /** An order with an expired session and a second one, of which one is paid. */
  async function twoSessions(orders: Orders, paid: 'first' | 'second') {
    const session = await orders.beingPaid();
    await session.advance(15 * 60);
    const next = await session.openNext();
    await (paid === 'first' ? session : next).pay();
    await session.untilStatus('PAID');
    return { session, next };
  }

  test('when it has expired: it is 408, also when its order is CANCELLED', async ({
    service,
    merchant,
    orders,
    reconcileAfter,
  }) => {
    const session = await orders.beingPaid();
    await session.advance(15 * 60);
    expect(await session.atGateway()).toBe('active');
    await reconcileAfter(2);
    expect(await session.atGateway()).toBe('closed');
    expect((await sessionOf(service, session)).state).toBe('CLOSED');
    expect(await session.readSession()).toEqual([408, undefined]);
    expect((await merchant.sandbox.cancel(session)).status).toBe(200);
    expect((await session.read()).status).toBe('CANCELLED');
    expect(await session.readSession()).toEqual([408, undefined]);
  });

  test('when its order is cancelled: it is closed, also if it would have expired', async ({
    merchant,
    orders,
    reconcileAfter,
  }) => {
    const session = await orders.beingPaid();
    expect((await merchant.sandbox.cancel(session)).status).toBe(200);
    expect([await session.atGateway(), await session.readSession()]).toEqual([
      'closed',
      [200, 'closed'],
    ]);
    await reconcileAfter(20);
    expect(await session.readSession()).toEqual([200, 'closed']);
  });

  test('when its order is paid, also a second one, immediately', async ({
    orders,
    reconcileAfter,
  }) => {
    const { session, next } = await twoSessions(orders, 'first');
    expect(await next.readSession()).toEqual([200, 'closed']);
    await reconcileAfter(20);
    expect([await next.atGateway(), await next.readSession()]).toEqual(['closed', [200, 'closed']]);
    expect(await session.readSession()).toEqual([408, undefined]);
  });

  test('when it has expired and its order was paid by another session: it stays 408', async ({
    orders,
    reconcileAfter,
  }) => {
    const { session, next } = await twoSessions(orders, 'second');
    const looks = async () => [await session.readSession(), await next.readSession()];
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
    await reconcileAfter(2);
    expect(await session.atGateway()).toBe('closed');
    expect(await looks()).toEqual([
      [408, undefined],
      [200, 'paid'],
    ]);
  });

  test('and if it is paid at the moment of its closing, the payment counts', async ({
    service,
    orders,
    gateway,
    reconcileAfter,
  }) => {
    await withoutCallbacks(service);
    const session = await orders.beingPaid();
    await session.advance(15 * 60);
    const { hits, endFault } = await gateway.addFault({
      kind: 'held',
      path: `/v1/payments/qr_codes/${session.gatewaySessionId}/close`,
      work: 'after',
    });
    const reconciled = reconcileAfter(2);
    await until(async () => (await hits()) === 1);
    await session.pay();
    await endFault();
    await reconciled;
    await session.untilStatus('PAID');
  });
});

describe('an order cancelled while its session is being opened', () => {
  const slowlyOpening = async (merchant: Merchant, gateway: Gateway) => {
    const order = await merchant.sandbox.create();
    const { hits, endFault } = await gateway.addFault({
      kind: 'held',
      method: 'POST',
      path: OPENING,
      work: 'after',
    });
    const opening = merchant.sandbox.openSession(order);
    await until(async () => (await hits()) === 1);
    expect((await merchant.sandbox.command(order, 'cancel')).status).toBe(200);
    await endFault();
    return { order, opening };
  };
  async function opened(service: TestService, { order_number }: OrderRef) {
    const { items } = await askGateway<{ items: { status: string; notes: object }[] }>(
      service,
      'GET',
      '/v1/payments/qr_codes?count=100',
    );
    const own = items.filter(({ notes }) => JSON.stringify(notes).includes(order_number));
    return own.map(({ status }) => status);
  }

  test('responds 400, and the session is closed at the gateway', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, opening } = await slowlyOpening(merchant, gateway);
    const { status, body } = await opening;
    expect([status, body.message]).toEqual([400, 'Cannot pay; order must be in ACCEPTED status']);
    expect(await opened(service, order)).toEqual(['closed']);
    expect((await sessionOf(service, order)).state).toBe('FAILED');
  });

  test('responds 400 also if that session cannot be closed, which is logged', async ({
    service,
    merchant,
    gateway,
  }) => {
    await gateway.addFault({ kind: 'error', path: '/v1/payments/qr_codes/*/close' });
    const { order, opening } = await slowlyOpening(merchant, gateway);
    expect((await opening).status).toBe(400);
    expect(await opened(service, order)).toEqual(['active']);
    const lines = service.logged.map(({ msg }) => msg);
    expect(lines).toContain('An unwanted payment session stays open');
  });
});
