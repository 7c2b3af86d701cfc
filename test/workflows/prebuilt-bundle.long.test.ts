import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { linesIn } from '../support/log-lines.ts';
import { serviceTest } from '../support/service-test.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

/** What Temporal's SDK logs when it has bundled workflow code: 100 ms later, or when the worker stops. */
const BUNDLED = 'Workflow bundle created';

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  merchant: { webhooks: false },
});

test('a worker runs orders with the prebuilt bundle, and bundles nothing itself', async ({
  service,
  orders,
}) => {
  const logFile = join(temporaryFolder(), 'worker.log');
  const output = openSync(logFile, 'a');
  onTestFinished(() => closeSync(output));
  const worker = await startWorkerProcess(service, { output, settings: { LOG_LEVEL: 'info' } });
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
