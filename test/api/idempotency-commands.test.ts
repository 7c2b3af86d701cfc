import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiClient } from '../support/api-client.ts';
import { withKey } from '../support/api-client.ts';
import { ask, COMMAND_REQUESTS, orderOverHttp } from '../support/command-requests.ts';
import { until } from '../support/until.ts';
import { testEqualRequests } from './equal-requests.ts';
import { expectRefusal, expectSuccess } from './expectations.ts';
import { openSessionOf, REPEATED_COMMANDS, replayOf } from './repeated-commands.ts';
import { twoApiTest } from './two-apis.ts';

const test = twoApiTest();

describe('ten equal requests', () => testEqualRequests(test, 10));

const read = async (api: ApiClient, { order_number }: Order) =>
  (await api.get(`/orders/${order_number}`)).body.data;

describe.each(REPEATED_COMMANDS)('$name', ({ name, fits, step, afterwards }) => {
  test('a repeat with the same key returns the order as it is now, says if its body is another one, and changes nothing', async ({
    api,
    both,
    stepsOf,
  }) => {
    const order = await orderOverHttp(api, fits);
    const headers = withKey(randomUUID());
    const answer = await ask(api, name, order, { headers });
    expectSuccess(answer, 200);
    expect(replayOf(answer)).toEqual({ replayed: null, mismatch: null });
    if (afterwards) expectSuccess(await ask(api, afterwards, order), 200);
    await untilRefunded(api, order);
    const before = await read(api, order);
    for (const client of both) {
      const again = await ask(client, name, order, { headers });
      expect([again.status, again.body.data]).toEqual([200, before]);
      expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: null });
    }
    const { body: sent } = COMMAND_REQUESTS[name];
    if (sent) {
      const again = await ask(api, name, order, { headers, body: otherBody(sent) });
      expect([again.status, again.body.data]).toEqual([200, before]);
      expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: 'true' });
      expect(again.body.message).toBe(
        'Existing result returned; its input differs from this request',
      );
    }
    expect(await read(api, order)).toEqual(before);
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

/** The same with another value of each field. */
const otherBody = (body: Record<string, string | number>) =>
  Object.fromEntries(
    Object.entries(body).map(([field, value]) => {
      if (typeof value === 'number') return [field, value + 1];
      if (field !== 'for') return [field, `${value} again`];
      return [field, value === 'buyer' ? 'merchant' : 'buyer'];
    }),
  );

describe('keys of commands', () => {
  test('an absent field, null and an unknown field do not make another body', async ({ api }) => {
    const order = await orderOverHttp(api, 'PAID');
    const path = `/orders/${order.order_number}/deliver`;
    const key = withKey(randomUUID());
    expectSuccess(await api.post(path, undefined, key), 200);
    const again = await api.post(path, { trackingId: null, unknown: 1 }, key);
    expect(replayOf(again)).toEqual({ replayed: 'true', mismatch: null });
  });

  test('a repeat without a key, or with another one, is refused because of the status', async ({
    api,
  }) => {
    const order = await orderOverHttp(api, 'PAID');
    await ask(api, 'deliver', order, { headers: withKey('first') });
    for (const headers of [{}, withKey('second')]) {
      const message = 'Cannot mark as delivered; order must be in PAID status';
      expectRefusal(await ask(api, 'deliver', order, { headers }), 400, message);
    }
  });

  test('one key can be used for different operations and different orders', async ({ api }) => {
    for (const order of [await orderOverHttp(api, 'PAID'), await orderOverHttp(api, 'PAID')]) {
      const headers = withKey('same');
      expectSuccess(await ask(api, 'deliver', order, { headers }), 200);
      expectSuccess(await ask(api, 'dispute', order, { headers }), 200);
      const resolved = await ask(api, 'resolve', order, { headers });
      expect([resolved.status, resolved.body.data.status]).toEqual([200, 'DELIVERED']);
    }
  });

  test('a refused command does not use up its key: it succeeds with the same key once it fits', async ({
    api,
  }) => {
    const order = await orderOverHttp(api, 'ACCEPTED');
    const headers = withKey(randomUUID());
    expect((await ask(api, 'deliver', order, { headers })).status).toBe(400);
    await ask(api, 'pay', order);
    const answer = await ask(api, 'deliver', order, { headers });
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
