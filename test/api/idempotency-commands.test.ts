import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { expectRefusal, expectSuccess } from './expectations.ts';
import { twoProcessTest } from './two-processes.ts';

const CONCURRENT = 50;

const test = twoProcessTest();

const withKey = (key: string) => ({ 'Idempotency-Key': key });

/** An operation that a client repeats: the status in which it fits, and its timeline entry. */
interface Operation {
  path: string;
  body?: Record<string, unknown>;
  fits: OrderStatus;
  step: string;
  /** Other commands, after which this one is refused. */
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
  refund: {
    path: '/orders/{id}/refund',
    body: { reason: 'Sold out' },
    fits: 'PAID',
    step: 'REFUND_STARTED',
  },
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

async function orderIn(api: ApiClient, status: OrderStatus): Promise<Order> {
  const order = await api.create();
  for (const name of WAYS[status] ?? []) expectSuccess(await ask(api, name, order), 200);
  return order;
}

const read = async (api: ApiClient, { order_number }: Order) =>
  (await api.get(`/orders/${order_number}`)).body.data;

/** What a response says of its key. */
const replayOf = ({ headers }: { headers: Headers }) => ({
  replayed: headers.get('Idempotent-Replayed'),
  mismatch: headers.get('Idempotency-Key-Mismatch'),
});

describe.each(Object.entries(OPERATIONS))('%s', (name, { fits, step, afterwards = [] }) => {
  test('fifty equal concurrent commands over two processes take effect once, and one response is no replay', async ({
    api,
    both,
    stepsOf,
  }) => {
    const order = await orderIn(api, fits);
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, (_, index) =>
        ask(both[index % 2] ?? api, name, order, withKey(key)),
      ),
    );
    const [first] = answers;
    for (const answer of answers) {
      expect([answer.status, answer.body.message]).toEqual([200, first?.body.message]);
      expect(answer.body.data.order_number).toBe(order.order_number);
    }
    expect(answers.filter((answer) => replayOf(answer).replayed !== 'true')).toHaveLength(1);
    expect(answers.filter((answer) => replayOf(answer).mismatch !== null)).toEqual([]);
    const steps = await stepsOf(order.order_number);
    expect(steps.filter((kind) => kind === step)).toHaveLength(1);
  });

  test('a repeat with the same key returns the order as it is now', async ({
    api,
    both,
    stepsOf,
  }) => {
    const order = await orderIn(api, fits);
    const key = randomUUID();
    const answer = await ask(api, name, order, withKey(key));
    expectSuccess(answer, 200);
    expect(replayOf(answer)).toEqual({ replayed: null, mismatch: null });
    for (const next of afterwards) expectSuccess(await ask(api, next, order), 200);
    await untilSettled(api, order);
    for (const client of both) {
      const again = await ask(client, name, order, withKey(key));
      expect([again.status, again.body.data]).toEqual([200, await read(api, order)]);
      expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: null });
    }
    const steps = await stepsOf(order.order_number);
    expect(steps.filter((kind) => kind === step)).toHaveLength(1);
  });
});

/** Waits until a refund that has begun is finished, so that the order no longer changes. */
const untilSettled = (api: ApiClient, order: Order) =>
  until(async () => {
    const { refund } = await read(api, order);
    return refund === null || refund.processed_at !== null;
  });

describe('a repeat with the same key and another body', () => {
  const OTHER_BODIES: Record<string, Record<string, unknown>> = {
    deliver: { trackingId: 'IN2' },
    evidence: { text: 'Never sent' },
    resolve: { resolution: 'Keep it' },
    dispute: { reason: 'It is torn from side to side' },
    advance: { seconds: 61 },
  };

  test.for(Object.entries(OTHER_BODIES))(
    '%s: says that the key does not match, and changes nothing',
    async ([name, body], { api }) => {
      const { fits, path } = OPERATIONS[name] as Operation;
      const order = await orderIn(api, fits);
      const key = randomUUID();
      expectSuccess(await ask(api, name, order, withKey(key)), 200);
      const before = await read(api, order);
      const again = await api.post(path.replace('{id}', order.order_number), body, withKey(key));
      expect([again.status, again.body.data]).toEqual([200, before]);
      expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: 'true' });
    },
  );

  test('an absent field, null and an unknown field do not make another body', async ({ api }) => {
    const order = await orderIn(api, 'PAID');
    const path = `/orders/${order.order_number}/deliver`;
    const key = withKey(randomUUID());
    expectSuccess(await api.post(path, undefined, key), 200);
    const again = await api.post(path, { trackingId: null, unknown: 1 }, key);
    expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: null });
  });
});

describe('keys of commands', () => {
  test('a repeat without a key, or with another one, is refused because of the status', async ({
    api,
  }) => {
    const order = await orderIn(api, 'PAID');
    await ask(api, 'deliver', order, withKey('first'));
    for (const headers of [{}, withKey('second')]) {
      const message = 'Cannot mark as delivered; order must be in PAID status';
      expectRefusal(await ask(api, 'deliver', order, headers), 400, message);
    }
  });

  test('one key can be used for different operations and different orders', async ({ api }) => {
    for (const order of [await orderIn(api, 'PAID'), await orderIn(api, 'PAID')]) {
      expectSuccess(await ask(api, 'deliver', order, withKey('same')), 200);
      expectSuccess(await ask(api, 'dispute', order, withKey('same')), 200);
      const resolved = await ask(api, 'resolve', order, withKey('same'));
      expect([resolved.status, resolved.body.data.status]).toEqual([200, 'DELIVERED']);
    }
  });

  test('a refused command does not use up its key: it succeeds with the same key once it fits', async ({
    api,
  }) => {
    const order = await orderIn(api, 'ACCEPTED');
    const headers = withKey(randomUUID());
    expect((await ask(api, 'deliver', order, headers)).status).toBe(400);
    await ask(api, 'pay', order);
    const answer = await ask(api, 'deliver', order, headers);
    expectSuccess(answer, 200);
    expect(replayOf(answer)).toEqual({ replayed: null, mismatch: null });
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

  test('50 equal concurrent posts to 2 APIs open one session', async ({ service, api, both }) => {
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

  test('a repeat with the same key returns the same session as it is now: open, then paid', async ({
    api,
  }) => {
    const order = await api.create();
    const key = randomUUID();
    const first = await open(api, order, key);
    expectSuccess(first, 201);
    expect(replayOf(first).replayed).toBeNull();
    const open2 = await open(api, order, key);
    expect([open2.status, open2.body.data]).toEqual([200, first.body.data]);
    expect(replayOf(open2).replayed).toBe('true');
    await api.help(order, 'pay');
    const paid = await open(api, order, key);
    expect([paid.status, paid.body.data]).toEqual([200, { ...first.body.data, status: 'paid' }]);
    expect(replayOf(paid).replayed).toBe('true');
  });

  test('a repeat whose session has expired meanwhile is 408 and opens no session', async ({
    api,
    both,
  }) => {
    const order = await api.create();
    const key = randomUUID();
    const { session_id } = (await open(api, order, key)).body.data;
    await api.help(order, 'advance', { seconds: 15 * 60 });
    for (const client of both) {
      const again = await open(client, order, key);
      expectRefusal(again, 408, 'Payment session expired');
      expect(replayOf(again).replayed).toBe('true');
    }
    const fresh = await open(api, order, randomUUID());
    expect(fresh.status).toBe(201);
    expect(fresh.body.data.session_id).not.toBe(session_id);
  });
});
