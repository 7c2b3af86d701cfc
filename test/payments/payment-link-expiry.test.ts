import { describe, expect } from 'vitest';
import type { OrderBeingPaid } from '../support/gateway.ts';
import { CLOSING, withCallbacks, withoutCallbacks } from '../support/gateway.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const DAY_SECONDS = 24 * 3600;
const MINUTE_MS = 60_000;
/** The gateway fails every call that closes or reads the session. */
const CLOSING_FAILS = { kind: 'error', path: CLOSING } as const;

const expireLink = ({ advance }: OrderBeingPaid) => advance(DAY_SECONDS);
const untilClosing = ({ timeline }: OrderBeingPaid) =>
  until(async () => (await timeline()).doing === 'closing');
/** A cancel that is 502 when its few seconds end before the test lets the gateway close the session. */
const cancelUntilAnswered = ({ order_number, cancel }: OrderBeingPaid) =>
  repeated(() => cancel({ 'Idempotency-Key': `cancel-${order_number}` }));
const kinds = async ({ timeline }: OrderBeingPaid) =>
  (await timeline()).entries.map(({ kind }) => kind);

const test = serviceTest({ time: 'skipping' })
  /** An order whose link has expired while the gateway refuses to close its payment session. */
  .extend('expiredWhileClosingFails', ({ orders, gateway }) => async () => {
    const order = await orders.beingPaid();
    const { endFault, hits } = await gateway.addFault(CLOSING_FAILS);
    await expireLink(order);
    await untilClosing(order);
    return { ...order, endFault, hits };
  });

test.afterEach(async ({ service }) => {
  await withCallbacks(service);
});

describe('the expiry of the payment link, while a payment session is open', () => {
  test('closes the session at the gateway, then: ORDER_CANCELLED', async ({ merchant, orders }) => {
    const order = await orders.beingPaid();
    await expireLink(order);
    await order.untilStatus('CANCELLED');
    await expect(order.pay()).rejects.toThrow('The QR Code is closed');
    // The session expired with the payment link.
    expect(await order.readSession()).toEqual([408, undefined]);
    expect((await kinds(order)).slice(-2)).toEqual(['CLOSING_PAYMENT', 'ORDER_CANCELLED']);
    const [webhook] = await merchant.receiver.until(
      1,
      ({ event, body }) =>
        event === 'ORDER_CANCELLED' && body.data['order_number'] === order.order_number,
    );
    expect(webhook?.body.data['status']).toBe('CANCELLED');
  });

  test('is retried until the gateway can be reached; the timeline says what the order is doing', async ({
    service,
    expiredWhileClosingFails,
  }) => {
    const order = await expiredWhileClosingFails();
    for (const tries of [2, 3, 4, 5]) {
      await until(async () => (await order.hits()) >= tries || (await service.skip(5 * MINUTE_MS)));
    }
    expect((await order.read()).status).toBe('ACCEPTED');
    expect((await order.timeline()).next?.action).toBe('the payment session is being closed');
    await order.endFault();
    await service.skip(5 * MINUTE_MS);
    await order.untilStatus('CANCELLED');
    expect(await order.timeline()).toMatchObject({ doing: null, next: null });
  });

  test('allows no commands and no new session meanwhile: 400', async ({
    service,
    merchant,
    expiredWhileClosingFails,
  }) => {
    const order = await expiredWhileClosingFails();
    const refused = await Promise.all([
      merchant.sandbox.openSession(order),
      order.cancel(),
      merchant.sandbox.command(order, 'deliver'),
      order.advance(60),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const closing = '; the payment session is being closed';
    expect(refused.map(({ body }) => body.message)).toEqual([
      `Cannot pay; order must be in ACCEPTED status${closing}`,
      `Cannot cancel; order must be in ACCEPTED status${closing}`,
      'Cannot mark as delivered; order must be in PAID status',
      `Cannot advance; order must be in the sandbox, not busy, and in no final status${closing}`,
    ]);
    await order.endFault();
    await service.skip(5 * MINUTE_MS);
    await order.untilStatus('CANCELLED');
  });

  test('makes the order PAID if the gateway reports a payment', async ({ service, orders }) => {
    const order = await orders.beingPaid();
    await withoutCallbacks(service);
    await order.pay();
    await expireLink(order);
    await order.untilStatus('PAID');
    expect((await kinds(order)).slice(-2)).toEqual(['CLOSING_PAYMENT', 'PAYMENT_SUCCESS']);
  });

  test('makes the order PAID if the buyer pays while the gateway cannot close the session', async ({
    service,
    merchant,
    expiredWhileClosingFails,
  }) => {
    const order = await expiredWhileClosingFails();
    await order.pay();
    await order.untilStatus('PAID');
    await order.endFault();
    await service.skip(5 * MINUTE_MS);
    expect((await merchant.sandbox.command(order, 'deliver')).body.data.status).toBe('DELIVERED');
    expect(await order.readSession()).toEqual([408, undefined]);
  });

  test('is not prevented by a payment that fails meanwhile', async ({
    service,
    expiredWhileClosingFails,
  }) => {
    const order = await expiredWhileClosingFails();
    await order.pay({ vpa: 'failure@razorpay' });
    await until(async () => (await kinds(order)).includes('PAYMENT_FAILED'));
    expect((await order.timeline()).doing).toBe('closing');
    await order.endFault();
    await service.skip(5 * MINUTE_MS);
    await order.untilStatus('CANCELLED');
  });
});

test('the expiry of the payment link without an open session makes no gateway call', async ({
  merchant,
  gateway,
}) => {
  const order = await merchant.sandbox.create();
  const { hits } = await gateway.addFault({ kind: 'error' });
  await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS });
  await merchant.sandbox.untilStatus(order, 'CANCELLED');
  const { entries } = await merchant.sandbox.timeline(order);
  expect(entries.map(({ kind }) => kind)).not.toContain('CLOSING_PAYMENT');
  expect(await hits()).toBe(0);
});

