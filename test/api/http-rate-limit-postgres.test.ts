import { pino } from 'pino';
import { expect } from 'vitest';
import { createPostgresRateLimiter } from '../../src/http/rate-limit-postgres.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { SANDBOX, serve } from './http-support.ts';

const log = pino({ level: 'silent' });
const IP = '192.0.2.1';

const test = databaseTest();

test.beforeEach(async ({ database }) => {
  await database.sql`
    CREATE UNLOGGED TABLE IF NOT EXISTS rate_limits (
      client text PRIMARY KEY,
      admitted_at timestamptz[] NOT NULL
    ) WITH (fillfactor = 50)`;
  await database.sql`TRUNCATE rate_limits`;
});

/** Two API processes are two limiters that share only the table. */
function twoProcesses(database: TestDatabase, limitPerSecond = 10) {
  const limiters = [1, 2].map(() =>
    createPostgresRateLimiter(database.sql, { limitPerSecond, log }),
  );
  return async (index: number, ip = IP) =>
    (await limiters[index % 2]?.admit(ip))?.admitted === true;
}

/** Makes everything that was admitted older, instead of waiting. */
const age = async (database: TestDatabase, ms: number) =>
  database.sql`
    UPDATE rate_limits
    SET admitted_at = ARRAY(SELECT at - ${ms} * interval '1 ms' FROM unnest(admitted_at) AS at)`;

test('of a hundred concurrent requests over two processes exactly ten are admitted', async ({
  database,
}) => {
  const admit = twoProcesses(database);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => admit(index)));
  expect(answers.filter(Boolean)).toHaveLength(10);
});

test('never an eleventh within any one second under sustained load from two processes', async ({
  database,
}) => {
  const admit = twoProcesses(database);
  let admitted = 0;
  const startMs = performance.now();
  const endMs = startMs + 3500;
  const client = async (index: number) => {
    while (performance.now() < endMs) {
      if (await admit(index)) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(index)));
  const windows = Math.ceil((performance.now() - startMs) / 1000);
  const rows = await database.sql<{ count: number }[]>`
    SELECT max(cardinality(admitted_at))::int AS count FROM rate_limits`;
  expect(rows[0]?.count).toBeLessThanOrEqual(10);
  expect(admitted).toBeGreaterThanOrEqual(30);
  expect(admitted).toBeLessThanOrEqual(10 * windows);
});

test('the window slides: a request older than a second no longer counts', async ({ database }) => {
  const admit = twoProcesses(database, 2);
  expect([await admit(0), await admit(1), await admit(0)]).toEqual([true, true, false]);
  await age(database, 600);
  expect(await admit(0)).toBe(false);
  await age(database, 600);
  expect([await admit(0), await admit(1), await admit(0)]).toEqual([true, true, false]);
});

test('each address has its own limit, an IPv6 client one for the whole /64', async ({
  database,
}) => {
  const admit = twoProcesses(database, 1);
  expect(await admit(0, '2001:db8:1:2::1')).toBe(true);
  expect(await admit(1, '2001:db8:1:2::2')).toBe(false);
  expect(await admit(1, '2001:db8:1:3::1')).toBe(true);
});

test('a database clock that was set back locks no client out', async ({ database }) => {
  const admit = twoProcesses(database, 1);
  expect([await admit(0), await admit(0)]).toEqual([true, false]);
  await age(database, -3_600_000);
  expect(await admit(0)).toBe(true);
});

test('the rows of inactive clients are removed, those of others stay', async ({ database }) => {
  let nowMs = 0;
  const limiter = createPostgresRateLimiter(database.sql, {
    limitPerSecond: 1,
    log,
    nowMs: () => nowMs,
  });
  await limiter.admit('192.0.2.1');
  await age(database, 120_000);
  await limiter.admit('192.0.2.2');
  nowMs = 60_000;
  await limiter.admit('192.0.2.3');
  const clients = async () =>
    (await database.sql`SELECT client FROM rate_limits ORDER BY client`).map(
      (row) => row['client'],
    );
  await expect.poll(clients).toEqual(['192.0.2.2', '192.0.2.3']);
});

test('without its table the limiter fails, and the API continues to serve', async ({
  database,
}) => {
  await database.sql`DROP TABLE rate_limits`;
  const rateLimiter = createPostgresRateLimiter(database.sql, { limitPerSecond: 1, log });
  await using server = await serve({ rateLimiter });
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
});
