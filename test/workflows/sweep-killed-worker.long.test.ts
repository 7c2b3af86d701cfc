import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { SWEEP_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { directOrder, writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const test = serviceTest({
  time: 'real',
  worker: false,
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  merchant: { webhooks: false },
});

// Without a heartbeat Temporal would wait five minutes for each activity of the sweep, longer than this test,
// and no other sweep would begin.
test('another worker continues the sweep of a worker that was killed', async ({
  service,
  merchant: { merchantId },
  worker,
}) => {
  const order = directOrder(service, await writeOrder(service, { merchantId }));
  const doomed = await startWorkerProcess(service);
  const { workflow } = service.temporal.client;
  const sweep = { workflowId: `sweep-${randomUUID()}`, taskQueue: TASK_QUEUE };
  const running = async () => {
    const { raw } = await workflow.getHandle(sweep.workflowId).describe();
    return raw.pendingActivities?.filter(({ lastStartedTime }) => lastStartedTime) ?? [];
  };
  await service.sql.begin(async (sql) => {
    // The sweep waits for this lock, and the worker is killed meanwhile.
    await sql`LOCK TABLE order_wakeups IN ACCESS EXCLUSIVE MODE`;
    await workflow.start(SWEEP_WORKFLOW, sweep);
    await until(async () =>
      (await running()).some(({ activityType }) => activityType?.name === 'wakeDueOrders'),
    );
    await doomed.kill();
  });

  await worker.start();
  const handle = workflow.getHandle(sweep.workflowId);
  await until(async () => (await handle.describe()).status.name === 'COMPLETED');
  expect(await handle.result()).toEqual({ woken: 1, mails: 0 });
  await order.untilBegun();
});
