import { describe, expect, onTestFinished } from 'vitest';
import { startHttpServer } from '../../src/http/server/server.ts';
import { composeApi } from '../../src/main/compose/compose.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import type { OrderRef } from '../support/api-client.ts';
import { startApiInstance } from '../support/api-instance.ts';
import { countingSql } from '../support/counted-work.ts';
import {
  askGateway,
  ledgerOf,
  madeAtGateway,
  payAtGateway,
  simulator,
} from '../support/gateway.ts';
import { eventNames } from '../../dev/orders/history.ts';
import type { TestService } from '../support/service.ts';
import { startApiWithSilentTemporal } from '../support/silent-temporal.ts';
import { until } from '../support/until.ts';
import type { CallbackKit } from './callback-kit.ts';
import { callbackTest } from './callback-kit.ts';

const test = callbackTest();

async function signalsOf({ temporal }: TestService, { order_number }: OrderRef): Promise<number> {
  const names = await eventNames(temporal.client.workflow.getHandle(order_number));
  return names.filter((name) => name === 'WORKFLOW_EXECUTION_SIGNALED').length;
}

/** Another API, which keeps each statement that it sends to the database. */
async function startCountedApi({ config, env, log, temporal: { client: temporal } }: TestService) {
  const { sql, statements } = countingSql(env.DATABASE_URL);
  const { app, readiness } = await composeApi({ config, sql, temporal, log });
  const place = { host: '127.0.0.1', port: 0, readinessGraceMs: 0 };
  const server = await startHttpServer(app, { ...place, readiness, log });
  onTestFinished(async () => {
    await server.stop();
    await sql.end();
  });
  statements.length = 0;
  return { origin: `http://127.0.0.1:${server.port}`, statements };
}

