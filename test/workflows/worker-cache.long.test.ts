import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { linesIn } from '../support/log-lines.ts';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const CACHED = 6;
const ORDERS = 18;
const WORKER_STARTED = 'The worker polls for tasks';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

test('a worker that keeps six orders in memory carries out the commands of eighteen', async ({
  service,
  merchant,
}) => {
  const logFile = join(temporaryFolder(), 'worker.log');
  const output = openSync(logFile, 'a');
  const settings = { LOG_LEVEL: 'info', WORKER_MAX_CACHED_WORKFLOWS: String(CACHED) };
  const worker = await startWorkerProcess(service, { output, settings });
  onTestFinished(async () => {
    await worker.kill();
    closeSync(output);
  });
  const started = await until(async () =>
    linesIn(logFile).find((line) => line.msg === WORKER_STARTED),
  );
  expect(started).toMatchObject({ maxCachedWorkflows: CACHED });

  const orders = await Promise.all(
    Array.from({ length: ORDERS }, () => startOrder(service, merchant)),
  );
  // Each command meets an order that the others have pushed out of memory.
  for (const order of orders) await order.pay();
  for (const order of orders) await order.untilStatus('PAID');
  for (const order of orders) await order.update('deliver');
  const statuses = await Promise.all(orders.map(async (order) => (await order.row()).status));
  expect(statuses).toEqual(Array.from({ length: ORDERS }, () => 'DELIVERED'));
});
