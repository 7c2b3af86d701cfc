import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RECONCILE_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { withoutCallbacks } from '../support/gateway.ts';
import { startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  await withoutCallbacks(service);
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const workflow = (id: string) => service.temporal.client.workflow.getHandle(id);

/** How long a try of this activity may take, in seconds, before the next one begins. */
async function timeoutOf(handle: WorkflowHandle, activity: string): Promise<number> {
  await handle.result();
  const { events } = await handle.fetchHistory();
  const scheduled = (events ?? [])
    .map(({ activityTaskScheduledEventAttributes }) => activityTaskScheduledEventAttributes)
    .find((attributes) => attributes?.activityType?.name === activity);
  return Number(scheduled?.startToCloseTimeout?.seconds);
}

test('a try to move money may take longer than its five calls to the gateway of 10 s each', async () => {
  const released = await startOrderIn(service, 'COMPLETED', merchant);
  const refunded = await startOrderIn(service, 'REFUNDED', merchant);
  const cancelled = await startOrderIn(service, 'CANCELLED', merchant);
  const surplus = await cancelled.capture();
  await service.deps.workflows.refundSurplus(surplus);
  expect([
    await timeoutOf(released.handle, 'releaseFunds'),
    await timeoutOf(refunded.handle, 'refundPayment'),
    await timeoutOf(workflow(`refund-${surplus}`), 'refundSurplus'),
  ]).toEqual([90, 90, 90]);
});

test('a run of reconciliation whose worker dies is made good within 5 minutes', async () => {
  const run = await service.temporal.client.workflow.start(RECONCILE_WORKFLOW, {
    workflowId: `reconcile-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
    args: [],
  });
  expect(await timeoutOf(run, 'reconcilePayments')).toBe(120);
});
