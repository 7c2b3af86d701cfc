import { expect } from 'vitest';
import type { ApiClient } from '../support/api-client.ts';
import type { ApiInstance } from '../support/api-instance.ts';
import { startApiInstance } from '../support/api-instance.ts';
import { once, stoppedAtEnd } from '../support/fixtures.ts';
import type { Merchant } from '../support/merchant.ts';
import { untilBlocked } from '../support/locks.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { installStoppedClock } from '../support/stopped-clock.ts';
import { expectTooManyRequests } from './expectations.ts';

const LIMIT = 10;

/** The clock of the limit, which two APIs share: it is stopped unless a test moves it. */
const clockOf = once(({ sql, env }: TestService) =>
  installStoppedClock({ sql, url: env.DATABASE_URL }),
);
const startLimited = async (service: TestService) =>
  startApiInstance(service, {
    DATABASE_URL: (await clockOf(service)).url,
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
    TRUSTED_PROXIES: '127.0.0.1',
  });

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('clock', { scope: 'file' }, ({ service }) => clockOf(service))
  .extend('first', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startLimited(service), onCleanup),
  )
  .extend('second', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startLimited(service), onCleanup),
  );

let clients = 0;
/** An address that no other test uses: each address has a separate limit. */
const freshAddress = () => `203.0.113.${(clients += 1)}`;
const ask = (client: ApiClient, address: string, path = '/orders?size=1') =>
  client.call<unknown>('GET', path, undefined, { 'X-Forwarded-For': address });
const admitted = (answers: readonly { status: number }[]) =>
  answers.filter(({ status }) => status !== 429).length;

/** Sends concurrent requests, alternating between the APIs. */
const burst = (merchant: Merchant, count: number, apis: readonly ApiInstance[], address: string) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => {
      const api = apis[index % apis.length] as ApiInstance;
      return ask(api.as(merchant.keys), address);
    }),
  );

test('ten concurrent requests are admitted, more are 429 with exactly the specified body', async ({
  merchant,
  first,
}) => {
  const answers = await burst(merchant, 30, [first], freshAddress());
  expect(admitted(answers)).toBe(LIMIT);
  expectTooManyRequests(answers);
});

test('never an eleventh in any trailing second, under three seconds of load', async ({
  merchant,
  first,
  clock,
}) => {
  const address = freshAddress();
  const client = first.as(merchant.keys);
  const admittedAtMs: number[] = [];
  for (let nowMs = 0; nowMs < 3_000; nowMs += 60) {
    const { status } = await ask(client, address);
    if (status !== 429) admittedAtMs.push(nowMs);
    await clock.advance(60);
  }
  for (const [index, atMs] of admittedAtMs.entries()) {
    expect((admittedAtMs[index + LIMIT] ?? Infinity) - atMs).toBeGreaterThan(1000);
  }
  expect(admittedAtMs).toHaveLength(3 * LIMIT);
});

test('two APIs that share PostgreSQL share one limit', async ({ merchant, first, second }) => {
  const answers = await burst(merchant, 40, [first, second], freshAddress());
  expect(admitted(answers)).toBe(LIMIT);
});

test('every address has its own limit; an IPv6 client has one for the whole /64', async ({
  merchant,
  first,
}) => {
  const oneCustomer = Array.from({ length: 30 }, (_, index) => `2001:db8:1:2::${index + 1}`);
  const client = first.as(merchant.keys);
  const answers = await Promise.all(oneCustomer.map((address) => ask(client, address)));
  expect(admitted(answers)).toBe(LIMIT);
  expect((await ask(client, '2001:db8:1:3::1')).status).toBe(200);
  expect((await ask(client, freshAddress())).status).toBe(200);
});

test('a forwarded address is accepted only from a configured proxy', async ({
  service,
  merchant,
  clock,
}) => {
  const direct = await startApiInstance(service, {
    DATABASE_URL: clock.url,
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
  });
  const client = direct.as(merchant.keys);
  const asked = Array.from({ length: 30 }, () => ask(client, freshAddress()));
  const answers = await Promise.all(asked);
  await direct.stop();
  expect(admitted(answers)).toBe(LIMIT);
});

test('the limit covers only the merchant API: health, document and docs are not counted', async ({
  first,
}) => {
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
    const answers = await Promise.all(Array.from({ length: 15 }, () => fetch(first.origin + path)));
    expect([path, ...new Set(answers.map(({ status }) => status))]).toEqual([path, 200]);
  }
});

test('an API whose limiter fails counts for itself and says so in the log', async ({
  service,
  merchant,
  first,
}) => {
  await service.sql`ALTER TABLE rate_limits RENAME TO rate_limits_gone`;
  const client = first.as(merchant.keys);
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask(client, freshAddress())));
  await service.sql`ALTER TABLE rate_limits_gone RENAME TO rate_limits`;
  expect(admitted(answers)).toBe(30);
  expect(first.logged.map(({ msg }) => msg)).toContain(
    'The shared rate limiter failed; this process counts for itself',
  );
});

test("a flood from one address is limited, and leaves others' requests alone, while the limiter's table is locked", async ({
  service,
  merchant,
}) => {
  const settings = {
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const api = await startApiInstance(service, settings, {}, 9_000);
  const flooding = freshAddress();
  await service.sql.begin(async (sql) => {
    await sql`LOCK TABLE rate_limits`;
    const flood = burst(merchant, 5 * LIMIT, [api], flooding);
    await untilBlocked(service, 'rate_limits');
    const client = api.as(merchant.keys);
    const other = { 'X-Forwarded-For': freshAddress() };
    expect((await client.call('GET', '/orders?size=1', undefined, other)).status).toBe(200);
    // How many are admitted depends on how long so many requests take to arrive.
    expect((await flood).map(({ status }) => status)).toContain(429);
  });
  await api.stop();
});
