import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { adminCli } from '../support/admin-cli.ts';
import { withoutCallbacks } from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const DAY_SECONDS = 24 * 3600;
let service: TestService;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
});
afterAll(() => service?.stop());

/** `npm run worker` of a build, and the command line with the same settings. */
async function startBuild(build: string, queues = '') {
  const version = { TEMPORAL_DEPLOYMENT_NAME: 'orders', TEMPORAL_WORKER_BUILD_ID: build };
  const settings = { ...version, WORKER_TASK_QUEUES: queues };
  const worker = await startWorkerProcess(service, { settings });
  onTestFinished(() => worker.kill());
  return { ...worker, admin: adminCli({ ...service.env, ...version }) };
}

const promote = (admin: AdminCli) =>
  admin.json<{ buildId: string; previousBuildId: string | null }>('worker', 'promote');

/** The build that has carried out an order's last workflow task, and how it gets to another one. */
async function buildOf({ handle }: DirectOrder) {
  const { raw } = await handle.describe();
  const { deploymentVersion, behavior } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  return { build: deploymentVersion?.buildId, behavior };
}
const AUTO_UPGRADE = 2;

test('an order that one build has begun is finished by the next, once that is current', async () => {
  const { merchantId, receiver } = await service.newMerchant();
  const old = await startBuild('1');
  expect(await promote(old.admin)).toMatchObject({ buildId: '1', previousBuildId: null });
  const order = await startOrderIn(service, 'DELIVERED', { merchantId });
  await receiver.until(3);
  expect(await buildOf(order)).toEqual({ build: '1', behavior: AUTO_UPGRADE });

  const next = await startBuild('2');
  // It runs, and gets nothing yet: the order's next task is the old one's.
  await order.update('dispute');
  expect((await buildOf(order)).build).toBe('1');

  expect(await promote(next.admin)).toMatchObject({ buildId: '2', previousBuildId: '1' });
  expect(await old.stop()).toBe(0);
  await order.update('resolve');
  await order.update('advance', { seconds: DAY_SECONDS });
  await order.untilStatus('COMPLETED');
  await receiver.until(6);
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED' });
  expect((await buildOf(order)).build).toBe('2');
});

test('a version that leaves a task queue unserved is not made current', async () => {
  const { merchantId } = await service.newMerchant({ webhooks: false });
  const whole = await startBuild('3');
  await promote(whole.admin);
  const half = await startBuild('4', TASK_QUEUE);
  expect(await half.admin.refusal('worker', 'promote')).toBe(
    `No worker of build 4 serves ${MONEY_TASK_QUEUE}: start one first`,
  );
  const order = await startOrderIn(service, 'CANCELLED', { merchantId });
  await order.handle.result();
  expect((await buildOf(order)).build).toBe('3');
});

test('without a version in the settings there is nothing to make current', async () => {
  expect(await adminCli(service.env).refusal('worker', 'promote')).toBe(
    'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID are not set',
  );
});
