import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import type { Sql } from '../../src/db/client.ts';
import { adminProcess } from '../support/admin-cli.ts';
import { repeated } from '../support/repeated.ts';
import { until } from '../support/until.ts';
import { npmService } from './npm-service.ts';
import { indianDay, wholeStatement } from '../ledger/statement-proof.ts';

/** The tests run in order, and each continues where the one before ended. */
const npm = npmService({ DEMO_ORDERS: 'on', RATE_LIMIT_PER_SECOND: '1000' });

interface Verified {
  ok: boolean;
  faultCount: number;
  workflows: { openOrderCount: number };
  gateway: { faultCount: number; notAskedCount: number; comparedCount: number };
}

async function withDatabase<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const { DATABASE_URL = '' } = npm.facts().environment;
  const sql = connectDatabase(DATABASE_URL, { maxConnections: 1, name: 'test' });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The orders and the steps that the past has, which no deadline changes within the test. */
const ordersAndSteps = () =>
  withDatabase(
    (sql) => sql`
      SELECT order_number, status, step_number FROM orders ORDER BY order_number`,
  );

const untilAllRun = () =>
  until(() => withDatabase(async (sql) => (await sql`SELECT FROM order_wakeups`).length === 0));

async function expectSound(): Promise<void> {
  const admin = adminProcess({ DATA_DIR: npm.dataDir });
  // It fails if an open order has no workflow.
  const verified = await admin.json<Verified>('ledger', 'verify', '--gateway');
  expect(verified).toMatchObject({
    ok: true,
    faultCount: 0,
    gateway: { faultCount: 0, notAskedCount: 0 },
  });
  expect(verified.workflows.openOrderCount).toBeGreaterThan(10);
  expect(verified.gateway.comparedCount).toBeGreaterThan(20);
}

test('after the first start, ledger, gateway and workflows agree on the demo orders', async () => {
  await untilAllRun();
  await expectSound();
  const { body } = await repeated(() => npm.sandbox().get<{ totalElements: number }>('/orders'));
  expect(body.data.totalElements).toBe((await ordersAndSteps()).length);
});

test('the statements of its days add up to what is held, and each line names its ids', async () => {
  const days = Array.from({ length: 32 }, (_, daysAgo) => indianDay(31 - daysAgo));
  const statements = [];
  for (const day of days) statements.push(await wholeStatement(npm.sandbox(), day));
  let balance = 0;
  for (const { opening_balance, closing_balance } of statements) {
    expect(opening_balance).toBe(balance);
    balance = closing_balance;
  }
  const held = await withDatabase(
    (sql) => sql<{ paise: number }[]>`
      SELECT sum(CASE WHEN credit_account = 'merchant_held' THEN amount_paise
        WHEN debit_account = 'merchant_held' THEN -amount_paise ELSE 0 END)::bigint AS paise
      FROM ledger_transfers`,
  );
  expect(Math.round(balance * 100)).toBe(held[0]?.paise);
  const lines = statements.flatMap((statement) => statement.lines);
  expect(lines.length).toBeGreaterThan(60);
  for (const line of lines) expect(line.gateway_payment_id).toMatch(/^pay_/);
});

test('a second start makes nothing', async () => {
  const before = await ordersAndSteps();
  const merchantFile = join(npm.dataDir, 'demo-merchant.json');
  const merchant = readFileSync(merchantFile, 'utf8');
  await npm.service().stop();
  await npm.start();
  await untilAllRun();
  expect(await ordersAndSteps()).toEqual(before);
  expect(readFileSync(merchantFile, 'utf8')).toBe(merchant);
  await expectSound();
});
