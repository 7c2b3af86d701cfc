import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

// Real time: the server that skips time loses a workflow task that an Update begins as a timer fires.
const test = serviceTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
  settings: { COMPLETION_WINDOW_SECONDS: '1' },
});

test('a release and a refund at the end of the window move the money one way only', async ({
  merchant,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const { completesAt } = await order.row();
  const key = { 'Idempotency-Key': randomUUID() };
  const path = `/orders/${order.orderNumber}/refund`;
  const refund = async () =>
    (await merchant.sandbox.post(path, { reason: 'Sold out' }, key)).status;
  await until(() => Date.now() >= Number(completesAt));
  let status = 500;
  // A client repeats a command whose answer is unknown.
  await until(async () => (status = await refund()) < 500);
  await order.untilStatus(status === 200 ? 'REFUNDED' : 'COMPLETED');
  const [refunds, transfers] = [await order.made('refunds'), await order.made('transfers')];
  expect([refunds.length, transfers.length]).toEqual(status === 200 ? [1, 0] : [0, 1]);
});
