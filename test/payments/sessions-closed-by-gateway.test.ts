import { describe, expect, onTestFinished } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { askGateway, sessionOf, simulator } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const test = serviceTest({
  time: 'real',
  // The gateway reports a close immediately and an expiry never. No test may depend on the report.
  callbacks: false,
  merchant: { webhooks: false },
});

/** Ends a QR code at the gateway without notifying the service. */
const ENDINGS: [string, (service: TestService, gatewaySessionId: string) => Promise<unknown>][] = [
  ['expired', (service, id) => simulator(service, 'POST', `/qr_codes/${id}/expire`)],
  ['closed', (service, id) => askGateway(service, 'POST', `/v1/payments/qr_codes/${id}/close`)],
];

const pageOf = async ({ payment_url }: Order) => (await fetch(payment_url)).text();

describe.each(ENDINGS)('a QR code that the gateway reports as %s', (_ending, end) => {
  test('is not open in the API', async ({ service, orders }) => {
    // A read waits 1.5 s for the gateway: on a busy machine it returns what is recorded, and the next order may do.
    await until(async () => {
      const { gatewaySessionId, readSession } = await orders.beingPaid();
      await end(service, gatewaySessionId);
      return (await readSession()).join() === '200,closed';
    });
  });

  test('is not shown on the page, which offers to pay again', async ({ service, orders }) => {
    const html = await until(async () => {
      const { order, gatewaySessionId } = await orders.beingPaid();
      await end(service, gatewaySessionId);
      const page = await pageOf(order);
      return page.includes('Pay now') && page;
    });
    expect(html).not.toContain('upi://pay');
  });

  test('is not returned by the next POST, which opens a new session', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, gatewaySessionId, sessionId } = await orders.beingPaid();
    await end(service, gatewaySessionId);
    const next = (await merchant.sandbox.openSession(order)).body.data;
    expect(next).toMatchObject({ status: 'open' });
    expect(next.session_id).not.toBe(sessionId);
  });

  test('is closed at its expiry even if no client reads it', async ({ service, orders }) => {
    const { order, gatewaySessionId } = await orders.beingPaid();
    await end(service, gatewaySessionId);
    await service.clock.advance(15 * 60_000);
    await reconcilePayments(service.deps);
    expect((await sessionOf(service, order)).state).toBe('CLOSED');
  });
});

describe('a payment session that was paid', () => {
  test('is paid, not closed, although its QR code is closed and no callback arrived', async ({
    service,
    orders,
  }) => {
    await until(async () => {
      const { gatewaySessionId, readSession } = await orders.beingPaid();
      await simulator(service, 'POST', `/qr_codes/${gatewaySessionId}/pay`);
      const [, status] = await readSession();
      expect(status).not.toBe('closed');
      return status === 'paid';
    });
  });
});

describe('while the gateway does not respond', () => {
  test('a session is returned as it was, and the page too', async ({ orders, gateway }) => {
    const { order, readSession } = await orders.beingPaid();
    await gateway.addFault({ kind: 'late', path: '/v1/payments/qr_codes/*' });
    // The fault lasts: these responses come while the gateway still does not answer.
    expect(await readSession()).toEqual([200, 'open']);
    expect(await pageOf(order)).toContain('upi://pay');
  });

  test('a POST returns the open session again', async ({ merchant, orders, gateway }) => {
    const { order, sessionId } = await orders.beingPaid();
    await gateway.addFault({ kind: 'error', path: '/v1/payments/qr_codes/*' });
    const { body } = await merchant.sandbox.openSession(order);
    expect(body.data).toMatchObject({ session_id: sessionId, status: 'open' });
  });
});

test('a session that is read repeatedly is checked at the gateway once in two seconds', async ({
  service,
  orders,
  gateway,
}) => {
  const { gatewaySessionId, readSession } = await orders.beingPaid();
  const { hits } = await gateway.addFault({
    kind: 'late',
    path: `/v1/payments/qr_codes/${gatewaySessionId}`,
    delayMs: 0,
  });
  onTestFinished(async () => {
    await service.clock.set(0);
  });
  const nowMs = Date.now();
  await service.clock.stopAt(new Date(nowMs));
  await Promise.all(Array.from({ length: 100 }, () => readSession()));
  expect(await hits()).toBe(1);
  await service.clock.stopAt(new Date(nowMs + 2001));
  await readSession();
  expect(await hits()).toBe(2);
});
