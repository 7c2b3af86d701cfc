import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { linesIn } from '../support/log-lines.ts';
import { serviceTest } from '../support/service-test.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const ENTRIES = join(import.meta.dirname, '../../src/main');
/** What Temporal's SDK logs when it has bundled workflow code: 100 ms later, or when the worker stops. */
const BUNDLED = 'Workflow bundle created';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
}).extend('bundle', { scope: 'file' }, ({ service }, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-bundle-'));
  onCleanup(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'bundles', 'workflows.json');
  const { status } = run('build-workflows.ts', { ...service.env, WORKFLOW_BUNDLE: file });
  expect(status).toBe(0);
  return file;
});

function run(entry: string, env: NodeJS.ProcessEnv) {
  return spawnSync(process.execPath, [join(ENTRIES, entry)], {
    env: { ...PART_ENVIRONMENT, LOG_LEVEL: 'silent', ...env },
    encoding: 'utf8',
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  });
}

/** The line of a worker that refuses to start with this bundle. */
function refusalOf(serviceEnv: NodeJS.ProcessEnv, bundle: string): string {
  const { status, stderr } = run('worker.ts', { ...serviceEnv, WORKFLOW_BUNDLE: bundle });
  expect(status).toBe(1);
  return stderr;
}

test('a worker runs orders with the prebuilt bundle, and bundles nothing itself', async ({
  service,
  orders,
  bundle,
}) => {
  const logFile = join(temporaryFolder(), 'worker.log');
  const output = openSync(logFile, 'a');
  onTestFinished(() => closeSync(output));
  const settings = { LOG_LEVEL: 'info', WORKFLOW_BUNDLE: bundle };
  const worker = await startWorkerProcess(service, { output, settings });
  onTestFinished(() => worker.kill());
  const order = await orders.in('PAID');
  await order.update('deliver');
  await order.untilStatus('DELIVERED');
  expect(await worker.stop()).toBe(0);
  const messages = linesIn(logFile).map(({ msg }) => msg);
  expect(messages).toContain('The worker polls for tasks');
  expect(messages).not.toContain(BUNDLED);
});

test('without a prebuilt bundle a worker bundles the workflows itself', async ({ service }) => {
  const logFile = join(temporaryFolder(), 'worker.log');
  const output = openSync(logFile, 'a');
  onTestFinished(() => closeSync(output));
  const worker = await startWorkerProcess(service, {
    output,
    settings: { LOG_LEVEL: 'info', WORKFLOW_BUNDLE: '' },
  });
  onTestFinished(() => worker.kill());
  expect(await worker.stop()).toBe(0);
  expect(linesIn(logFile).map(({ msg }) => msg)).toContain(BUNDLED);
});

test('a worker refuses a bundle of other workflow code, in one line that says how to build it', ({
  service,
  bundle,
}) => {
  const content = JSON.parse(readFileSync(bundle, 'utf8')) as Record<string, string>;
  const other = join(temporaryFolder(), 'other.json');
  writeFileSync(other, JSON.stringify({ ...content, sources: '0'.repeat(64) }));
  expect(refusalOf(service.env, other)).toBe(
    `WORKFLOW_BUNDLE is of other workflow code than this checkout's, ${other}: npm run build:workflows\n`,
  );
});

test('a worker refuses a file that is no bundle, in one line', ({ service }) => {
  const missing = join(temporaryFolder(), 'missing.json');
  const line = (file: string) =>
    `WORKFLOW_BUNDLE names no bundle, ${file}: npm run build:workflows writes one\n`;
  expect(refusalOf(service.env, missing)).toBe(line(missing));
  const broken = join(temporaryFolder(), 'broken.json');
  writeFileSync(broken, '{"code":"');
  expect(refusalOf(service.env, broken)).toBe(line(broken));
});
