import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { anOrder, withKey } from '../support/api-client.ts';
import type { ApiClient } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import { expectRefusal, expectSuccess } from './expectations.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

const arm = async (sandbox: ApiClient) =>
  expect((await sandbox.call('POST', '/test-helpers/fail-after-work')).status).toBe(200);

const listed = async (client: ApiClient) =>
  (await client.get<{ totalElements: number }>('/orders')).body.data.totalElements;

test('the next POST takes effect and answers 500, and its repeat with the same key finds the effect', async ({
  service,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  await arm(sandbox);
  const key = withKey(randomUUID());
  expectRefusal(await sandbox.post('/orders', anOrder(), key), 500, 'Internal server error');
  expect(await listed(sandbox)).toBe(1);
  const again = await sandbox.post('/orders', anOrder(), key);
  expectSuccess(again, 201);
  expect(again.headers.get('Idempotent-Replayed')).toBe('true');
  const order = again.body.data;
  await sandbox.help(order, 'pay');
  await arm(sandbox);
  const path = `/orders/${order.order_number}/deliver`;
  expectRefusal(await sandbox.post(path, {}, key), 500, 'Internal server error');
  expect((await sandbox.read(order)).status).toBe('DELIVERED');
  expectSuccess(await sandbox.post(path, {}, key), 200);
  expect(await listed(sandbox)).toBe(1);
});

test('reads, refused requests and test helpers do not use it up, and of requests at a time one does', async ({
  service,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const order = await sandbox.create();
  await arm(sandbox);
  expect((await sandbox.get('/orders')).status).toBe(200);
  expect((await sandbox.post('/orders', {})).status).toBe(400);
  expect((await sandbox.post(`/orders/${order.order_number}/deliver`)).status).toBe(400);
  expect((await sandbox.help(order, 'fail-payment')).status).toBe(200);
  // As many as an API works on for one merchant.
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => sandbox.post('/orders', anOrder())),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  expect(answers.filter(({ status }) => status === 500)).toHaveLength(1);
  expect(await listed(sandbox)).toBe(5);
});

test('it is of one merchant, and production has neither the helper nor the fault', async ({
  service,
}) => {
  const armed = await service.newMerchant({
    webhooks: false,
    linkedAccountId: 'acc_FailAfterWork',
  });
  const other = await service.newMerchant({ webhooks: false });
  await arm(armed.sandbox);
  // No request can write this: even so, production does not read it.
  await service.sql`
    INSERT INTO merchant_environments (merchant_id, environment, fails_after_work)
    VALUES (${armed.merchantId}, 'production', true)
    ON CONFLICT (merchant_id, environment) DO UPDATE SET fails_after_work = true`;
  expectSuccess(await armed.production.post('/orders', anOrder()), 201);
  expectSuccess(await other.sandbox.post('/orders', anOrder()), 201);
  const helper = await armed.production.call('POST', '/test-helpers/fail-after-work');
  expectRefusal(helper, 404, 'Not found');
  expect((await armed.sandbox.post('/orders', anOrder())).status).toBe(500);
});
