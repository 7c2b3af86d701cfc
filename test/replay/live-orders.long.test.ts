import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { adminProcess } from '../support/admin-cli.ts';
import { withoutCallbacks } from '../support/gateway.ts';
import { startOrder, startOrderIn, writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** `worker replay --json`. */
interface Replay {
  replayed: number;
  statuses: Record<string, number>;
  gone: number;
  failures: { orderNumber: string; isRunning: boolean; error: string }[];
}

let service: TestService;
let merchantId: string;
const admin = () => adminProcess(service.env);

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
  ({ merchantId } = await service.newMerchant({ webhooks: false }));
});
afterAll(() => service?.stop());

async function runWorker(...args: Parameters<TestService['startWorker']>) {
  const worker = await service.startWorker(...args);
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= worker.stop());
  onTestFinished(stop);
  return { stop };
}

/** The changed workflows, bundled into a file that a worker can load. */
async function bundleChangedWorkflows(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-changed-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const workflowsPath = fileURLToPath(new URL('../support/changed-workflows.ts', import.meta.url));
  const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  const file = join(folder, 'workflows.js');
  await writeFile(file, code);
  return file;
}

test('the histories of live orders of every status replay with the code of this checkout', async () => {
  const worker = await runWorker();
  const statuses = ['ACCEPTED', 'PAID', 'DELIVERED', 'DISPUTE_OPEN', 'CANCELLED'] as const;
  for (const status of statuses) await startOrderIn(service, status, { merchantId });
  await worker.stop();
  // Its workflow has not been started, so it has no history to replay.
  await writeOrder(service, { merchantId });

  const each = Object.fromEntries(statuses.map((status) => [status, 1]));
  expect(await admin().json<Replay>('worker', 'replay')).toEqual({
    replayed: statuses.length,
    statuses: each,
    gone: 1,
    failures: [],
  });
  const { stdout } = await admin().run('worker', 'replay', '--count', '3');
  expect(stdout).toMatch(/^[23] orders replayed \(.*\), 0 failed/);
});

test('an order whose history another workflow has written is named, with exit code 1', async () => {
  const codePath = await bundleChangedWorkflows();
  const worker = await runWorker({}, { workflowBundle: { codePath } });
  const other = await startOrder(service, { merchantId });
  await other.untilBegun();
  await until(async () => (await other.handle.describe()).historyLength > 6);
  await worker.stop();

  const { failures } = await admin().jsonOfFailure<Replay>('worker', 'replay');
  const { orderNumber } = other;
  expect(failures).toMatchObject([{ orderNumber, isRunning: true }]);
  expect(failures[0]?.error).toMatch(/Nondeterminism|determinis/i);
  const { code, stdout } = await admin().run('worker', 'replay');
  expect(code).toBe(1);
  expect(stdout).toContain(other.orderNumber);
});
