import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { runPart } from '../support/run-part.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What the first `npm start` does with an empty data directory. */
async function makeOrders({ url }: TestDatabase, dataDir: string) {
  const owner = new URL(inject('postgresAdminUrl'));
  owner.pathname = new URL(url).pathname;
  const env = {
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: owner.href,
    API_SECRET_PEPPER: 'a pepper of at least 32 characters',
    WEBHOOK_SECRET_KEYS: SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: SECRET_KEYS,
    DATA_DIR: dataDir,
  };
  const done = await runPart('dev/demo-orders.ts', env);
  expect(done).toEqual({ code: 0, stdout: '', stderr: '' });
  return {
    merchant: JSON.parse(readFileSync(join(dataDir, 'demo-merchant.json'), 'utf8')),
    journal: readFileSync(join(dataDir, 'gateway-simulator.journal'), 'utf8'),
  };
}

const test = databaseTest().extend('made', { scope: 'file' }, ({ database }) =>
  makeOrders(database, temporaryFolder()),
);

/** Whole days since a time: at another hour of the day, the stories would fall on other days of the calendar. */
const daysAgo = (sql: Sql, column: string) =>
  sql`floor(extract(epoch FROM now() - ${sql(column)}) / 86400)`;

test('the demo merchant has orders of 30 days in every status, and the ledger is sound', async ({
  database: { sql },
  made: { merchant },
}) => {
  const { merchantId } = merchant;
  const rows = await sql<{ status: string; days: number }[]>`
    SELECT status, count(DISTINCT ${daysAgo(sql, 'createdAt')})::integer AS days FROM orders
    WHERE merchant_id = ${merchantId} GROUP BY status ORDER BY status`;
  expect(rows.map(({ status }) => status)).toEqual(ORDER_STATUSES);
  expect(rows.find(({ status }) => status === 'COMPLETED')?.days).toBeGreaterThan(15);
  const [lines] = await sql<[{ days: number }]>`
    SELECT count(DISTINCT ${daysAgo(sql, 'at')})::integer AS days FROM ledger_transfers`;
  expect(lines.days).toBeGreaterThan(20);
  const unnamed = await sql`
    SELECT FROM ledger_transfers
    WHERE operation IN ('release', 'refund') AND (movement_id IS NULL OR booked_at <> at)`;
  expect(unnamed.length).toBe(0);
  expect(await verifyLedger(sql)).toMatchObject({ ok: true, faultCount: 0 });
});

test('one dispute waits for its merchant, and no deadline has passed', async ({
  database: { sql },
  made: { merchant },
}) => {
  const waiting = await sql`
    SELECT FROM orders_with_dispute
    WHERE merchant_id = ${merchant.merchantId} AND status = 'DISPUTE_OPEN'
      AND dispute_respond_by > now() + interval '1 day'`;
  expect(waiting.length).toBe(1);
  const late = await sql`
    SELECT FROM orders_with_dispute
    WHERE merchant_id = ${merchant.merchantId} AND status NOT IN ('COMPLETED', 'REFUNDED', 'CANCELLED')
      AND least(completes_at, dispute_respond_by,
        CASE status WHEN 'ACCEPTED' THEN payment_link_expires_at END) < now()`;
  expect(late.length).toBe(0);
});

test('its endpoint has accepted webhooks and now fails; none is on its last attempt', async ({
  database: { sql },
  made: { merchant },
}) => {
  const [states] = await sql`
    SELECT count(*) FILTER (WHERE state = 'DELIVERED') > 100 AS delivered,
      count(*) FILTER (WHERE state = 'FAILED') > 5 AS failed,
      count(*) FILTER (WHERE state = 'PENDING' AND next_attempt_at > now()) > 2 AS pending,
      count(*) FILTER (WHERE state = 'PENDING' AND failed_attempts = 4)::integer AS on_last_attempt
    FROM webhook_deliveries WHERE merchant_id = ${merchant.merchantId}`;
  expect(states).toEqual({ delivered: true, failed: true, pending: true, onLastAttempt: 0 });
  const wrong = await sql`
    SELECT d.delivery_id FROM webhook_deliveries d LEFT JOIN webhook_attempts a USING (delivery_id)
    WHERE d.merchant_id = ${merchant.merchantId}
    GROUP BY d.delivery_id, d.state
    HAVING count(a) FILTER (WHERE NOT a.is_delivered) <> d.failed_attempts OR count(a) <> 5 AND d.state = 'FAILED' OR count(a) NOT BETWEEN 1 AND 3 AND d.state <> 'FAILED'`;
  expect(wrong).toEqual([]);
  const unsent = await sql`
    SELECT FROM webhook_deliveries JOIN order_events USING (event_id) JOIN orders USING (order_number)
    WHERE state = 'PENDING' AND status IN ('COMPLETED', 'REFUNDED', 'CANCELLED')`;
  expect(unsent.length).toBe(0);
});

test('the orders that are under way are woken at once, nothing is mailed, and the clock is real', async ({
  database: { sql },
  made: { merchant },
}) => {
  const [woken] = await sql`
    SELECT bool_and(o.status NOT IN ('COMPLETED', 'REFUNDED', 'CANCELLED')) AS are_open,
      bool_and(w.due_at <= now()) AS are_due,
      (SELECT count(*) FROM orders
        WHERE merchant_id = ${merchant.merchantId}
          AND status NOT IN ('COMPLETED', 'REFUNDED', 'CANCELLED'))
        = count(DISTINCT order_number) AS are_all
    FROM order_wakeups w JOIN orders o USING (order_number)
    WHERE o.merchant_id = ${merchant.merchantId}`;
  expect(woken).toEqual({ areOpen: true, areDue: true, areAll: true });
  expect(await sql`SELECT FROM mails`).toEqual([]);
  const [clock] =
    await sql`SELECT service_now() - clock_timestamp() < interval '1 minute' AS is_real`;
  expect(clock).toEqual({ isReal: true });
});

const counted = async ({ sql }: TestDatabase) =>
  sql`SELECT (SELECT count(*) FROM merchants) AS merchants, (SELECT count(*) FROM orders) AS orders`;

test('a run that was killed after the transaction is finished by the next one', async ({
  database,
  made: { merchant, journal },
}) => {
  const before = await counted(database);
  // As the data directory was before the other files were written.
  const dataDir = temporaryFolder();
  const unfinished = JSON.stringify({ merchant, journalLine: journal });
  writeFileSync(join(dataDir, 'demo-orders.json'), unfinished, { mode: 0o600 });
  expect(await makeOrders(database, dataDir)).toEqual({ merchant, journal });
  expect(await counted(database)).toEqual(before);
});

test('a run that was killed within the transaction is made again', async ({ database, made }) => {
  const dataDir = temporaryFolder();
  const [before] = await counted(database);
  const merchant = { ...made.merchant, merchantId: 'mer_lost' };
  const unfinished = JSON.stringify({ merchant, journalLine: '{}\n' });
  writeFileSync(join(dataDir, 'demo-orders.json'), unfinished, { mode: 0o600 });
  const again = await makeOrders(database, dataDir);
  expect(again.merchant.merchantId).not.toBe('mer_lost');
  expect(again.journal).not.toBe('{}\n');
  const [after] = await counted(database);
  expect(after).toEqual({ merchants: before!['merchants'] + 1, orders: before!['orders'] * 2 });
});
