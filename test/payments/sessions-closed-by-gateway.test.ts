import { describe, expect, onTestFinished } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile.ts';
import { askGateway, sessionOf, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({
  time: 'real',
  // The gateway tells of a close at once, and of an expiry never: neither may depend on being told.
  callbacks: false,
  merchant: { webhooks: false },
});

/** What ends a QR code at the gateway, without a word to us. */
const ENDINGS: [string, (service: TestService, gatewayId: string) => Promise<unknown>][] = [
  ['expired', (service, id) => simulator(service, 'POST', `/qr_codes/${id}/expire`)],
  ['closed', (service, id) => askGateway(service, 'POST', `/v1/payments/qr_codes/${id}/close`)],
];

async function anOpenSession(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  const sessions = `/orders/${order.order_number}/payment-sessions`;
  const open = async () =>
    (await merchant.sandbox.call<{ session_id: string; status: string }>('POST', sessions)).body
      .data;
  const { session_id: sessionId } = await open();
  const { gatewaySessionId: gatewayId } = await sessionOf(service, order);
  return {
    order,
    sessionId,
    gatewayId,
    open,
    async look() {
      const { status, body } = await merchant.sandbox.get<{ status: string }>(
        `${sessions}/${sessionId}`,
      );
      return [status, body.data?.status];
    },
    page: async () => (await fetch(order.payment_url)).text(),
  };
}

describe.each(ENDINGS)('a QR code that the gateway reports as %s', (_ending, end) => {
  test('is not open for the API', async ({ service, merchant }) => {
    const { gatewayId, look } = await anOpenSession(service, merchant);
    await end(service, gatewayId);
    expect(await look()).toEqual([200, 'closed']);
  });

  test('is not shown by the page, which offers to pay again', async ({ service, merchant }) => {
    const { gatewayId, page } = await anOpenSession(service, merchant);
    await end(service, gatewayId);
    const html = await page();
    expect(html).not.toContain('upi://pay');
    expect(html).toContain('Pay now');
  });

  test('is not answered to the next POST, which opens a new one', async ({ service, merchant }) => {
    const { gatewayId, sessionId, open } = await anOpenSession(service, merchant);
    await end(service, gatewayId);
    const next = await open();
    expect(next).toMatchObject({ status: 'open' });
    expect(next.session_id).not.toBe(sessionId);
  });

  test('is closed when its time is over though nobody looks', async ({ service, merchant }) => {
    const { order, gatewayId } = await anOpenSession(service, merchant);
    await end(service, gatewayId);
    await service.clock.advance(15 * 60_000);
    await reconcilePayments(service.deps);
    expect((await sessionOf(service, order)).state).toBe('CLOSED');
  });
});

describe('a payment session that was paid', () => {
  test('is paid, not closed, although its QR code is closed and no callback came', async ({
    service,
    merchant,
  }) => {
    const { gatewayId, look } = await anOpenSession(service, merchant);
    await simulator(service, 'POST', `/qr_codes/${gatewayId}/pay`);
    expect(await look()).toEqual([200, 'paid']);
  });
});

describe('while the gateway does not answer', () => {
  test('a session is shown as it was, and the page too', async ({ service, merchant, gateway }) => {
    const { look, page } = await anOpenSession(service, merchant);
    await gateway.addFault({ kind: 'late', path: '/v1/payments/qr_codes/*' });
    const startedAtMs = performance.now();
    expect(await look()).toEqual([200, 'open']);
    expect(await page()).toContain('upi://pay');
    expect(performance.now() - startedAtMs).toBeLessThan(4000);
  });

  test('a POST answers the open session again', async ({ service, merchant, gateway }) => {
    const { sessionId, open } = await anOpenSession(service, merchant);
    await gateway.addFault({ kind: 'error', path: '/v1/payments/qr_codes/*' });
    expect(await open()).toMatchObject({ session_id: sessionId, status: 'open' });
  });
});

test('a session that is looked at again and again is asked about once in two seconds', async ({
  service,
  merchant,
  gateway,
}) => {
  const { gatewayId, look } = await anOpenSession(service, merchant);
  const { hits } = await gateway.addFault({
    kind: 'late',
    path: `/v1/payments/qr_codes/${gatewayId}`,
    delayMs: 0,
  });
  onTestFinished(async () => {
    await service.clock.set(0);
  });
  const nowMs = Date.now();
  await service.clock.stopAt(new Date(nowMs));
  await Promise.all(Array.from({ length: 100 }, () => look()));
  expect(await hits()).toBe(1);
  await service.clock.stopAt(new Date(nowMs + 2001));
  await look();
  expect(await hits()).toBe(2);
});
