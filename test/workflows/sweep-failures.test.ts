import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import { orderInputOf } from '../../src/orders/wake/wake-order.ts';
import { wakeDueOrders } from '../../src/orders/wake/wakeups.ts';
import { TEST_ACTOR } from '../support/actor.ts';
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

// The step of the repeat may be recorded after the wake, by a worker that then dies.
test('a command that is repeated while the sweep wakes its order keeps its line', async ({
  service,
  orders,
}) => {
  const { sql, deps } = service;
  const order = await orders.write();
  const { orderNumber } = order;
  await deps.workflows.start(orderInputOf(order));
  const origin = { actor: TEST_ACTOR, reason: 'A test asks for it' };
  const command = {
    orderNumber,
    commandId: 'cmd_repeated',
    name: 'cancel',
    body: {},
    origin,
  } as const;
  await writeCommand(sql, { ...command, wakeAfterMs: 0 });
  const find = async (found: string) => {
    if (found === orderNumber) await writeCommand(sql, { ...command, wakeAfterMs: 0 });
    return deps.workflows.find(found);
  };
  const lines = () => sql`
    SELECT cause_id FROM order_wakeups WHERE order_number = ${orderNumber} AND cause = 'command'`;
  await wakeDueOrders({ ...deps, workflows: { ...deps.workflows, find } });
  expect(await lines()).toEqual([{ causeId: 'cmd_repeated' }]);
  await wakeDueOrders(deps);
  expect(await lines()).toEqual([]);
});
