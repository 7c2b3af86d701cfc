import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiClient } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { testEqualRequests } from './equal-requests.ts';
import { expectRefusal, expectSuccess } from './expectations.ts';
import type { Operation } from './repeated-commands.ts';
import { ask, openSessionOf, OPERATIONS, orderIn, replayOf, withKey } from './repeated-commands.ts';
import { twoApiTest } from './two-apis.ts';

const test = twoApiTest();

describe('ten equal requests', () => testEqualRequests(test, 10));

const read = async (api: ApiClient, { order_number }: Order) =>
  (await api.get(`/orders/${order_number}`)).body.data;

describe.each(Object.entries(OPERATIONS))('%s', (name, { fits, step, afterwards = [] }) => {
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
    await untilRefunded(api, order);
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
const untilRefunded = (api: ApiClient, order: Order) =>
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
      expect(again.body.message).toBe(
        'Existing result returned; its input differs from this request',
      );
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
  test('a repeat with the same key returns the same session as it is now: open, then paid', async ({
    api,
  }) => {
    const order = await api.create();
    const key = randomUUID();
    const first = await openSessionOf(api, order, key);
    expectSuccess(first, 201);
    expect(replayOf(first).replayed).toBeNull();
    const open2 = await openSessionOf(api, order, key);
    expect([open2.status, open2.body.data]).toEqual([200, first.body.data]);
    expect(replayOf(open2).replayed).toBe('true');
    await api.help(order, 'pay');
    const paid = await openSessionOf(api, order, key);
    expect([paid.status, paid.body.data]).toEqual([200, { ...first.body.data, status: 'paid' }]);
    expect(replayOf(paid).replayed).toBe('true');
  });

  test('a repeat whose session has expired meanwhile is 408 and opens no session', async ({
    api,
    both,
  }) => {
    const order = await api.create();
    const key = randomUUID();
    const { session_id } = (await openSessionOf(api, order, key)).body.data;
    await api.help(order, 'advance', { seconds: 15 * 60 });
    for (const client of both) {
      const again = await openSessionOf(client, order, key);
      expectRefusal(again, 408, 'Payment session expired');
      expect(replayOf(again).replayed).toBe('true');
    }
    const fresh = await openSessionOf(api, order, randomUUID());
    expect(fresh.status).toBe(201);
    expect(fresh.body.data.session_id).not.toBe(session_id);
  });
});
