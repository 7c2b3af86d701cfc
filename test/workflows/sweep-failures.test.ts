import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real', worker: false });

test('an activity of the sweep that fails cuts no other one off; the sweep then fails', async ({
  service,
}) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const worker = await service.startWorker({
    async wakeDueOrders() {
      await released;
      return { woken: 0 };
    },
    async remindOfDisputes() {
      throw ApplicationFailure.nonRetryable('The reminders fail');
    },
  });
  const swept = await service.temporal.client.workflow.start(SWEEP_WORKFLOW, {
    workflowId: 'sweep-with-a-failure',
    taskQueue: TASK_QUEUE,
  });
  // Until the workflow has seen the failure.
  await until(async () => {
    const names = await eventNames(swept);
    const failedAt = names.indexOf('ACTIVITY_TASK_FAILED');
    return failedAt !== -1 && names.lastIndexOf('WORKFLOW_TASK_COMPLETED') > failedAt;
  });
  release();
  await expect(swept.result()).rejects.toMatchObject({
    cause: { cause: { message: 'The reminders fail' } },
  });
  await worker.stop();
  const names = await eventNames(swept);
  expect(names.filter((name) => name === 'ACTIVITY_TASK_COMPLETED')).toHaveLength(5);
});
