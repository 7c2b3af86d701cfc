import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import type { Sql } from '../../src/db/client.ts';
import { adminProcess } from '../support/admin-cli.ts';
import { until } from '../support/until.ts';
import { npmService } from './npm-service.ts';

/** The tests run in order, and each continues where the one before ended. */
const npm = npmService({ DEMO_ORDERS: 'on' });

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
  const { body } = await npm.sandbox().get<{ totalElements: number }>('/orders');
  expect(body.data.totalElements).toBe((await ordersAndSteps()).length);
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
