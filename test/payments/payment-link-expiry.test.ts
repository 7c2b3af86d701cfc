import { describe, expect } from 'vitest';
import type { OrderRef } from '../support/api-client.ts';
import {
  CLOSING,
  payAtGateway,
  sessionOf,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;
const MINUTE_MS = 60_000;
/** The gateway refuses to close the session, and every look at it. */
const CLOSING_FAILS = { kind: 'error', path: CLOSING } as const;

const test = serviceTest({ time: 'skipping' });

test.afterEach(async ({ service }) => {
  await withCallbacks(service);
});

const post = (merchant: Merchant, { order_number }: OrderRef, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${order_number}/${path}`, body);
const kinds = async (merchant: Merchant, order: OrderRef) =>
  (await merchant.sandbox.timeline(order)).entries.map(({ kind }) => kind);
const untilDoing = (merchant: Merchant, order: OrderRef, doing: 'closing' | null) =>
  until(async () => (await merchant.sandbox.timeline(order)).doing === doing);

/** An order with an open payment session. */
async function anOrderBeingPaid(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await post(merchant, order, 'payment-sessions');
  const { sessionId, gatewaySessionId } = await sessionOf(service, order);
  return {
    order,
    gatewaySessionId: gatewaySessionId,
    session: async () =>
      merchant.sandbox.get<{ status: string }>(
        `/orders/${order.order_number}/payment-sessions/${sessionId}`,
      ),
    /** The payment link expires, at once. */
    expire: () => merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS }),
  };
}

describe('the expiry of the payment link, while a payment session is open', () => {
  test('closes the session at the gateway, then the order is CANCELLED: ORDER_CANCELLED', async ({
    service,
    merchant,
  }) => {
    const { order, gatewaySessionId, session, expire } = await anOrderBeingPaid(service, merchant);
    await expire();
    await merchant.sandbox.untilStatus(order, 'CANCELLED');
    await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('The QR Code is closed');
    // Its time ended with that of the link.
    expect((await session()).status).toBe(408);
    expect((await kinds(merchant, order)).slice(-2)).toEqual([
      'CLOSING_PAYMENT',
      'ORDER_CANCELLED',
    ]);
    const [told] = await merchant.receiver.until(
      1,
      ({ event, body }) =>
        event === 'ORDER_CANCELLED' && body.data['order_number'] === order.order_number,
    );
    expect(told?.body.data['status']).toBe('CANCELLED');
  });

  test('tries again until the gateway can be reached; the timeline says what it is doing', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, expire } = await anOrderBeingPaid(service, merchant);
    const { mend, hits } = await gateway.addFault(CLOSING_FAILS);
    await expire();
    await untilDoing(merchant, order, 'closing');
    for (const tries of [2, 3, 4, 5]) {
      await until(async () => (await hits()) >= tries || (await service.skip(5 * MINUTE_MS)));
    }
    expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
    expect((await merchant.sandbox.timeline(order)).next?.action).toBe(
      'the payment session is being closed',
    );
    await mend();
    await service.skip(5 * MINUTE_MS);
    await merchant.sandbox.untilStatus(order, 'CANCELLED');
    expect(await merchant.sandbox.timeline(order)).toMatchObject({ doing: null, next: null });
  });

  test('leaves no room for commands or a new session meanwhile: 400', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, expire } = await anOrderBeingPaid(service, merchant);
    const { mend } = await gateway.addFault(CLOSING_FAILS);
    await expire();
    await untilDoing(merchant, order, 'closing');
    const refused = await Promise.all([
      post(merchant, order, 'payment-sessions'),
      post(merchant, order, 'cancel'),
      post(merchant, order, 'deliver'),
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
    await merchant.sandbox.untilStatus(order, 'CANCELLED');
  });

  test('finds at the gateway that it was paid: the order is PAID', async ({
    service,
    merchant,
  }) => {
    const { order, gatewaySessionId, expire } = await anOrderBeingPaid(service, merchant);
    await withoutCallbacks(service);
    await payAtGateway(service, gatewaySessionId);
    await expire();
    await merchant.sandbox.untilStatus(order, 'PAID');
    expect((await kinds(merchant, order)).slice(-2)).toEqual([
      'CLOSING_PAYMENT',
      'PAYMENT_SUCCESS',
    ]);
  });

  test('is too late when the buyer pays while the gateway cannot close: the order is PAID', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, gatewaySessionId, session, expire } = await anOrderBeingPaid(service, merchant);
    const { mend } = await gateway.addFault(CLOSING_FAILS);
    await expire();
    await untilDoing(merchant, order, 'closing');
    await payAtGateway(service, gatewaySessionId);
    await merchant.sandbox.untilStatus(order, 'PAID');
    await mend();
    await service.skip(5 * MINUTE_MS);
    expect((await post(merchant, order, 'deliver')).body.data.status).toBe('DELIVERED');
    expect((await session()).body.data.status).toBe('paid');
  });

  test('is not stopped by a payment that fails meanwhile', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, gatewaySessionId, expire } = await anOrderBeingPaid(service, merchant);
    const { mend } = await gateway.addFault(CLOSING_FAILS);
    await expire();
    await untilDoing(merchant, order, 'closing');
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kinds(merchant, order)).includes('PAYMENT_FAILED'));
    expect((await merchant.sandbox.timeline(order)).doing).toBe('closing');
    await mend();
    await service.skip(5 * MINUTE_MS);
    await merchant.sandbox.untilStatus(order, 'CANCELLED');
  });
});

test('the expiry of the payment link without an open session asks nothing of the gateway', async ({
  merchant,
  gateway,
}) => {
  const order = await merchant.sandbox.create();
  const { hits } = await gateway.addFault({ kind: 'error' });
  await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
  await merchant.sandbox.untilStatus(order, 'CANCELLED');
  expect(await kinds(merchant, order)).not.toContain('CLOSING_PAYMENT');
  expect(await hits()).toBe(0);
});

describe('a cancel, while a payment session is open', () => {
  test('is not stopped by a payment that fails while the session is being closed', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, gatewaySessionId } = await anOrderBeingPaid(service, merchant);
    await gateway.addFault({ kind: 'late', path: CLOSING, work: 'after', delayMs: 1500 });
    const cancelling = post(merchant, order, 'cancel');
    await untilDoing(merchant, order, 'closing');
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kinds(merchant, order)).includes('PAYMENT_FAILED'));
    const { status, body } = await cancelling;
    expect([status, body.data.status]).toEqual([200, 'CANCELLED']);
  });

  test('leaves no room for a new session while it is being closed', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order } = await anOrderBeingPaid(service, merchant);
    await gateway.addFault({ kind: 'late', path: CLOSING, delayMs: 1000 });
    const cancelling = post(merchant, order, 'cancel');
    await untilDoing(merchant, order, 'closing');
    expect((await post(merchant, order, 'payment-sessions')).status).toBe(400);
    expect((await cancelling).status).toBe(200);
  });

  test('that was 502 can be repeated with the same Idempotency-Key when the gateway is back', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order } = await anOrderBeingPaid(service, merchant);
    const cancel = () =>
      merchant.sandbox.post(`/orders/${order.order_number}/cancel`, undefined, {
        'Idempotency-Key': 'cancel-once',
      });
    const { mend } = await gateway.addFault(CLOSING_FAILS);
    expect([(await cancel()).status, (await cancel()).status]).toEqual([502, 502]);
    await mend();
    await until(async () => (await cancel()).status !== 502);
    const { status, body } = await cancel();
    expect([status, body.data?.status]).toEqual([200, 'CANCELLED']);
    expect((await cancel()).body.data).toEqual(body.data);
  });

  test('is 502 within 5 s when the gateway does not answer, and nothing has changed', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, gatewaySessionId } = await anOrderBeingPaid(service, merchant);
    const { mend } = await gateway.addFault({ kind: 'late', path: CLOSING, work: 'never' });
    const startedAtMs = performance.now();
    const { status } = await post(merchant, order, 'cancel');
    expect(performance.now() - startedAtMs).toBeLessThan(5000);
    expect(status).toBe(502);
    await mend();
    expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
    await payAtGateway(service, gatewaySessionId);
    await merchant.sandbox.untilStatus(order, 'PAID');
  });
});
