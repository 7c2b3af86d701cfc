import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { reconcilePayments } from '../../src/payments/reconcile.ts';
import {
  askGateway,
  breakGateway,
  sessionOf,
  simulator,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
  // The gateway tells of a close at once, and of an expiry never: neither may depend on being told.
  await withoutCallbacks(service);
});
beforeEach(() => simulator(service, 'DELETE', '/faults'));
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

/** What ends a QR code at the gateway, without a word to us. */
const ENDINGS: [string, (gatewayId: string) => Promise<unknown>][] = [
  ['expired', (id) => simulator(service, 'POST', `/qr_codes/${id}/expire`)],
  ['closed', (id) => askGateway(service, 'POST', `/v1/payments/qr_codes/${id}/close`)],
];

async function anOpenSession() {
  const order = await merchant.sandbox.create();
  const sessions = `/orders/${order.order_number}/payment-sessions`;
  const open = async () =>
    (await merchant.sandbox.call<{ session_id: string; status: string }>('POST', sessions)).body
      .data;
  const { session_id: sessionId } = await open();
  const { gateway_session_id: gatewayId } = await sessionOf(service, order);
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
  test('is not open for the API', async () => {
    const { gatewayId, look } = await anOpenSession();
    await end(gatewayId);
    expect(await look()).toEqual([200, 'closed']);
  });

  test('is not shown by the page, which offers to pay again', async () => {
    const { gatewayId, page } = await anOpenSession();
    await end(gatewayId);
    const html = await page();
    expect(html).not.toContain('upi://pay');
    expect(html).toContain('Pay now');
  });

  test('is not answered to the next POST, which opens a new one', async () => {
    const { gatewayId, sessionId, open } = await anOpenSession();
    await end(gatewayId);
    const next = await open();
    expect(next).toMatchObject({ status: 'open' });
    expect(next.session_id).not.toBe(sessionId);
  });

  test('is found within a minute though nobody looks', async () => {
    const { order, gatewayId } = await anOpenSession();
    await end(gatewayId);
    await reconcilePayments(service.deps);
    expect((await sessionOf(service, order)).state).toBe('CLOSED');
  });
});

describe('a payment session that was paid', () => {
  test('is paid, not closed, although its QR code is closed and no callback came', async () => {
    const { gatewayId, look } = await anOpenSession();
    await simulator(service, 'POST', `/qr_codes/${gatewayId}/pay`);
    expect(await look()).toEqual([200, 'paid']);
  });
});

describe('while the gateway does not answer', () => {
  test('a session is shown as it was, and the page too', async () => {
    const { look, page } = await anOpenSession();
    await breakGateway(service, { kind: 'late', path: '/v1/payments/qr_codes/*' });
    const startedAtMs = performance.now();
    expect(await look()).toEqual([200, 'open']);
    expect(await page()).toContain('upi://pay');
    expect(performance.now() - startedAtMs).toBeLessThan(4000);
  });

  test('a POST answers the open session again', async () => {
    const { sessionId, open } = await anOpenSession();
    await breakGateway(service, { kind: 'error', path: '/v1/payments/qr_codes/*' });
    expect(await open()).toMatchObject({ session_id: sessionId, status: 'open' });
  });
});

test('a session that is looked at again and again is asked about once in two seconds', async () => {
  const { gatewayId, look } = await anOpenSession();
  const { hits } = await breakGateway(service, {
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
