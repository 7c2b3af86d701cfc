import { pino } from 'pino';
import { expect } from 'vitest';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import {
  createPostgresRateLimiter,
  createSharedRateLimiter,
} from '../../src/http/limits/rate-limit-shared.ts';
import { connectDatabase, type Sql } from '../../src/db/client.ts';
import { installStoppedClock } from '../support/stopped-clock.ts';
import { databaseTest, once } from '../support/fixtures.ts';
import { UNTIL_MS } from '../support/time-limits.ts';
import { SANDBOX, serve } from './http-support.ts';

const log = pino({ level: 'silent' });
const IP = '192.0.2.1';

const installOnce = once(installStoppedClock);
const test = databaseTest()
  .extend('clock', { scope: 'file' }, ({ database }) => installOnce(database))
  // Connections whose clock is stopped.
  .extend('sql', { scope: 'file' }, ({ clock }, { onCleanup }) => {
    const sql = connectDatabase(clock.url);
    onCleanup(() => sql.end());
    return sql;
  });

test.beforeEach(async ({ database }) => {
  await database.sql`
    CREATE UNLOGGED TABLE IF NOT EXISTS rate_limits (
      client text PRIMARY KEY,
      admitted_at timestamptz[] NOT NULL
    ) WITH (fillfactor = 50)`;
  await database.sql`TRUNCATE rate_limits`;
});

/** Two API processes are two limiters that share only the table. */
function twoProcesses(sql: Sql, limitPerSecond = 10) {
  const limiters = [1, 2].map(() => createPostgresRateLimiter(sql, { limitPerSecond, log }));
  return async (index: number, ip = IP) => (await limiters[index % 2]?.admit(ip)) === true;
}

test('of a hundred concurrent requests over two processes exactly ten are admitted', async ({
  sql,
}) => {
  const admit = twoProcesses(sql);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => admit(index)));
  expect(answers.filter(Boolean)).toHaveLength(10);
});

test('never an eleventh within any one second, of eight clients of two processes', async ({
  sql,
  clock,
}) => {
  const admit = twoProcesses(sql);
  const admittedAtMs: number[] = [];
  for (let nowMs = 0; nowMs < 3_500; nowMs += 70) {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => admit(index)));
    admittedAtMs.push(...answers.filter(Boolean).map(() => nowMs));
    await clock.advance(70);
  }
  for (const [index, atMs] of admittedAtMs.entries()) {
    expect((admittedAtMs[index + 10] ?? Infinity) - atMs).toBeGreaterThan(1000);
  }
  expect(admittedAtMs).toHaveLength(40);
});

test('the window slides: a request older than a second no longer counts', async ({
  sql,
  clock,
}) => {
  const admit = twoProcesses(sql, 2);
  expect([await admit(0), await admit(1), await admit(0)]).toEqual([true, true, false]);
  await clock.advance(600);
  expect(await admit(0)).toBe(false);
  await clock.advance(600);
  expect([await admit(0), await admit(1), await admit(0)]).toEqual([true, true, false]);
});

test('each address has its own limit, an IPv6 client one for the whole /64', async ({ sql }) => {
  const admit = twoProcesses(sql, 1);
  expect(await admit(0, '2001:db8:1:2::1')).toBe(true);
  expect(await admit(1, '2001:db8:1:2::2')).toBe(false);
  expect(await admit(1, '2001:db8:1:3::1')).toBe(true);
});

test('a database clock that was set back locks no client out', async ({ sql, clock }) => {
  const admit = twoProcesses(sql, 1);
  expect([await admit(0), await admit(0)]).toEqual([true, false]);
  await clock.advance(-3_600_000);
  expect(await admit(0)).toBe(true);
});

test('the rows of inactive clients are removed, those of others stay', async ({ sql, clock }) => {
  let nowMs = 0;
  const limiter = createPostgresRateLimiter(sql, {
    limitPerSecond: 1,
    log,
    nowMs: () => nowMs,
  });
  await limiter.admit('192.0.2.1');
  await clock.advance(120_000);
  await limiter.admit('192.0.2.2');
  nowMs = 60_000;
  await limiter.admit('192.0.2.3');
  const clients = async () =>
    (await sql<{ client: string }[]>`SELECT client FROM rate_limits ORDER BY client`).map(
      ({ client }) => client,
    );
  await expect.poll(clients).toEqual(['192.0.2.2', '192.0.2.3']);
});

/** A process whose clock is stopped, with the limiter of all processes. */
function limitedProcess(sql: Sql, limitPerSecond: number, timeoutMs?: number) {
  const own = createMemoryRateLimiter({ limitPerSecond, nowMs: () => 0 });
  const shared = createPostgresRateLimiter(sql, { limitPerSecond, log });
  return createSharedRateLimiter({ shared, own, limitPerSecond, log, timeoutMs });
}

test('without its table each process counts for itself', async ({ database, sql }) => {
  await database.sql`DROP TABLE rate_limits`;
  await using server = await serve({ rateLimiter: limitedProcess(sql, 1) });
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(429);
});

test('while the table is locked each process counts for itself: a flood is limited, others are served', async ({
  database,
  sql,
}) => {
  const rateLimiter = limitedProcess(sql, 10, 200);
  await using server = await serve({ rateLimiter, trustedProxies: ['127.0.0.1'] });
  const ask = async (address: string) => {
    const headers = { 'X-Forwarded-For': address };
    return (await server.call(`${SANDBOX}/things/T1`, { headers })).status;
  };
  await database.sql.begin(async (locked) => {
    await locked`LOCK TABLE rate_limits`;
    const flood = Array.from({ length: 100 }, () => ask('192.0.2.1'));
    expect(await ask('192.0.2.2')).toBe(200);
    const statuses = await Promise.all(flood);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(90);
  });
});

test('a flood from one address has at most as many statements under way as its limit', async ({
  database,
  sql,
}) => {
  const rateLimiter = limitedProcess(sql, 3, UNTIL_MS);
  await database.sql.begin(async (locked) => {
    await locked`LOCK TABLE rate_limits`;
    const flood = Array.from({ length: 50 }, () => rateLimiter.admit(IP));
    const refused = await Promise.all(flood.slice(3));
    expect(refused.every((isAdmitted) => !isAdmitted)).toBe(true);
  });
});
