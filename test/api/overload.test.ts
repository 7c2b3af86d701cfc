import { expect } from 'vitest';
import { CHANGES_AT_ONCE } from '../../src/http/limits/turns.ts';
import { serviceTest } from '../support/service-test.ts';

/** Nothing answers a command until the test starts the worker. */
const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

test("a merchant whose commands hang stops no other merchant's, and the excess is 429 before anything was begun", async ({
  service,
  worker,
  merchant: other,
}) => {
  const { sandbox, merchantId } = await service.newMerchant({ webhooks: false });
  const orders = [];
  for (let index = 0; index < 3 * CHANGES_AT_ONCE; index += 1) orders.push(await sandbox.create());
  const commands = async () =>
    (
      await service.sql`
        SELECT 1 FROM order_commands c JOIN orders o USING (order_number)
        WHERE o.merchant_id = ${merchantId}`
    ).length;
  let answered = 0;
  const answers = orders.map(async (order) => {
    const answer = await sandbox.help(order, 'advance', { seconds: 60 });
    answered += 1;
    return answer;
  });
  await expect.poll(commands).toBe(CHANGES_AT_ONCE / 2);
  const created = await other.sandbox.call('POST', '/orders', {
    amount: 499.5,
    buyerEmail: 'asha@example.com',
    buyerPhone: '+919876543210',
    description: 'Blue kurta, size M',
  });
  expect(created.status).toBe(201);

  // The refused requests are answered while the others hang.
  await expect.poll(() => answered).toBe(orders.length - CHANGES_AT_ONCE / 2);
  expect(await commands()).toBe(CHANGES_AT_ONCE / 2);
  await worker.start();
  const all = await Promise.all(answers);
  const refused = all.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(orders.length - CHANGES_AT_ONCE / 2);
  for (const { body, headers } of refused) {
    expect(body).toEqual({ error: 'Too many requests. Please slow down.' });
    expect(headers.get('X-Error-Code')).toBe('TOO_MANY_REQUESTS');
    expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(1);
  }
  expect(await commands()).toBe(CHANGES_AT_ONCE / 2);
});
