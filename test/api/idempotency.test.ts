import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { startApiInstance } from '../support/api-instance.ts';
import type { TestService } from '../support/service.ts';
import { expectSuccess, expectViolations } from './expectations.ts';
import { twoApiTest } from './two-apis.ts';

const test = twoApiTest();

const replayedOf = ({ headers }: ApiAnswer<unknown>) => headers.get('Idempotent-Replayed');
const read = async (api: ApiClient, order: Order) =>
  (await api.get(`/orders/${order.order_number}`)).body.data;
const countOrders = async (service: TestService, key: string) =>
  (await service.sql`SELECT FROM orders WHERE idempotency_key = ${key}`).length;

describe('POST /orders', () => {
  test('the same key twice returns the existing order as it is now, and creates no other', async ({
    service,
    api,
  }) => {
    const key = randomUUID();
    const created = await api.post('/orders', anOrder(), withKey(key));
    expectSuccess(created, 201);
    expect([created.headers.get('Idempotency-Key'), replayedOf(created)]).toEqual([key, null]);
    await api.help(created.body.data, 'pay');
    const again = await api.post('/orders', anOrder(), withKey(key));
    expectSuccess(again, 201);
    expect([again.headers.get('Idempotency-Key'), replayedOf(again)]).toEqual([key, 'true']);
    expect(again.body.data).toEqual(await read(api, created.body.data));
    expect(again.body.data.status).toBe('PAID');
    expect(await countOrders(service, key)).toBe(1);
  });

  test('without a key one is generated and returned, and a repeat with it returns that order', async ({
    api,
  }) => {
    const [one, other] = await Promise.all([
      api.post('/orders', anOrder()),
      api.post('/orders', anOrder()),
    ]);
    expect(one.body.data.order_number).not.toBe(other.body.data.order_number);
    const key = one.headers.get('Idempotency-Key') ?? '';
    const again = await api.post('/orders', anOrder(), withKey(key));
    expect([replayedOf(again), again.body.data.order_number]).toEqual([
      'true',
      one.body.data.order_number,
    ]);
  });

  test('another body under the same key returns the existing order, says so, and is logged', async ({
    service,
    api,
  }) => {
    const key = randomUUID();
    const { body } = await api.post('/orders', anOrder(), withKey(key));
    const again = await api.post('/orders', anOrder({ amount: 5 }), withKey(key));
    expectSuccess(again, 201);
    expect(again.body.data).toMatchObject({ order_number: body.data.order_number, amount: 499.5 });
    expect(again.headers.get('Idempotency-Key-Mismatch')).toBe('true');
    expect(again.body.message).toBe('Existing order returned; its input differs from this request');
    const log = JSON.stringify(service.logged);
    expect(log).toContain('Idempotency-Key used for another body');
    expect(log).not.toContain('asha@example.com');
  });

  test('the same order in another notation is not another body', async ({ api }) => {
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

  test('a body that fails validation is 400, key known or not', async ({ api }) => {
    const key = randomUUID();
    await api.post('/orders', anOrder(), withKey(key));
    for (const known of [key, randomUUID()]) {
      const answer = await api.post('/orders', anOrder({ amount: 1 }), withKey(known));
      expectViolations(answer, { amount: 'must be greater than or equal to 5.0' });
    }
  });

  test('a key belongs to one merchant and one environment', async ({ service }) => {
    const key = randomUUID();
    const one = await service.newMerchant({ webhooks: false, linkedAccountId: 'acc_Asha' });
    const other = await service.newMerchant({ webhooks: false });
    const answers = await Promise.all(
      [one.sandbox, one.production, other.sandbox].map((client) =>
        client.post('/orders', anOrder(), withKey(key)),
      ),
    );
    expect(answers.map(replayedOf)).toEqual([null, null, null]);
    expect(new Set(answers.map(({ body }) => body.data.order_number)).size).toBe(3);
  });

  test('a replay starts no second workflow, even if Temporal has deleted the first', async ({
    service,
    merchant,
    api,
  }) => {
    const key = randomUUID();
    const { body } = await api.post('/orders', anOrder(), withKey(key));
    await api.post(`/orders/${body.data.order_number}/cancel`);
    // A namespace that does not exist has no workflows and cannot start any.
    const forgetful = await startApiInstance(service, { TEMPORAL_NAMESPACE: 'forgotten' });
    const client = forgetful.as(merchant.keys);
    const again = await client.post('/orders', anOrder(), withKey(key));
    const other = await client.post('/orders', anOrder());
    await forgetful.stop();
    expect([again.status, again.body.data.status, other.status]).toEqual([201, 'CANCELLED', 500]);
  });
});
