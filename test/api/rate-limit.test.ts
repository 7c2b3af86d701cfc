import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { ApiClient } from '../support/api-client.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { expectTooManyRequests } from './expectations.ts';

const LIMIT = 10;

const SETTINGS = {
  RATE_LIMIT_PER_SECOND: String(LIMIT),
  RATE_LIMIT_STORE: 'postgres',
  TRUSTED_PROXIES: '127.0.0.1',
};

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('first', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, SETTINGS), onCleanup),
  )
  .extend('second', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, SETTINGS), onCleanup),
  );

let clients = 0;
/** An address that no other test uses: each address has a separate limit. */
const freshAddress = () => `203.0.113.${(clients += 1)}`;
const ask = (client: ApiClient, address: string, path = '/orders?size=1') =>
  client.call<unknown>('GET', path, undefined, { 'X-Forwarded-For': address });
const admitted = (answers: readonly { status: number }[]) =>
  answers.filter(({ status }) => status !== 429).length;

/** Sends concurrent requests, alternating between the processes; returns how many windows they took at most. */
async function burst(
  merchant: Merchant,
  count: number,
  processes: readonly ApiProcess[],
  address: string,
) {
  const startedAtMs = performance.now();
  const asked = Array.from({ length: count }, (_, index) => {
    const process = processes[index % processes.length] as ApiProcess;
    return ask(process.as(merchant.keys), address);
  });
  const answers = await Promise.all(asked);
  return { answers, windows: Math.ceil((performance.now() - startedAtMs) / 1000) };
}

test('ten concurrent requests are admitted, more are 429 with exactly the specified body', async ({
  merchant,
  first,
}) => {
  const { answers, windows } = await burst(merchant, 30, [first], freshAddress());
  expect(admitted(answers)).toBeGreaterThanOrEqual(LIMIT);
  expect(admitted(answers)).toBeLessThanOrEqual(LIMIT * windows);
  expectTooManyRequests(answers);
});

test('never an eleventh in any trailing second, under three seconds of load', async ({
  merchant,
  first,
}) => {
  const address = freshAddress();
  const client = first.as(merchant.keys);
  const admissions: { sentAtMs: number; answeredAtMs: number }[] = [];
  const endsAtMs = performance.now() + 3_000;
  while (performance.now() < endsAtMs) {
    const sentAtMs = performance.now();
    const { status } = await ask(client, address);
    if (status !== 429) admissions.push({ sentAtMs, answeredAtMs: performance.now() });
  }
  // The service decided between request and response: ten requests apart, more than a second.
  for (const [index, { sentAtMs }] of admissions.entries()) {
    const eleventh = admissions[index + LIMIT];
    if (eleventh) expect(eleventh.answeredAtMs - sentAtMs).toBeGreaterThan(1000);
  }
  expect(admissions.length).toBeGreaterThanOrEqual(2 * LIMIT);
  expect(admissions.length).toBeLessThanOrEqual(4 * LIMIT);
});

test('two API processes that share PostgreSQL share one limit', async ({
  merchant,
  first,
  second,
}) => {
  const { answers, windows } = await burst(merchant, 40, [first, second], freshAddress());
  expect(admitted(answers)).toBeGreaterThanOrEqual(LIMIT);
  expect(admitted(answers)).toBeLessThanOrEqual(LIMIT * windows);
});

test('every address has its own limit; an IPv6 client has one for the whole /64', async ({
  merchant,
  first,
}) => {
  const oneCustomer = Array.from({ length: 30 }, (_, index) => `2001:db8:1:2::${index + 1}`);
  const client = first.as(merchant.keys);
  const startedAtMs = performance.now();
  const answers = await Promise.all(oneCustomer.map((address) => ask(client, address)));
  const windows = Math.ceil((performance.now() - startedAtMs) / 1000);
  expect(admitted(answers)).toBeLessThanOrEqual(LIMIT * windows);
  expect((await ask(client, '2001:db8:1:3::1')).status).toBe(200);
  expect((await ask(client, freshAddress())).status).toBe(200);
});

test('a forwarded address is accepted only from a configured proxy', async ({
  service,
  merchant,
}) => {
  const direct = await startApiProcess(service, { RATE_LIMIT_PER_SECOND: String(LIMIT) });
  const client = direct.as(merchant.keys);
  const startedAtMs = performance.now();
  const asked = Array.from({ length: 30 }, () => ask(client, freshAddress()));
  const answers = await Promise.all(asked);
  const windows = Math.ceil((performance.now() - startedAtMs) / 1000);
  await direct.stop();
  expect(admitted(answers)).toBeLessThanOrEqual(LIMIT * windows);
});

test('the limit covers only the merchant API: health, document and docs are not counted', async ({
  first,
}) => {
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
    const answers = await Promise.all(Array.from({ length: 15 }, () => fetch(first.origin + path)));
    expect([path, ...new Set(answers.map(({ status }) => status))]).toEqual([path, 200]);
  }
});

test('a limiter that fails lets requests through and says so in the log', async ({
  service,
  merchant,
  first,
}) => {
  await service.sql`ALTER TABLE rate_limits RENAME TO rate_limits_gone`;
  const { answers } = await burst(merchant, 30, [first], freshAddress());
  await service.sql`ALTER TABLE rate_limits_gone RENAME TO rate_limits`;
  expect(admitted(answers)).toBe(30);
  expect(await readFile(first.logFile, 'utf8')).toContain('The rate limiter failed');
});
