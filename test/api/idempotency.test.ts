import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { anOrder } from '../support/api-client.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import { until } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { expectRefusal, expectSuccess, expectViolations } from './expectations.ts';

const CONCURRENT = 50;
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;
let api: ApiClient;
let second: ApiProcess;
/** The same merchant at two API processes. */
let both: ApiClient[];

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
  second = await startApiProcess(service);
  api = merchant.sandbox;
  both = [api, second.as(merchant.keys)];
});
afterAll(async () => {
  await second?.stop();
  await worker?.stop();
  await service?.stop();
});

const withKey = (key: string) => ({ 'Idempotency-Key': key });
const replayedOf = ({ headers }: ApiAnswer<unknown>) => headers.get('Idempotent-Replayed');
const read = async (order: Order) => (await api.get(`/orders/${order.order_number}`)).body.data;
const countOrders = async (key: string) =>
  (await service.sql`SELECT FROM orders WHERE idempotency_key = ${key}`).length;

describe('POST /orders', () => {
  test('the same key twice answers the existing order, as it stands now, and creates no other', async () => {
    const key = randomUUID();
    const created = await api.post('/orders', anOrder(), withKey(key));
    expectSuccess(created, 201);
    expect([created.headers.get('Idempotency-Key'), replayedOf(created)]).toEqual([key, null]);
    await api.help(created.body.data, 'pay');
    const again = await api.post('/orders', anOrder(), withKey(key));
    expectSuccess(again, 201);
    expect([again.headers.get('Idempotency-Key'), replayedOf(again)]).toEqual([key, 'true']);
    expect(again.body.data).toEqual(await read(created.body.data));
    expect(again.body.data.status).toBe('PAID');
    expect(await countOrders(key)).toBe(1);
  });

  test('without a key one is generated and named, and a repeat with it answers that order', async () => {
    const [one, two] = await Promise.all([
      api.post('/orders', anOrder()),
      api.post('/orders', anOrder()),
    ]);
    expect(one.body.data.order_number).not.toBe(two.body.data.order_number);
    const key = one.headers.get('Idempotency-Key') ?? '';
    const again = await api.post('/orders', anOrder(), withKey(key));
    expect([replayedOf(again), again.body.data.order_number]).toEqual([
      'true',
      one.body.data.order_number,
    ]);
  });

  test('another body under the same key answers the existing order, says so, and is logged', async () => {
    const key = randomUUID();
    const [, elsewhere] = both as [ApiClient, ApiClient];
    const { body } = await elsewhere.post('/orders', anOrder(), withKey(key));
    const again = await elsewhere.post('/orders', anOrder({ amount: 5 }), withKey(key));
    expectSuccess(again, 201);
    expect(again.body.data).toMatchObject({ order_number: body.data.order_number, amount: 499.5 });
    expect(again.headers.get('Idempotency-Key-Mismatch')).toBe('true');
    const log = () => readFile(second.logFile, 'utf8');
    await until(async () => (await log()).includes('Idempotency-Key used for another body'));
    expect(await log()).not.toContain('asha@example.com');
  });

  test('the same order written differently is no other body', async () => {
    const key = randomUUID();
    await api.post('/orders', anOrder(), withKey(key));
    const { description, ...rest } = anOrder();
    const again = await api.post(
      '/orders',
      { description, buyerName: null, ...rest },
      withKey(key),
    );
    expect(again.headers.get('Idempotency-Key-Mismatch')).toBeNull();
  });

  test('a body that fails validation is 400, key known or not', async () => {
    const key = randomUUID();
    await api.post('/orders', anOrder(), withKey(key));
    for (const known of [key, randomUUID()]) {
      const answer = await api.post('/orders', anOrder({ amount: 1 }), withKey(known));
      expectViolations(answer, { amount: 'must be greater than or equal to 5.0' });
    }
  });

  test('a key belongs to one merchant and one environment', async () => {
    const key = randomUUID();
    const other = await service.newMerchant({ webhooks: false });
    const answers = await Promise.all(
      [api, merchant.production, other.sandbox].map((client) =>
        client.post('/orders', anOrder(), withKey(key)),
      ),
    );
    expect(answers.map(replayedOf)).toEqual([null, null, null]);
    expect(new Set(answers.map(({ body }) => body.data.order_number)).size).toBe(3);
  });

  test('fifty equal posts at once, over two processes, are one order and one workflow', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, (_, index) =>
        (both[index % 2] ?? api).post('/orders', anOrder(), withKey(key)),
      ),
    );
    const numbers = new Set(answers.map(({ body }) => body.data.order_number));
    expect(answers.map(({ status }) => status)).toEqual(Array(CONCURRENT).fill(201));
    expect([numbers.size, await countOrders(key)]).toEqual([1, 1]);
    expect(answers.filter((answer) => replayedOf(answer) === null).length).toBe(1);
    const [orderNumber = ''] = numbers;
    await until(async () => (await stepsOf(orderNumber)).length > 0);
    expect(await stepsOf(orderNumber)).toEqual(['ORDER_CREATED']);
    const handle = service.temporal.client.workflow.getHandle(orderNumber);
    expect((await handle.describe()).status.name).toBe('RUNNING');
  });

  test('a replay starts no second workflow, also when Temporal has forgotten the first', async () => {
    const key = randomUUID();
    const { body } = await api.post('/orders', anOrder(), withKey(key));
    await api.post(`/orders/${body.data.order_number}/cancel`);
    // A namespace that does not exist remembers nothing, and refuses to start anything.
    const forgetful = await startApiProcess(service, { TEMPORAL_NAMESPACE: 'forgotten' });
    const client = forgetful.as(merchant.keys);
    const again = await client.post('/orders', anOrder(), withKey(key));
    const other = await client.post('/orders', anOrder());
    await forgetful.stop();
    expect([again.status, again.body.data.status, other.status]).toEqual([201, 'CANCELLED', 500]);
  });
});

