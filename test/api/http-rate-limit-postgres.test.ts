import { pino } from 'pino';
import { expect } from 'vitest';
import { createPostgresRateLimiter } from '../../src/http/limits/rate-limit-postgres.ts';
import type { Sql } from '../../src/db/client.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { installStoppedClock } from '../support/stopped-clock.ts';
import { databaseTest, once } from '../support/fixtures.ts';
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
  return async (index: number, ip = IP) =>
    (await limiters[index % 2]?.admit(ip))?.admitted === true;
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

test('without its table the limiter fails, and the API continues to serve', async ({
  database,
  sql,
}) => {
  await database.sql`DROP TABLE rate_limits`;
  const rateLimiter = createPostgresRateLimiter(sql, { limitPerSecond: 1, log });
  await using server = await serve({ rateLimiter });
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
});
