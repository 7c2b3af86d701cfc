import { expect } from 'vitest';
import { listAlerts } from '../../src/alerts/alerts.ts';
import { breakNextEvent } from '../support/differing-sides.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const SLOTS = 4;

const test = serviceTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
  worker: { options: { maxConcurrentWorkflowTaskExecutions: SLOTS } },
});

const blockedOrders = async ({ sql }: TestService) =>
  (await listAlerts(sql, { kind: 'step_not_recorded' }, 100)).alerts.map(({ subject }) => subject);

test('more blocked orders than the worker has slots do not block other orders', async ({
  service,
  merchant,
  orders,
}) => {
  const broken = await Promise.all(Array.from({ length: 6 }, () => orders.in('PAID')));
  const repairs = await Promise.all(broken.map((order) => breakNextEvent(service, order)));
  for (const order of broken) await order.signal('deliver');

  const numbers = broken.map(({ orderNumber }) => orderNumber);
  const isBlocked = async (orderNumber: string) =>
    (await blockedOrders(service)).includes(orderNumber);
  for (const orderNumber of numbers) await until(() => isBlocked(orderNumber));

  const healthy = await merchant.sandbox.create();
  expect((await merchant.sandbox.help(healthy, 'pay')).status).toBe(200);
  const deliver = await merchant.sandbox.post(`/orders/${healthy.order_number}/deliver`);
  expect(deliver.status).toBe(200);

  expect(await broken[0]!.currentDetails()).toContain('**Blocked:**');

  await Promise.all(repairs.map((repair) => repair()));
  for (const order of broken) await order.untilStatus('DELIVERED');
  for (const orderNumber of numbers) await until(async () => !(await isBlocked(orderNumber)));
  // The row has the step before the workflow has written its details.
  await until(async () => !(await broken[0]!.currentDetails()).includes('Blocked'));
});
