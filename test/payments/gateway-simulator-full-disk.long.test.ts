import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { onSmallDisk, smallDiskOf } from '../../dev/files/small-disk.ts';
import { requireMounting } from '../support/small-disk.ts';
import { KEYS, createCaller, startHarness } from './gateway-harness.ts';

const MODULE = new URL('../../dev/gateway-simulator/simulator.ts', import.meta.url).href;
const QR_CODE = { type: 'upi_qr', usage: 'single_use', fixed_amount: true, payment_amount: 10_000 };
const JOURNAL = 'simulator.jsonl';

/** The simulator in a separate process, with its journal on a disk of 64 KiB. */
async function startOnSmallDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-simulator-'));
  const options = { port: 0, ...KEYS, dataFile: join(folder, JOURNAL) };
  const script = `
    const { createGatewaySimulator } = await import(${JSON.stringify(MODULE)});
    const simulator = await createGatewaySimulator(${JSON.stringify(options)});
    console.log(simulator.url);
  `;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const [file = '', ...args] = onSmallDisk(folder, 64, node);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [url]: unknown[] = await once(createInterface(child.stdout), 'line');
  return {
    call: createCaller(String(url)),
    disk: smallDiskOf(child.pid ?? 0, folder),
    /** It writes no more, and its disk stays mounted. */
    freeze: () => child.kill('SIGSTOP'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

/** The last block of the journal may have room for some lines; the first refused line fits only in part. */
async function untilRefused(call: ReturnType<typeof createCaller>): Promise<void> {
  const { status } = await call('POST', '/v1/payments/qr_codes', QR_CODE);
  if (status === 200) await untilRefused(call);
  else expect(status).toBe(500);
}

test('a call that cannot be written to the journal is refused and changes nothing, and works when there is space', async (context) => {
  requireMounting(context);
  await using simulator = await startOnSmallDisk();
  const { call, disk } = simulator;
  const open = await call('POST', '/v1/payments/qr_codes', QR_CODE);
  const paid = await call('POST', '/v1/payments/qr_codes', QR_CODE);
  const payment = await call('POST', `/simulator/qr_codes/${paid.body.id}/pay`);
  disk.fill();
  await untilRefused(call);
  const everything = async () => [
    await call('GET', '/simulator/totals'),
    await call('GET', `/v1/payments/qr_codes/${open.body.id}`),
    await call('GET', `/v1/payments/${payment.body.id}`),
  ];
  const before = await everything();
  const journal = readFileSync(disk.path(JOURNAL), 'utf8');

  // The disk stays full until they have been answered.
  const refused = await Promise.all([
    call('POST', `/simulator/qr_codes/${open.body.id}/pay`),
    call('POST', `/v1/payments/${payment.body.id}/refund`, {}),
    call('POST', '/v1/payments/qr_codes', QR_CODE),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([500, 500, 500]);
  expect(await everything()).toEqual(before);
  // The part of the line that had room is removed, too.
  expect(readFileSync(disk.path(JOURNAL), 'utf8')).toBe(journal);
  expect(journal).toMatch(/\}\n$/);

  disk.free();
  const refund = await call('POST', `/v1/payments/${payment.body.id}/refund`, {});
  expect(refund.status).toBe(200);
  expect((await call('POST', `/simulator/qr_codes/${open.body.id}/pay`)).status).toBe(200);
  const totals = await call('GET', '/simulator/totals');
  expect(totals.body).toMatchObject({ isBalanced: true, refunds: 1 });

  const copies = mkdtempSync(join(tmpdir(), 'gateway-simulator-'));
  const dataFile = join(copies, JOURNAL);
  cpSync(disk.path(JOURNAL), dataFile);
  const again = await startHarness({ simulator: { dataFile } });
  expect(await again.totals()).toEqual(totals.body);
  await again.close();
  rmSync(copies, { recursive: true });
});

test('a simulator that starts on a full disk continues with its previous state', async (context) => {
  requireMounting(context);
  await using simulator = await startOnSmallDisk();
  const { call, disk } = simulator;
  const { body } = await call('POST', '/v1/payments/qr_codes', QR_CODE);
  await call('POST', `/simulator/qr_codes/${body.id}/pay`);
  const totals = await call('GET', '/simulator/totals');
  // Else it might write a line of its own, such as that of a callback, between those of the second one.
  simulator.freeze();
  disk.fill();
  // The same file on the same full disk, with a line that a kill has cut off.
  const dataFile = disk.path(JOURNAL);
  disk.free();
  appendFileSync(dataFile, '{"balances":{"platform":{"paise":99');
  disk.fill();
  const second = await startHarness({ simulator: { dataFile } });
  expect(await second.totals()).toEqual(totals.body);
  await untilRefused(second.call);
  disk.free();
  expect((await second.call('POST', '/v1/payments/qr_codes', QR_CODE)).status).toBe(200);
  await second.close();
  const third = await startHarness({ simulator: { dataFile } });
  expect(await third.totals()).toEqual(totals.body);
  await third.close();
});
