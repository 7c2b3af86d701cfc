import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Timeline } from '../../src/orders/timeline.ts';
import {
  breakGateway,
  CLOSING,
  payAtGateway,
  sessionOf,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;
const MINUTE_MS = 60_000;
/** The gateway refuses to close the session, and every look at it. */
const CLOSING_FAILS = { kind: 'error', path: CLOSING } as const;

interface Named {
  order_number: string;
}
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  worker = await service.startWorker();
  merchant = await service.newMerchant();
});
afterEach(async () => {
  await simulator(service, 'DELETE', '/faults');
  await withCallbacks(service);
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const post = ({ order_number }: Named, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${order_number}/${path}`, body);
const read = async ({ order_number }: Named) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const timeline = async ({ order_number }: Named) =>
  (await merchant.sandbox.get<Timeline>(`/orders/${order_number}/timeline`)).body.data;
const kinds = async (order: Named) => (await timeline(order)).entries.map(({ kind }) => kind);
const untilStatus = (order: Named, status: string) =>
  until(async () => (await read(order)).status === status);
const untilDoing = (order: Named, doing: 'closing' | null) =>
  until(async () => (await timeline(order)).doing === doing);

/** An order with an open payment session. */
async function anOrderBeingPaid() {
  const order = await merchant.sandbox.create();
  await post(order, 'payment-sessions');
  const { session_id, gateway_session_id } = await sessionOf(service, order);
  return {
    order,
    gatewaySessionId: gateway_session_id,
    session: async () =>
      merchant.sandbox.get<{ status: string }>(
        `/orders/${order.order_number}/payment-sessions/${session_id}`,
      ),
    /** The payment link expires, at once. */
    expire: () => merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS }),
  };
}

describe('the expiry of the payment link, while a payment session is open', () => {
  test('closes the session at the gateway, then the order is CANCELLED: ORDER_CANCELLED', async () => {
    const { order, gatewaySessionId, session, expire } = await anOrderBeingPaid();
    await expire();
    await untilStatus(order, 'CANCELLED');
    await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('The QR Code is closed');
    // Its time ended with that of the link.
    expect((await session()).status).toBe(408);
    expect((await kinds(order)).slice(-2)).toEqual(['CLOSING_PAYMENT', 'ORDER_CANCELLED']);
    const [told] = await merchant.receiver.until(
      1,
      ({ event, body }) =>
        event === 'ORDER_CANCELLED' && body.data['order_number'] === order.order_number,
    );
    expect(told?.body.data['status']).toBe('CANCELLED');
  });

  test('tries again until the gateway can be reached; the timeline says what it is doing', async () => {
    const { order, expire } = await anOrderBeingPaid();
    const { mend, hits } = await breakGateway(service, CLOSING_FAILS);
    await expire();
    await untilDoing(order, 'closing');
    for (const tries of [2, 3, 4, 5]) {
      await until(async () => (await hits()) >= tries || (await service.skip(5 * MINUTE_MS)));
    }
    expect((await read(order)).status).toBe('ACCEPTED');
    expect((await timeline(order)).next?.action).toBe('the payment session is being closed');
    await mend();
    await service.skip(5 * MINUTE_MS);
    await untilStatus(order, 'CANCELLED');
    expect(await timeline(order)).toMatchObject({ doing: null, next: null });
  });

  test('leaves no room for commands or a new session meanwhile: 400', async () => {
    const { order, expire } = await anOrderBeingPaid();
    const { mend } = await breakGateway(service, CLOSING_FAILS);
    await expire();
    await untilDoing(order, 'closing');
    const refused = await Promise.all([
      post(order, 'payment-sessions'),
      post(order, 'cancel'),
      post(order, 'deliver'),
      merchant.sandbox.help(order, 'advance', { seconds: 60 }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const closing = '; the payment session is being closed';
    expect(refused.map(({ body }) => body.message)).toEqual([
      `Cannot pay; order must be in ACCEPTED status${closing}`,
      `Cannot cancel; order must be in ACCEPTED status${closing}`,
      'Cannot mark as delivered; order must be in PAID status',
      `Cannot advance; order must be in the sandbox, not busy, and in no final status${closing}`,
    ]);
    await mend();
    await service.skip(5 * MINUTE_MS);
    await untilStatus(order, 'CANCELLED');
  });

  test('finds at the gateway that it was paid: the order is PAID', async () => {
    const { order, gatewaySessionId, expire } = await anOrderBeingPaid();
    await withoutCallbacks(service);
    await payAtGateway(service, gatewaySessionId);
    await expire();
    await untilStatus(order, 'PAID');
    expect((await kinds(order)).slice(-2)).toEqual(['CLOSING_PAYMENT', 'PAYMENT_SUCCESS']);
  });

  test('is too late when the buyer pays while the gateway cannot close: the order is PAID', async () => {
    const { order, gatewaySessionId, session, expire } = await anOrderBeingPaid();
    const { mend } = await breakGateway(service, CLOSING_FAILS);
    await expire();
    await untilDoing(order, 'closing');
    await payAtGateway(service, gatewaySessionId);
    await untilStatus(order, 'PAID');
    await mend();
    await service.skip(5 * MINUTE_MS);
    expect((await post(order, 'deliver')).body.data.status).toBe('DELIVERED');
    expect((await session()).body.data.status).toBe('paid');
  });

  test('is not stopped by a payment that fails meanwhile', async () => {
    const { order, gatewaySessionId, expire } = await anOrderBeingPaid();
    const { mend } = await breakGateway(service, CLOSING_FAILS);
    await expire();
    await untilDoing(order, 'closing');
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kinds(order)).includes('PAYMENT_FAILED'));
    expect((await timeline(order)).doing).toBe('closing');
    await mend();
    await service.skip(5 * MINUTE_MS);
    await untilStatus(order, 'CANCELLED');
  });
});

test('the expiry of the payment link without an open session asks nothing of the gateway', async () => {
  const order = await merchant.sandbox.create();
  const { hits } = await breakGateway(service, { kind: 'error' });
  await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
  await untilStatus(order, 'CANCELLED');
  expect(await kinds(order)).not.toContain('CLOSING_PAYMENT');
  expect(await hits()).toBe(0);
});

describe('a cancel, while a payment session is open', () => {
  test('is not stopped by a payment that fails while the session is being closed', async () => {
    const { order, gatewaySessionId } = await anOrderBeingPaid();
    await breakGateway(service, { kind: 'late', path: CLOSING, work: 'after', delayMs: 1500 });
    const cancelling = post(order, 'cancel');
    await untilDoing(order, 'closing');
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kinds(order)).includes('PAYMENT_FAILED'));
    const { status, body } = await cancelling;
    expect([status, body.data.status]).toEqual([200, 'CANCELLED']);
  });

  test('leaves no room for a new session while it is being closed', async () => {
    const { order } = await anOrderBeingPaid();
    await breakGateway(service, { kind: 'late', path: CLOSING, delayMs: 1000 });
    const cancelling = post(order, 'cancel');
    await untilDoing(order, 'closing');
    expect((await post(order, 'payment-sessions')).status).toBe(400);
    expect((await cancelling).status).toBe(200);
  });

  test('that was 502 can be repeated with the same Idempotency-Key when the gateway is back', async () => {
    const { order } = await anOrderBeingPaid();
    const cancel = () =>
      merchant.sandbox.post(`/orders/${order.order_number}/cancel`, undefined, {
        'Idempotency-Key': 'cancel-once',
      });
    const { mend } = await breakGateway(service, CLOSING_FAILS);
    expect([(await cancel()).status, (await cancel()).status]).toEqual([502, 502]);
    await mend();
    const { status, body } = await cancel();
    expect([status, body.data?.status]).toEqual([200, 'CANCELLED']);
    expect((await cancel()).body.data).toEqual(body.data);
  });

  test('is 502 within 5 s when the gateway does not answer, and nothing has changed', async () => {
    const { order, gatewaySessionId } = await anOrderBeingPaid();
    const { mend } = await breakGateway(service, { kind: 'late', path: CLOSING, work: 'never' });
    const startedAtMs = performance.now();
    const { status } = await post(order, 'cancel');
    expect(performance.now() - startedAtMs).toBeLessThan(5000);
    expect(status).toBe(502);
    await mend();
    expect((await read(order)).status).toBe('ACCEPTED');
    await payAtGateway(service, gatewaySessionId);
    await untilStatus(order, 'PAID');
  });
});