const stepsOf = async (orderNumber: string) =>
  (
    await service.sql<{ kind: string }[]>`
      SELECT kind FROM order_steps WHERE order_number = ${orderNumber} ORDER BY step_number`
  ).map(({ kind }) => kind);

/** An operation as a client repeats it: where it fits, and what it leaves in the timeline. */
interface Operation {
  path: string;
  body?: Record<string, unknown>;
  fits: OrderStatus;
  step: string;
  /** Other commands, after which this one would be refused. */
  afterwards?: string[];
}

const OPERATIONS: Record<string, Operation> = {
  deliver: {
    path: '/orders/{id}/deliver',
    body: { trackingId: 'IN1' },
    fits: 'PAID',
    step: 'DELIVERY_CONFIRMED',
    afterwards: ['dispute', 'accept'],
  },
  cancel: { path: '/orders/{id}/cancel', fits: 'ACCEPTED', step: 'ORDER_CANCELLED' },
  evidence: {
    path: '/orders/{id}/dispute/evidence',
    body: { text: 'Signed for by the buyer' },
    fits: 'DISPUTE_OPEN',
    step: 'EVIDENCE_SUBMITTED',
    afterwards: ['resolve'],
  },
  resolve: {
    path: '/orders/{id}/dispute/resolve',
    body: { resolution: 'A new one is on its way' },
    fits: 'DISPUTE_OPEN',
    step: 'DISPUTE_RESOLVED',
  },
  accept: { path: '/orders/{id}/dispute/accept', fits: 'DISPUTE_OPEN', step: 'REFUND_STARTED' },
  pay: {
    path: '/test-helpers/orders/{id}/pay',
    fits: 'ACCEPTED',
    step: 'PAYMENT_SUCCESS',
    afterwards: ['deliver'],
  },
  'fail-payment': {
    path: '/test-helpers/orders/{id}/fail-payment',
    fits: 'ACCEPTED',
    step: 'PAYMENT_FAILED',
    afterwards: ['cancel'],
  },
  dispute: {
    path: '/test-helpers/orders/{id}/dispute',
    body: { reason: 'It never arrived at my door' },
    fits: 'DELIVERED',
    step: 'DISPUTE_RAISED',
    afterwards: ['accept'],
  },
  advance: {
    path: '/test-helpers/orders/{id}/advance',
    body: { seconds: 60 },
    fits: 'ACCEPTED',
    step: 'CLOCK_ADVANCED',
    afterwards: ['cancel'],
  },
};

const WAYS: Partial<Record<OrderStatus, string[]>> = {
  PAID: ['pay'],
  DELIVERED: ['pay', 'deliver'],
  DISPUTE_OPEN: ['pay', 'deliver', 'dispute'],
};

