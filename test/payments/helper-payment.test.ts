import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { expectRefusal, expectSuccess } from '../api/expectations.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test('a request to pay that failed after the gateway took the money is repeated until it is recorded', async ({
  service,
  merchant,
}) => {
  const order = await merchant.sandbox.create();
  const path = `/test-helpers/orders/${order.order_number}/pay`;
  const key = { 'Idempotency-Key': randomUUID() };
  const pay = () => merchant.sandbox.call<{ status: string }>('POST', path, undefined, key);
  await service.sql`ALTER TABLE payments ADD CONSTRAINT no_space CHECK (false) NOT VALID`;
  for (const _ of ['it pays', 'it finds the session paid']) {
    expectRefusal(await pay(), 500, 'Internal server error');
  }
  await service.sql`ALTER TABLE payments DROP CONSTRAINT no_space`;
  const paid = await pay();
  expectSuccess(paid, 200);
  expect(paid.body.data.status).toBe('PAID');
  const captures = await service.sql`
    SELECT FROM payments WHERE order_number = ${order.order_number}`;
  expect(captures).toHaveLength(1);
});

test('of requests to pay at the same moment one has paid, and the others are refused, also when repeated', async ({
  merchant,
}) => {
  const order = await merchant.sandbox.create();
  const path = `/test-helpers/orders/${order.order_number}/pay`;
  const keys = Array.from({ length: 6 }, () => ({ 'Idempotency-Key': randomUUID() }));
  const payAll = async () => {
    const answers = await Promise.all(
      keys.map((key) => merchant.sandbox.call('POST', path, undefined, key)),
    );
    return answers.map(({ status }) => status);
  };
  const statuses = await payAll();
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400, 400]);
  expect(await payAll()).toEqual(statuses);
});
