import { pino } from 'pino';
import { expect } from 'vitest';
import { listAlerts } from '../../src/alerts/alerts.ts';
import type { Sql } from '../../src/db/client.ts';
import { findLatestProof, listProofs, proveLedger } from '../../src/ledger/proofs.ts';
import { adminCli } from '../support/admin-cli.ts';
import { databaseTest } from '../support/fixtures.ts';
import { writeSoundLedger } from './sound-ledger.ts';

const test = databaseTest();
test.beforeAll(({ database }) => writeSoundLedger(database.sql));

const log = pino({ level: 'silent' });
const openFaults = async (sql: Sql) =>
  (await listAlerts(sql, { kind: 'ledger_fault' }, 10)).alerts.map(({ message }) => message);

test('a proof is recorded with its figures, and raises no alert', async ({ database }) => {
  const { serviceSql: sql } = database;
  expect(await findLatestProof(sql)).toBeUndefined();
  await proveLedger({ sql, log });
  const proof = await findLatestProof(sql);
  expect(proof).toMatchObject({
    ok: true,
    faultCount: 0,
    faults: [],
    durationMs: expect.any(Number),
    at: expect.any(Date),
    figures: {
      orderCount: 8,
      lineCount: 11,
      captureCount: 8,
      sums: [
        { environment: 'sandbox', sumPaise: 0 },
        { environment: 'production', sumPaise: 0 },
      ],
    },
  });
  expect(proof?.figures.accounts).toHaveLength(14);
  expect(await openFaults(sql)).toEqual([]);
});

test('a fault is recorded and raises an alert, which the next sound proof clears', async ({
  database,
}) => {
  const { sql: owner, serviceSql: sql } = database;
  await owner`UPDATE orders SET amount_paise = amount_paise + 1 WHERE order_number = 'ORD_PAID'`;
  await proveLedger({ sql, log });
  const proof = await findLatestProof(sql);
  expect(proof).toMatchObject({ ok: false, faultCount: 3 });
  expect(proof?.faults).toContainEqual({
    rule: 'order',
    subject: 'ORD_PAID',
    fault: expect.stringContaining('PAID, 10002 paise'),
  });
  expect(await openFaults(sql)).toEqual(['The ledger is not sound: 3 faults']);

  await owner`UPDATE orders SET amount_paise = amount_paise - 1 WHERE order_number = 'ORD_PAID'`;
  await proveLedger({ sql, log });
  expect(await findLatestProof(sql)).toMatchObject({ ok: true, faults: [] });
  expect(await openFaults(sql)).toEqual([]);
});

test('only the first hundred faults are kept', async ({ database }) => {
  const { sql: owner, serviceSql: sql } = database;
  await owner`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise,
      captured_at)
    SELECT 'razorpay', 'pay_extra_' || n, 'sandbox', 'ORD_ACCEPTED', 500, now() - interval '1 hour'
    FROM generate_series(1, 150) n`;
  await proveLedger({ sql, log });
  const proof = await findLatestProof(sql);
  expect(proof?.faultCount).toBe(150);
  expect(proof?.faults).toHaveLength(100);
  await owner`DELETE FROM payments WHERE gateway_payment_id LIKE 'pay_extra_%'`;
});

test('admin ledger verify records a proof', async ({ database }) => {
  const { serviceSql: sql } = database;
  const before = await findLatestProof(sql);
  await adminCli({ DATABASE_URL: database.url }).json('ledger', 'verify');
  const after = await findLatestProof(sql);
  expect(after?.proofId).toBeGreaterThan(Number(before?.proofId));
});

test('proofs are listed latest first in pages, and deleted after 30 days', async ({ database }) => {
  const { sql: owner, serviceSql: sql } = database;
  await owner`
    INSERT INTO ledger_proofs (at, duration_ms, ok, figures, fault_count, faults)
    SELECT now() - n * interval '1 day', 1, true, '{}', 0, '[]' FROM unnest('{29, 31}'::int[]) n`;
  await proveLedger({ sql, log });
  const rows = await owner<{ days: number }[]>`
    SELECT round(extract(epoch FROM now() - at) / 86400)::int AS days FROM ledger_proofs`;
  expect(rows.map(({ days }) => days)).toContain(29);
  expect(rows.map(({ days }) => days)).not.toContain(31);

  const all = await listProofs(sql, {}, 100);
  expect(all).toMatchObject({ hasMore: false });
  const first = await listProofs(sql, {}, 2);
  expect(first).toEqual({ proofs: all.proofs.slice(0, 2), hasMore: true });
  const next = await listProofs(sql, { olderThan: first.proofs[1]?.proofId }, 2);
  expect(next.proofs).toEqual(all.proofs.slice(2, 4));
});
