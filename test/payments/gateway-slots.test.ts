import { expect, test as unitTest } from 'vitest';
import {
  createGatewaySlots,
  WAITING_FOR_GATEWAY,
} from '../../src/payments/gateway/gateway-slots.ts';
import { post, textOf } from '../checkout/buyer.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import { until } from '../support/until.ts';

const test = serviceTest({
  time: 'real',
  merchant: { webhooks: false },
  gatewayTimeoutMs: HANGS_MS,
  responseTimeoutMs: HANGS_MS,
});

const { ofOne, ofAll } = WAITING_FOR_GATEWAY;
const TOO_MANY = {
  error: 'Too many of your requests wait for the payment gateway: try again in a few seconds',
};

/** One order each of several merchants, whose requests hang for the gateway later. */
const ordersOf = ({ sandbox }: Merchant, count: number) =>
  Promise.all(Array.from({ length: count }, () => sandbox.create()));

test('a merchant whose gateway hangs has sixteen requests waiting for it, and delays no other', async ({
  service,
  merchant: other,
  orders,
  gateway,
}) => {
  // As many as have a turn to change orders.
  const hanging = await Promise.all(
    Array.from({ length: 32 / ofOne }, () => service.newMerchant({ webhooks: false })),
  );
  const [first] = hanging;
  const [beyond, cancelled, bought] = await ordersOf(first!, 3);
  const paid = await orders.in('PAID');
  const given = await Promise.all(hanging.map((one) => ordersOf(one, ofOne)));
  const { hits } = await gateway.addFault({
    kind: 'held',
    method: 'POST',
    path: '/v1/payments/qr_codes',
    count: 32,
  });
  const waiting = hanging.flatMap(({ sandbox }, index) =>
    given[index]!.map((order) => sandbox.openSession(order)),
  );
  await until(async () => (await hits()) === 32);

  const refused = await first!.sandbox.openSession(beyond!);
  expect([refused.status, refused.body]).toEqual([429, TOO_MANY]);
  expect(refused.headers.get('Retry-After')).toBe('5');
  expect((await first!.sandbox.help(beyond!, 'pay')).status).toBe(429);
  expect((await first!.sandbox.command(cancelled!, 'cancel')).status).toBe(429);
  const page = await post(`${bought!.payment_url}/sessions`);
  expect([page.status, page.headers.get('Retry-After')]).toEqual([429, '5']);
  expect(textOf(page.html)).toContain('Try again in a few seconds.');
  // What needs no gateway is answered to the same merchant.
  expect((await first!.sandbox.read(await first!.sandbox.create())).status).toBe('ACCEPTED');

  const order = await other.sandbox.create();
  expect((await other.sandbox.read(order)).status).toBe('ACCEPTED');
  const delivered = await other.sandbox.command({ order_number: paid.orderNumber }, 'deliver');
  expect(delivered.body.data.status).toBe('DELIVERED');
  const opened = await other.sandbox.openSession(order);
  expect(opened.status).toBe(201);
  const { session_id: sessionId } = opened.body.data;
  expect((await other.sandbox.session(order, sessionId)).status).toBe(200);
  expect((await other.sandbox.cancel(order)).body.data.status).toBe('CANCELLED');

  await gateway.endFaults();
  const answers = await Promise.all(waiting);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect((await first!.sandbox.openSession(beyond!)).status).toBe(201);
});

test("a buyer's page is shown as it is recorded while no request may wait for the gateway", async ({
  service,
  gateway,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const [shown, ...others] = await Promise.all(
    Array.from({ length: ofOne + 1 }, () => sandbox.create()),
  );
  const session = await sandbox.openSession(shown!);
  const { hits } = await gateway.addFault({
    kind: 'held',
    method: 'POST',
    path: '/v1/payments/qr_codes',
  });
  const waiting = others.map((order) => sandbox.openSession(order));
  await until(async () => (await hits()) === ofOne);
  const page = await fetch(shown!.payment_url);
  expect([page.status, textOf(await page.text()).includes('Waiting for your payment')]).toEqual([
    200,
    true,
  ]);
  expect((await sandbox.session(shown!, session.body.data.session_id)).status).toBe(429);
  await gateway.endFaults();
  await Promise.all(waiting);
});

unitTest(
  'a request waits for a slot of its merchant, and begins no work when it was refused',
  async () => {
    const { sandbox } = createGatewaySlots();
    const held = Array.from({ length: ofOne }, () => Promise.withResolvers<void>());
    const begun: string[] = [];
    const holding = held.map(({ promise }) => sandbox.run('M1', () => promise));
    const waits = sandbox.run('M1', async () => void begun.push('in time'));
    held[0]!.resolve();
    await waits;
    const refills = sandbox.run('M1', () => held[1]!.promise);
    await expect(sandbox.run('M1', async () => void begun.push('late'))).rejects.toMatchObject({
      code: 'TOO_MANY_REQUESTS',
    });
    for (const { resolve } of held) resolve();
    await Promise.all([...holding, refills]);
    await sandbox.run('M1', async () => void begun.push('again'));
    expect(begun).toEqual(['in time', 'again']);
  },
);

unitTest('all merchants together have a limit, in each environment', async () => {
  const slots = createGatewaySlots();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const hold = (merchant: number, environment: 'sandbox' | 'production') =>
    slots[environment].run(`M${merchant}`, () => ended);
  const held = Array.from({ length: ofAll }, (_, index) => hold(index, 'sandbox'));
  const tooMany = expect.objectContaining({ code: 'TOO_MANY_REQUESTS' });
  await expect(hold(ofAll, 'sandbox')).rejects.toEqual(tooMany);
  held.push(hold(ofAll, 'production'));
  end();
  await Promise.all(held);
  await hold(ofAll, 'sandbox');
});
