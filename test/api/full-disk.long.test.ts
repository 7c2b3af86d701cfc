import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { onSmallDisk, smallDiskOf } from '../../dev/files/small-disk.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import type { PartLine } from '../support/log-lines.ts';
import { linesIn, linesOf } from '../support/log-lines.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { repeatedIfLate } from '../support/repeated.ts';
import { requireMounting } from '../support/small-disk.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { expectSuccess } from './expectations.ts';

/** Enough lines to fill the API's buffer for a log that accepts none. */
const MANY = 2500;
const INFO = { LOG_LEVEL: 'info' };

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

/** Runs a command with its output and errors redirected to this file. */
const printingTo = (file: string, command: string[]) => [
  'sh',
  '-c',
  `exec "$@" >>'${file}' 2>&1`,
  'sh',
  ...command,
];

/** An unknown path, and more requests of one address than it has. */
const REFUSED: readonly unknown[] = [404, 429];

/** Requests that are cheap to refuse, each with a line in the log. */
async function sendMany({ origin }: ApiProcess): Promise<void> {
  const queue = Array.from({ length: MANY }).values();
  const send = async () => {
    for (const _ of queue) {
      const response = await fetch(`${origin}/nowhere`);
      await response.text();
      expect(REFUSED).toContain(response.status);
    }
  };
  await Promise.all(Array.from({ length: 16 }, send));
}

/** A merchant's operations: none waits until the log accepts lines again. */
async function useApi(merchant: Merchant, api: ApiProcess): Promise<void> {
  const client = api.as(merchant.keys);
  const key = withKey(randomUUID());
  const created = await repeatedIfLate(() => client.post('/orders', anOrder(), key));
  expectSuccess(created, 201);
  const read = (number: string) => repeatedIfLate(() => client.get(`/orders/${number}`));
  expectSuccess(await read(created.body.data.order_number), 200);
  expect((await read('none')).status).toBe(404);
}

const requestsIn = (lines: PartLine[]) =>
  lines.filter(({ msg, status }) => msg === 'request' && REFUSED.includes(status)).length;
const droppedIn = (lines: PartLine[]) =>
  lines.reduce((sum, { droppedLines = 0 }) => sum + Number(droppedLines), 0);

test('the API serves and stops as usual while its log accepts no line', async ({
  service,
  merchant,
}) => {
  const api = await startApiProcess(service, INFO, (command) => printingTo('/dev/full', command));
  await useApi(merchant, api);
  await sendMany(api);
  await useApi(merchant, api);
  process.kill(api.pid, 'SIGTERM');
  expect(await api.exited).toEqual({ code: 0, signal: null });
  await api.stop();
});

test('a worker does its work while its log accepts no line', async ({
  service,
  worker,
  merchant,
}) => {
  const output = openSync('/dev/full', 'w');
  const onFullDisk = await startWorkerProcess(service, { output, settings: INFO });
  await worker.stop();
  const order = await merchant.sandbox.create();
  expectSuccess(await merchant.sandbox.help(order, 'pay'), 200);
  expectSuccess(await merchant.sandbox.post(`/orders/${order.order_number}/deliver`), 200);
  expect(await onFullDisk.stop()).toBe(0);
  closeSync(output);
  await worker.start();
});

test('the API responds while the disk is full, and logging resumes when there is space', async ({
  skip,
  service,
  merchant,
}) => {
  requireMounting({ skip });
  const api = await startApiProcess(service, INFO, (command, folder) =>
    onSmallDisk(folder, 4096, printingTo(join(folder, 'full.log'), command)),
  );
  const disk = smallDiskOf(api.pid, api.folder);
  await useApi(merchant, api);
  disk.fill();
  await sendMany(api);
  await useApi(merchant, api);
  disk.free();
  const log = disk.path('full.log');
  await until(() => droppedIn(linesIn(log)) > 0);
  await useApi(merchant, api);
  const lines = linesIn(log);
  expect(requestsIn(lines) + droppedIn(lines)).toBeGreaterThanOrEqual(MANY);
  expect(lines.at(-1)).toMatchObject({
    msg: 'request',
    status: 404,
    merchantId: merchant.merchantId,
  });
  await api.stop();
});

/** Everything that can be read from a pipe at this moment. */
function readAvailable(descriptor: number): string {
  const buffer = Buffer.alloc(64 * 1024);
  try {
    const length = readSync(descriptor, buffer);
    return length === 0 ? '' : buffer.toString('utf8', 0, length) + readAvailable(descriptor);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    return '';
  }
}

test('a blocked log reader delays no request and gets complete lines when it continues', async ({
  service,
  merchant,
}) => {
  let reader = -1;
  const api = await startApiProcess(service, INFO, (command, folder) => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    return printingTo(pipe, command);
  });
  await sendMany(api);
  await useApi(merchant, api);
  let text = '';
  await until(() => droppedIn(linesOf((text += readAvailable(reader)))) > 0);
  const lines = linesOf(text);
  expect(requestsIn(lines) + droppedIn(lines)).toBeGreaterThanOrEqual(MANY);
  await api.stop();
  closeSync(reader);
});