function ask(client: ApiClient, name: string, order: Order, headers: Record<string, string> = {}) {
  const { path, body } = OPERATIONS[name] as Operation;
  return client.post(path.replace('{id}', order.order_number), body, headers);
}

async function orderIn(status: OrderStatus): Promise<Order> {
  const order = await api.create();
  for (const name of WAYS[status] ?? []) expectSuccess(await ask(api, name, order), 200);
  return order;
}

/** Known to answer 400 to some of many equal posts: the fix is under way. */
const RACES = ['pay', 'dispute'];

describe.each(Object.entries(OPERATIONS))('%s', (name, { fits, step, afterwards = [] }) => {
  test.skipIf(RACES.includes(name))(
    'fifty equal posts at once, over two processes, happen once and all get the one answer',
    async () => {
      const order = await orderIn(fits);
      const key = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: CONCURRENT }, (_, index) =>
          ask(both[index % 2] ?? api, name, order, withKey(key)),
        ),
      );
      const [first] = answers;
      for (const answer of answers) {
        expect([answer.status, answer.body.message]).toEqual([200, first?.body.message]);
        expect(answer.body.data).toEqual(first?.body.data);
      }
      const steps = await stepsOf(order.order_number);
      expect(steps.filter((kind) => kind === step)).toHaveLength(1);
    },
  );

  test('a repeat with the same key gets the first answer again, whatever happened since', async () => {
    const order = await orderIn(fits);
    const key = randomUUID();
    const answer = await ask(api, name, order, withKey(key));
    expectSuccess(answer, 200);
    for (const next of afterwards) expectSuccess(await ask(api, next, order), 200);
    for (const client of both) {
      const again = await ask(client, name, order, withKey(key));
      expect([again.status, again.body.data]).toEqual([200, answer.body.data]);
    }
    const steps = await stepsOf(order.order_number);
    expect(steps.filter((kind) => kind === step)).toHaveLength(1);
  });
});

describe('keys of commands', () => {
  test('a repeat without a key, or with another one, is refused about the state', async () => {
    const order = await orderIn('PAID');
    await ask(api, 'deliver', order, withKey('first'));
    for (const headers of [{}, withKey('second')]) {
      const message = 'Cannot mark as delivered; order must be in PAID status';
      expectRefusal(await ask(api, 'deliver', order, headers), 400, message);
    }
  });

  test('one key can be used for different operations and different orders', async () => {
    const [one, two] = [await orderIn('PAID'), await orderIn('PAID')];
    for (const order of [one, two]) {
      expectSuccess(await ask(api, 'deliver', order, withKey('same')), 200);
      expectSuccess(await ask(api, 'dispute', order, withKey('same')), 200);
      const resolved = await ask(api, 'resolve', order, withKey('same'));
      expect([resolved.status, resolved.body.data.status]).toEqual([200, 'DELIVERED']);
    }
  });

  test('a refused command leaves nothing behind: with the same key it succeeds once it fits', async () => {
    const order = await orderIn('ACCEPTED');
    const headers = withKey(randomUUID());
    expect((await ask(api, 'deliver', order, headers)).status).toBe(400);
    await ask(api, 'pay', order);
    expectSuccess(await ask(api, 'deliver', order, headers), 200);
  });
});

describe('payment sessions', () => {
  const open = (client: ApiClient, order: Order, key: string) =>
    client.call<{ session_id: string; status: string }>(
      'POST',
      `/orders/${order.order_number}/payment-sessions`,
      undefined,
      withKey(key),
    );

  test('fifty equal posts at once, over two processes, open one session', async () => {
    const order = await api.create();
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, (_, index) => open(both[index % 2] ?? api, order, key)),
    );
    expect(new Set(answers.map(({ body }) => body.data.session_id)).size).toBe(1);
    const rows = await service.sql`
      SELECT FROM payment_sessions WHERE order_number = ${order.order_number}`;
    expect(rows).toHaveLength(1);
  });

  test.skip('a repeat with the same key gets the first answer again, also when the order is PAID', async () => {
    const order = await api.create();
    const key = randomUUID();
    const first = await open(api, order, key);
    expectSuccess(first, 201);
    await api.help(order, 'pay');
    const again = await open(api, order, key);
    expect([again.status, again.body.data]).toEqual([201, first.body.data]);
  });
});