describe('a callback', () => {
  test.for<[string, (kit: CallbackKit, body: string) => Promise<Response>]>([
    ['without a signature', (kit, body) => kit.callBack(body, { signature: null })],
    [
      'with the signature of another body',
      (kit, body) => kit.callBack(body, { signature: kit.sign('{}') }),
    ],
    [
      'with another amount under the right signature',
      (kit, body) => kit.callBack(body.replace('49950', '49951'), { signature: kit.sign(body) }),
    ],
    [
      'that says the same in other bytes',
      (kit, body) => kit.callBack(`${body} `, { signature: kit.sign(body) }),
    ],
    [
      'signed with the secret of the other environment',
      (kit, body) => kit.callBack(body, { signature: kit.sign(body, 'production') }),
    ],
    [
      'signed for the sandbox, sent to production',
      (kit, body) => kit.callBack(body, { signature: kit.sign(body), environment: 'production' }),
    ],
  ])('%s is 401 and nothing is stored', async ([_what, send], { kit }) => {
    const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
    const answer = await send(kit, body);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('WWW-Authenticate')).toContain('X-Razorpay-Signature');
    expect(await kit.stored(paymentId)).toBe(0);
    expect((await kit.read(order)).status).toBe('ACCEPTED');
  });

  test.for([
    ['that is no JSON', '{"event":'],
    ['that is deeply nested', '['.repeat(32_000)],
    ['of 5 MB', 'x'.repeat(5_000_000)],
    ['without bytes', ''],
  ])('with a forged body %s is a bad signature', async ([, body = ''], { kit }) => {
    for (const signature of [null, 'f'.repeat(64)]) {
      const answer = await kit.callBack(body, { signature });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ message: 'Invalid signature' });
    }
  });

  test('beyond 32 at the same time is 429, while the API is served', async ({
    service,
    merchant,
    kit,
    gateway,
  }) => {
    const bodies: string[] = [];
    for (let n = 0; n < 33; n += 1) bodies.push((await kit.aPaymentNotYetHeardOf()).body);
    const api = await startApiInstance(service);
    // The gateway's answer comes when the fault is removed: until then each callback has its slot.
    await gateway.addFault({ kind: 'held', method: 'GET', path: '/v1/payments/*' });
    const last = bodies.pop()!;
    const answers = await Promise.all(bodies.map((body) => kit.callBack(body, api)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    for (const body of [last, '{"event": 1}']) {
      const refused = await kit.callBack(body, api);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('Retry-After')).toBe('10');
    }
    expect((await api.as(merchant.keys).get('/orders')).status).toBe(200);
    expect((await kit.callBack('forged', { ...api, signature: null })).status).toBe(401);
    await gateway.endFaults();
    await until(async () => (await kit.callBack(last, api)).status === 200);
    await api.stop();
  });

  test('that is processed after its answer is processed before the API ends', async ({
    service,
    kit,
    gateway,
  }) => {
    const { order, body } = await kit.aPaymentNotYetHeardOf();
    const api = await startApiInstance(service);
    await gateway.addFault({ kind: 'held', method: 'GET', path: '/v1/payments/*' });
    expect((await kit.callBack(body, api)).status).toBe(200);
    const stopped = api.stop();
    await gateway.endFaults();
    await stopped;
    await until(async () => (await kit.read(order)).status === 'PAID');
  });

  test('that is forged costs no statement of the database', async ({ service, kit }) => {
    const { origin, statements } = await startCountedApi(service);
    const { body } = await kit.aPaymentNotYetHeardOf();
    for (const forged of [body, '{"event":', '', 'x'.repeat(5_000_000)]) {
      for (const signature of [null, '', 'f'.repeat(64), kit.sign(`${forged} `)]) {
        expect((await kit.callBack(forged, { signature, origin })).status).toBe(401);
      }
    }
    expect(statements).toEqual([]);
    expect((await kit.callBack(body, { origin })).status).toBe(200);
    expect(statements).not.toEqual([]);
  });

  test.for([
    ['POST', '/callbacks/razorpay/staging', 404],
    ['POST', '/callbacks/razorpay/Sandbox', 404],
    ['POST', '/callbacks/razorpay/sandbox/', 404],
    ['POST', '/callbacks/razorpay', 404],
    ['POST', '/callbacks/stripe/sandbox', 404],
    ['GET', '/callbacks/razorpay/staging', 404],
    ['GET', '/callbacks/razorpay/sandbox', 405],
  ] as const)(
    'at a wrong path or with a wrong method is refused: %s %s',
    async ([method, path, status], { service }) => {
      const body = method === 'POST' ? { body: 'no JSON' } : {};
      const answer = await fetch(service.origin + path, { method, ...body });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('Allow')).toBe(status === 405 ? 'OPTIONS, POST' : null);
    },
  );

  test('is stored first and gets 200, while Temporal does not respond', async ({
    service,
    kit,
  }) => {
    const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
    const api = await startApiWithSilentTemporal(service);
    const { status } = await kit.callBack(body, api);
    expect(status).toBe(200);
    expect(await kit.stored(paymentId)).toBe(1);
    expect((await kit.read(order)).status).toBe('ACCEPTED');
    // The stored payment is not lost: reconciliation notifies the order of it.
    await service.clock.set(60_000);
    await reconcilePayments(service.deps);
    await kit.untilStatus(order, 'PAID');
  });

  test('about a failed payment reaches its order in the same way', async ({ service, kit }) => {
    const { order, body } = await kit.aPaymentNotYetHeardOf({ vpa: 'failure@razorpay' });
    const api = await startApiWithSilentTemporal(service);
    expect((await kit.callBack(body, api)).status).toBe(200);
    await service.clock.set(121_000);
    await reconcilePayments(service.deps);
    await until(async () => (await kit.events(order)).includes('PAYMENT_FAILED'));
  });

  test('about a refund that has failed is not lost either: reconciliation asks the gateway, and refunds again', async ({
    service,
    kit,
    orders,
  }) => {
    const order = await orders.in('REFUNDED');
    await kit.hold();
    const [refund] = await order.made('refunds');
    await simulator(service, 'POST', `/refunds/${refund!.id}/end`, { status: 'failed' });
    const bodies = await kit.bodiesAbout(refund!.id);
    const failed = bodies.find((body) => body.includes('refund.failed')) ?? '';
    const api = await startApiWithSilentTemporal(service);
    expect((await kit.callBack(failed, api)).status).toBe(200);
    const unconfirmed = () => service.sql`SELECT FROM gateway_callbacks WHERE is_unconfirmed`;
    expect(await unconfirmed()).toHaveLength(1);
    expect((await order.row()).refundProcessedAt).not.toBeNull();
    // The order's last change is too old for the daily comparison.
    await service.clock.set(8 * 24 * 3_600_000);
    await reconcilePayments(service.deps);
    await until(async () => (await order.ledgerLines()).length === 4);
    expect(await order.made('refunds')).toHaveLength(2);
    expect(await unconfirmed()).toEqual([]);
  });

  test.for([
    ['refund.processed', 'refund', 'processed'],
    ['payment.dispute.lost', 'dispute', 'lost'],
  ] as const)(
    'about a reversal that the gateway does not have records nothing: %s',
    async ([event, entity, status], { service, kit, orders }) => {
      const order = await orders.in('PAID');
      const payment_id = await order.paymentId();
      const reversal = { id: `${entity}_1`, entity, payment_id, amount: 49_950, currency: 'INR' };
      const payload = { [entity]: { entity: { ...reversal, status, notes: [], created_at: 1 } } };
      const body = JSON.stringify({ entity: 'event', event, payload });
      expect((await kit.callBack(body)).status).toBe(200);
      const stored = await service.sql<{ event: string }[]>`
        SELECT event FROM gateway_callbacks WHERE strpos(body, ${reversal.id}) > 0`;
      expect(stored).toEqual([{ event }]);
      expect((await order.row()).reversedPaise).toBe(0);
      expect(await order.ledgerLines()).toHaveLength(1);
      expect(await service.sql`SELECT FROM gateway_reversals`).toEqual([]);
    },
  );

  test('that arrives many times, concurrently and later, pays the order once', async ({
    service,
    kit,
  }) => {
    const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
    const copies = await Promise.all(Array.from({ length: 20 }, () => kit.callBack(body)));
    expect(new Set(copies.map(({ status }) => status))).toEqual(new Set([200]));
    await kit.untilStatus(order, 'PAID');
    await kit.release('as_created');
    expect((await kit.callBack(body)).status).toBe(200);
    expect(await kit.events(order)).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS']);
    expect((await ledgerOf(service, order.order_number)).lines).toHaveLength(1);
    expect(await kit.stored(paymentId)).toBe(23);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toEqual([]);
    expect(await signalsOf(service, order)).toBe(1);
  });

  test('about a payment or a session that is known costs one statement', async ({
    service,
    kit,
  }) => {
    const { order, gatewaySessionId, paymentId, body } = await kit.aPaymentNotYetHeardOf();
    await kit.callBack(body);
    await kit.untilStatus(order, 'PAID');
    const { origin, statements } = await startCountedApi(service);
    const about = [paymentId, gatewaySessionId].map((id) => kit.bodiesAbout(id));
    const bodies = new Set((await Promise.all(about)).flat());
    expect(bodies.size).toBe(3);
    for (const repeated of bodies) await kit.callBack(repeated, { origin });
    // The client's own statement of a new connection.
    const own = statements.filter((text) => !text.includes('typarray'));
    expect(own.map((text) => /FROM \w+/.exec(text)?.[0])).toEqual(
      Array.from(bodies, () => 'FROM write_callback'),
    );
  });

  test("about the payment of the sandbox's helper leaves the order to the helper", async ({
    service,
    merchant,
    kit,
  }) => {
    const order = await merchant.sandbox.create();
    expect((await merchant.sandbox.help(order, 'pay')).status).toBe(200);
    const { gatewayPaymentId } = await findOrderByNumber(service.sql, order.order_number);
    await until(async () => (await kit.stored(gatewayPaymentId ?? '')) >= 2);
    expect(await signalsOf(service, order)).toBe(0);
  });

  test('of a failure that arrives twice makes one PAYMENT_FAILED', async ({ merchant, kit }) => {
    const { order, body } = await kit.aPaymentNotYetHeardOf({ vpa: 'failure@razorpay' });
    await Promise.all([kit.callBack(body), kit.callBack(body)]);
    await kit.release('as_created');
    await until(async () => (await kit.events(order)).includes('PAYMENT_FAILED'));
    expect((await kit.callBack(body)).status).toBe(200);
    await merchant.sandbox.help(order, 'advance', { seconds: 1 });
    expect(await kit.events(order)).toEqual(['ORDER_CREATED', 'PAYMENT_FAILED']);
  });

  test('of each of two failures makes a separate PAYMENT_FAILED', async ({ service, kit }) => {
    const { order, gatewaySessionId } = await kit.anOrderBeingPaid();
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kit.events(order)).length === 3);
    expect((await kit.events(order)).slice(1)).toEqual(['PAYMENT_FAILED', 'PAYMENT_FAILED']);
  });

  test('that reports a failure after one that reported the payment is ignored', async ({
    service,
    merchant,
    kit,
  }) => {
    const { order, gatewaySessionId } = await kit.anOrderBeingPaid();
    await kit.hold();
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await payAtGateway(service, gatewaySessionId);
    await kit.release('reversed');
    await kit.untilStatus(order, 'PAID');
    const { body } = await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
    expect(body.data.status).toBe('DELIVERED');
    expect((await kit.events(order)).slice(1)).toEqual(['PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED']);
  });

  test('that reports the payment after one that reported a failure makes the order PAID', async ({
    service,
    kit,
  }) => {
    const { order, gatewaySessionId } = await kit.anOrderBeingPaid();
    await payAtGateway(service, gatewaySessionId, { vpa: 'failure@razorpay' });
    await until(async () => (await kit.events(order)).includes('PAYMENT_FAILED'));
    expect((await kit.read(order)).status).toBe('ACCEPTED');
    await payAtGateway(service, gatewaySessionId);
    await kit.untilStatus(order, 'PAID');
    expect((await kit.events(order)).slice(1)).toEqual(['PAYMENT_FAILED', 'PAYMENT_SUCCESS']);
  });

  test('that cannot be parsed is stored and gets 200 if its signature is the gateway’s', async ({
    service,
    kit,
  }) => {
    const body = JSON.stringify({ entity: 'event', event: 'payment.captured', payload: 'pay_odd' });
    expect((await kit.callBack(body)).status).toBe(200);
    expect(await kit.stored('pay_odd')).toBe(1);
    expect(service.logged.some(({ alert }) => alert === 'callback_not_understood')).toBe(true);
  });

  test('that reports a close does not hide that the session was paid: a cancel finds the order PAID', async ({
    service,
    merchant,
    kit,
  }) => {
    const { order, gatewaySessionId } = await kit.aPaymentNotYetHeardOf();
    const path = `/v1/payments/qr_codes/${gatewaySessionId}`;
    const entity = await askGateway(service, 'GET', path);
    const payload = { qr_code: { entity } };
    const body = JSON.stringify({ entity: 'event', event: 'qr_code.closed', payload });
    expect((await kit.callBack(body)).status).toBe(200);
    const cancelled = await merchant.sandbox.cancel(order);
    expect(cancelled.status).toBe(400);
    await kit.untilStatus(order, 'PAID');
  });

  test('about anything else is stored and changes nothing', async ({ kit }) => {
    const { order } = await kit.anOrderBeingPaid();
    const about = `payout of ${order.order_number}`;
    const body = JSON.stringify({ entity: 'event', event: 'payout.downtime', payload: { about } });
    expect((await kit.callBack(body)).status).toBe(200);
    expect(await kit.stored(about)).toBe(1);
    await until(async () => (await kit.events(order)).length > 0);
    expect(await kit.events(order)).toEqual(['ORDER_CREATED']);
  });

  test('about a payment to a suspended merchant counts', async ({ service, merchant, kit }) => {
    const { order, gatewaySessionId } = await kit.anOrderBeingPaid();
    const status = (name: string) => service.sql`
      UPDATE merchants SET status = ${name} WHERE merchant_id = ${merchant.merchantId}`;
    await status('SUSPENDED');
    await payAtGateway(service, gatewaySessionId);
    await until(async () => (await kit.events(order)).includes('PAYMENT_SUCCESS'));
    await status('APPROVED');
    expect((await kit.read(order)).status).toBe('PAID');
  });
});
