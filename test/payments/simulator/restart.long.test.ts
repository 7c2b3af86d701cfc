import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEYS, createCaller, startHarness, startReceiver } from '../gateway-harness.ts';

let directory: string;
let dataFile: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-simulator-'));
  dataFile = join(directory, 'nested', 'simulator.jsonl');
});
/** Ended after each test, so that a failing test leaves no process behind. */
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  rmSync(directory, { recursive: true });
});

const MODULE = new URL('../../../dev/gateway-simulator/simulator.ts', import.meta.url).href;

async function startProcess(options: object) {
  const script = `
    const { createGatewaySimulator } = await import(${JSON.stringify(MODULE)});
    const simulator = await createGatewaySimulator(${JSON.stringify({ port: 0, ...KEYS, ...options })});
    console.log(simulator.url);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  async function kill() {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  closing.push(kill);
  const [line]: unknown[] = await once(createInterface(child.stdout), 'line');
  return { call: createCaller(String(line)), kill };
}

const QR_CODE = { type: 'upi_qr', usage: 'single_use', fixed_amount: true, payment_amount: 10_000 };

test('everything booked before a kill -9 is there after the restart, to the last paisa', async () => {
  const first = await startProcess({ dataFile });
  const qrCode = await first.call('POST', '/v1/payments/qr_codes', QR_CODE);
  const paid = await first.call('POST', `/simulator/qr_codes/${qrCode.body.id}/pay`);
  const headers = { 'x-refund-idempotency': `${paid.body.id}-refund` };
  const refundPath = `/v1/payments/${paid.body.id}/refund`;
  const refund = await first.call('POST', refundPath, { amount: 2_500 }, headers);
  const open = await first.call('POST', '/v1/payments/qr_codes', QR_CODE);
  const totals = await first.call('GET', '/simulator/totals');
  await first.kill();

  const second = await startProcess({ dataFile });
  expect(await second.call('GET', '/simulator/totals')).toEqual(totals);
  expect(await second.call('POST', refundPath, { amount: 2_500 }, headers)).toEqual(refund);
  const state = async (id: string) => {
    const { body } = await second.call('GET', `/v1/payments/qr_codes/${id}`);
    return [body['status'], body['close_reason']];
  };
  expect(await state(qrCode.body.id)).toEqual(['closed', 'paid']);
  expect(await state(open.body.id)).toEqual(['active', null]);
  await second.kill();
});

test('a kill -9 during 200 refunds loses no acknowledged refund and makes none twice', async () => {
  const first = await startProcess({ dataFile });
  const paymentIds: string[] = [];
  for (let count = 0; count < 200; count += 1) {
    const { body } = await first.call('POST', '/v1/payments/qr_codes', QR_CODE);
    paymentIds.push((await first.call('POST', `/simulator/qr_codes/${body.id}/pay`)).body.id);
  }
  const answered: string[] = [];
  const refunding = paymentIds.map(async (paymentId) => {
    const { body } = await first.call('POST', `/v1/payments/${paymentId}/refund`, { amount: 100 });
    answered.push(body.id);
    if (answered.length === 50) await first.kill();
  });
  await Promise.allSettled(refunding);

  const harness = await startHarness({ simulator: { dataFile } });
  for (const refundId of answered) {
    expect((await harness.call('GET', `/v1/refunds/${refundId}`)).status).toBe(200);
  }
  expect(await harness.totals()).toMatchObject({ isBalanced: true, capturedPaise: 2_000_000 });
  const refunds = await harness.total('refunds');
  expect(refunds).toBeGreaterThanOrEqual(50);
  expect(await harness.total('refundedPaise')).toBe(refunds * 100);
  await harness.close();
});

test('a callback that was being sent at the kill is sent after the restart', async () => {
  const statuses: number[] = [];
  const receiver = await startReceiver(statuses);
  const callbackRetryDelaysMs = [3_600_000];
  const first = await startProcess({ dataFile, callbackUrl: receiver.url, callbackRetryDelaysMs });
  const { body } = await first.call('POST', '/v1/payments/qr_codes', QR_CODE);
  await first.call('POST', '/simulator/callbacks/idle');
  statuses.push(500);
  await first.call('POST', `/simulator/qr_codes/${body.id}/fail`);
  await receiver.until(2);
  await first.kill();
  const second = await startHarness({ simulator: { dataFile, callbackUrl: receiver.url } });
  await second.simulator.callbacksIdle();
  expect(receiver.names()).toEqual(['qr_code.created', 'payment.failed', 'payment.failed']);
  expect(new Set(receiver.received.map(({ eventId }) => eventId)).size).toBe(2);
  await second.close();
  await receiver.close();
});

test('a line that the kill cut off is ignored', async () => {
  const first = await startHarness({ simulator: { dataFile } });
  await first.capture();
  const totals = await first.totals();
  await first.close();
  appendFileSync(dataFile, '{"balances":{"platform":{"paise":99');
  const second = await startHarness({ simulator: { dataFile } });
  expect(await second.totals()).toEqual(totals);
  await second.capture();
  await second.close();
  const third = await startHarness({ simulator: { dataFile } });
  expect(await third.totals()).toMatchObject({ capturedPaise: 20_000, isBalanced: true });
  await third.close();
});