describe('a cancel, while a payment session is open', () => {
  test('is not prevented by a payment that fails while the session is being closed', async ({
    orders,
    gateway,
  }) => {
    const order = await orders.beingPaid();
    const { endFault } = await gateway.addFault({ kind: 'held', path: CLOSING, work: 'after' });
    const cancelling = cancelUntilAnswered(order);
    await untilClosing(order);
    await order.pay({ vpa: 'failure@razorpay' });
    await until(async () => (await kinds(order)).includes('PAYMENT_FAILED'));
    await endFault();
    const { status, body } = await cancelling;
    expect([status, body.data.status]).toEqual([200, 'CANCELLED']);
  });

  test('allows no new session while the old one is being closed', async ({
    merchant,
    orders,
    gateway,
  }) => {
    const order = await orders.beingPaid();
    const { endFault } = await gateway.addFault({ kind: 'held', path: CLOSING });
    const cancelling = cancelUntilAnswered(order);
    // While a cancel that was 502 is repeated, the answer is the old session.
    await until(async () => (await merchant.sandbox.openSession(order)).status === 400);
    await endFault();
    expect((await cancelling).status).toBe(200);
  });

  test('that was 502 can be repeated with the same Idempotency-Key when the gateway is available again', async ({
    orders,
    gateway,
  }) => {
    const order = await orders.beingPaid();
    const cancel = () => order.cancel({ 'Idempotency-Key': 'cancel-once' });
    const { endFault } = await gateway.addFault(CLOSING_FAILS);
    expect([(await cancel()).status, (await cancel()).status]).toEqual([502, 502]);
    await endFault();
    await until(async () => (await cancel()).status !== 502);
    const { status, body } = await cancel();
    expect([status, body.data?.status]).toEqual([200, 'CANCELLED']);
    expect((await cancel()).body.data).toEqual(body.data);
  });

  test('is 502 while the gateway does not respond, and changes nothing', async ({
    orders,
    gateway,
  }) => {
    const order = await orders.beingPaid();
    const { endFault } = await gateway.addFault({ kind: 'late', path: CLOSING, work: 'never' });
    const { status } = await order.cancel();
    expect(status).toBe(502);
    await endFault();
    expect((await order.read()).status).toBe('ACCEPTED');
    await order.pay();
    await order.untilStatus('PAID');
    // Further cancels are 502 for some seconds, but not of an order that cannot be cancelled.
    expect((await order.cancel()).status).toBe(400);
  });
});
