import { describe, expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import type { AuditEntry, AuditFilter } from '../../src/merchants/audit-log.ts';
import { auditPages, listAudit } from '../../src/merchants/audit-log.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { adminCli } from '../support/admin-cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';

const CLI = { name: 'cli:asha', address: null };

const test = databaseTest()
  .extend('cli', { scope: 'file' }, ({ database }) => adminCli({ DATABASE_URL: database.url }))
  /** A merchant that was created, approved and suspended. */
  .extend('merchantId', { scope: 'file' }, async ({ cli, database }) => {
    const create = ['merchant', 'create', '--name', 'Asha', '--email', 'a@example.com'];
    const { merchantId } = await cli.json<{ merchantId: string }>(...create);
    const of = ['--merchant', merchantId];
    await changeMerchantStatus({ sql: database.sql, actor: CLI }, merchantId, 'approve');
    await cli.json('merchant', 'suspend', ...of, '--reason', 'Too many disputes');
    return merchantId;
  });
test.beforeAll(({ merchantId }) => void merchantId);

const audit = ({ serviceSql }: TestDatabase, filter: AuditFilter = {}, limit = 50) =>
  listAudit(serviceSql, filter, limit);
const actionsOf = ({ entries }: { entries: AuditEntry[] }) => entries.map(({ action }) => action);

test('the list shows the actor, action, reason and time, latest first', async ({
  database,
  merchantId,
}) => {
  const { entries, hasMore } = await audit(database, { merchantId });
  expect(hasMore).toBe(false);
  expect(actionsOf({ entries })).toEqual([
    'merchant.suspend',
    'merchant.approve',
    'merchant.create',
  ]);
  expect(entries[0]).toEqual({
    id: expect.stringMatching(/^\d{16}\.\d{19}$/),
    at: expect.any(Date),
    actor: expect.stringMatching(/^cli:/),
    address: null,
    requestId: null,
    action: 'merchant.suspend',
    outcome: null,
    merchantId,
    subject: null,
    reason: 'Too many disputes',
    details: expect.objectContaining({ reason: 'Too many disputes' }),
  });
});

test('the list can be filtered by actor, action and time, and limited', async ({ database }) => {
  const [latest] = (await audit(database)).entries;
  const approvals = await audit(database, { action: 'merchant.approve' });
  expect(actionsOf(approvals)).toEqual(['merchant.approve']);
  expect((await audit(database, { actor: latest?.actor })).entries).toHaveLength(2);
  expect((await audit(database, { actor: 'cli:nobody' })).entries).toEqual([]);
  expect(actionsOf(await audit(database, { since: latest?.at }))).toEqual(['merchant.suspend']);
  expect(await audit(database, {}, 1)).toEqual({ entries: [latest], hasMore: true });
});

test('the list of an order has the actions on its deliveries and the texts of its disputes', async ({
  database,
  merchantId,
}) => {
  const { sql } = database;
  await sql`
    INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
      amount_paise, description, buyer_email, buyer_phone, payment_token,
      payment_link_expires_at, terms, created_at, updated_at)
    VALUES ('ORD1', ${merchantId}, 'sandbox', 'razorpay', 'k', '\\x00', 500, 'd', 'b', 'p', 't', now(), '{}',
      now(), now())`;
  await sql`
    INSERT INTO order_commands (order_number, command_id, name, body, actor, reason, merchant_id, written_at, received_at)
    VALUES ('ORD1', 'cmd_1', 'dispute', '{}', 'cli:asha', 'It never arrived', ${merchantId},
      now() - interval '1 day', now())`;
  await sql`
    INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
    VALUES ('evt_1', 'ORD1', 1, 1, 'ORDER_CREATED', now(), '{}')`;
  await sql`
    INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type)
    VALUES ('dlv_1', 'evt_1', ${merchantId}, 'sandbox', 'ORDER_CREATED')`;
  await sql`
    INSERT INTO audit_log (actor, action, merchant_id, subject, details) VALUES
      ('cli:asha', 'delivery.retry', ${merchantId}, 'dlv_1', '{}'),
      ('cli:asha', 'order.retry', ${merchantId}, 'ORD2', '{"reason": "Another order"}')`;
  const { entries } = await audit(database, { orderNumber: 'ORD1' });
  expect(entries.map(({ action, reason }) => [action, reason])).toEqual([
    ['delivery.retry', null],
    ['dispute.raise', 'It never arrived'],
  ]);
});

describe('in pages', () => {
  /** Rows of one moment stand in the order of their ids. */
  const write = (sql: Sql, action: string, count: number) => sql`
    INSERT INTO audit_log (at, actor, address, action, subject)
    SELECT timestamptz '2026-11-01T00:00:00Z' + n / 10 * interval '1 second', 'operator:o@example.com',
      '203.0.113.7', ${action}, 'subject ' || n % 2
    FROM generate_series(1, ${count}) n`;

  test('each page begins after the last row of the page before it', async ({ database }) => {
    const { sql, serviceSql } = database;
    await write(sql, 'test.pages', 60);
    const filter = { action: 'test.pages' };
    const all = (await listAudit(serviceSql, filter, 100)).entries.map(({ id }) => id);
    expect(all).toEqual(all.toSorted().toReversed());
    const found: string[] = [];
    for (let olderThan: string | undefined, hasMore = true; hasMore;) {
      const page = await listAudit(serviceSql, { ...filter, olderThan }, 25);
      found.push(...page.entries.map(({ id }) => id));
      olderThan = found.at(-1);
      ({ hasMore } = page);
    }
    expect(found).toEqual(all);
  });

  test('rows are filtered by subject and by the end of a time', async ({ database }) => {
    const { sql, serviceSql } = database;
    await write(sql, 'test.filters', 60);
    const action = 'test.filters';
    const count = async (filter: AuditFilter) =>
      (await listAudit(serviceSql, { action, ...filter }, 100)).entries.length;
    expect(await count({ subject: 'subject 1' })).toBe(30);
    expect(await count({ until: new Date('2026-11-01T00:00:01Z') })).toBe(9);
    const since = new Date('2026-11-01T00:00:01Z');
    expect(await count({ since, until: new Date('2026-11-01T00:00:02Z') })).toBe(10);
  });

  test('all rows are read in pages of a thousand, each once', async ({ database }) => {
    const { sql, serviceSql } = database;
    await write(sql, 'test.all', 2500);
    const pages: AuditEntry[][] = [];
    for await (const page of auditPages(serviceSql, { action: 'test.all' })) pages.push(page);
    expect(pages.map((page) => page.length)).toEqual([1000, 1000, 500]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(2500);
    expect(pages[0]?.[0]).toMatchObject({ address: '203.0.113.7', subject: 'subject 0' });
  });
});
