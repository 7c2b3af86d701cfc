import type { WorkerOptions } from '@temporalio/worker';
import { expect, onTestFinished } from 'vitest';
import { MONEY_TASK_QUEUE, TASK_QUEUE, TASK_QUEUES } from '../../src/contracts/ids.ts';
import { makeVersionCurrent, taskQueuesOf } from '../../src/temporal/worker-versions.ts';
import { adminProcess } from '../support/admin-cli.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrderIn } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const DAY_SECONDS = 24 * 3600;
const AUTO_UPGRADE = 2;
const deploymentName = 'orders';
const test = serviceTest({ time: 'real', worker: false, callbacks: false });

const settingsOf = (buildId: string) => ({ TEMPORAL_WORKER_BUILD_ID: buildId });

/** A worker of a build in this process, as `npm run worker` creates it from the settings. */
async function runBuild(
  service: TestService,
  buildId: string,
  options: Partial<WorkerOptions> = {},
) {
  const worker = await service.startWorker(
    {},
    {
      ...options,
      workerDeploymentOptions: {
        version: { deploymentName, buildId },
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'AUTO_UPGRADE',
      },
    },
  );
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= worker.stop());
  onTestFinished(stop);
  return { stop };
}

const makeCurrent = ({ temporal }: TestService, buildId: string) =>
  makeVersionCurrent(
    temporal.client,
    { deploymentName, buildId },
    { taskQueues: TASK_QUEUES, waitMs: 30_000 },
  );

const promote = ({ env }: TestService, buildId: string) =>
  adminProcess({ ...env, ...settingsOf(buildId) }).json('worker', 'promote');

/** Waits until Temporal knows the workers of a build: `promote` itself waits only for seconds. */
const untilServed = (
  { temporal }: TestService,
  buildId: string,
  taskQueues: readonly string[] = TASK_QUEUES,
) =>
  until(async () => {
    const served = await taskQueuesOf(temporal.client, { deploymentName, buildId });
    return taskQueues.every((name) => served.has(name));
  });

/** The build that ran an order's last workflow task, and how the order moves to another build. */
async function buildOf({ handle }: DirectOrder) {
  const { raw } = await handle.describe();
  const { deploymentVersion, behavior } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  return { build: deploymentVersion?.buildId, behavior };
}

test('an order that one build has begun is finished by the next build once that is current', async ({
  service,
}) => {
  const { merchantId, receiver } = await service.newMerchant();
  const old = await runBuild(service, '1');
  await untilServed(service, '1');
  expect(await makeCurrent(service, '1')).toEqual({ previousBuildId: null });
  const order = await startOrderIn(service, 'DELIVERED', { merchantId });
  await receiver.until(3);
  expect(await buildOf(order)).toEqual({ build: '1', behavior: AUTO_UPGRADE });

  const next = await startWorkerProcess(service, { settings: settingsOf('2') });
  onTestFinished(() => next.kill());
  // The new build runs and gets no task yet: the order's next task goes to the old build.
  await order.update('dispute');
  expect((await buildOf(order)).build).toBe('1');

  await untilServed(service, '2');
  expect(await promote(service, '2')).toMatchObject({ buildId: '2', previousBuildId: '1' });
  await old.stop();
  await order.update('resolve');
  await order.update('advance', { seconds: DAY_SECONDS });
  await order.untilStatus('COMPLETED');
  await receiver.until(6);
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED' });
  expect((await buildOf(order)).build).toBe('2');
});

test('a version that leaves a task queue unserved is not made current', async ({ service }) => {
  await runBuild(service, '3', { enableNonLocalActivities: false }); // Only the orders' queue.
  await untilServed(service, '3', [TASK_QUEUE]);
  const admin = adminProcess({ ...service.env, ...settingsOf('3') });
  expect(await admin.refusal('worker', 'promote')).toBe(
    `No worker of build 3 serves ${MONEY_TASK_QUEUE}: start one first`,
  );
  const { client, namespace } = service.temporal;
  const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName,
  });
  const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion;
  expect(current?.buildId).not.toBe('3');
});

test('without a version in the settings the command has nothing to make current', async ({
  service,
}) => {
  expect(await adminProcess(service.env).refusal('worker', 'promote')).toBe(
    'TEMPORAL_WORKER_BUILD_ID is not set',
  );
});
