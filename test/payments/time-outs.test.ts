import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { RECONCILE_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

const workflow = (service: TestService, id: string) =>
  service.temporal.client.workflow.getHandle(id);

/** How long an attempt of this activity may take, in seconds, before the next one begins. */
async function timeoutOf(handle: WorkflowHandle, activity: string): Promise<number> {
  await handle.result();
  const { events } = await handle.fetchHistory();
  const scheduled = (events ?? [])
    .map(({ activityTaskScheduledEventAttributes }) => activityTaskScheduledEventAttributes)
    .find((attributes) => attributes?.activityType?.name === activity);
  return Number(scheduled?.startToCloseTimeout?.seconds);
}

test('an attempt to move money may take longer than its five gateway calls of 10 s each', async ({
  service,
  orders,
}) => {
  const released = await orders.in('COMPLETED');
  const refunded = await orders.in('REFUNDED');
  const cancelled = await orders.in('CANCELLED');
  const surplus = await cancelled.capture();
  await service.deps.workflows.startSurplusRefund({
    gateway: 'razorpay',
    gatewayPaymentId: surplus,
  });
  expect([
    await timeoutOf(released.handle, 'releaseFunds'),
    await timeoutOf(refunded.handle, 'refundPayment'),
    await timeoutOf(workflow(service, `refund-razorpay-${surplus}`), 'refundSurplus'),
  ]).toEqual([90, 90, 90]);
});

test('a reconciliation run whose worker dies is made up for within 5 minutes', async ({
  service,
}) => {
  const run = await service.temporal.client.workflow.start(RECONCILE_WORKFLOW, {
    workflowId: `reconcile-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
    args: [],
  });
  expect(await timeoutOf(run, 'reconcilePayments')).toBe(120);
});
