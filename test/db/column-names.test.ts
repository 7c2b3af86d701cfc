import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { connectDatabase, jsonRow } from '../../src/db/client.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

const newAlert = () => ({ kind: 'test', subject: randomUUID(), details: {} });
const STORED = { order_number: 'ORD1', nested_list: [{ paid_at: null, camelCase: 1 }] };

test('columns are camelCase in a row, and the keys within stored JSON stay as they are', async ({
  database: { sql },
}) => {
  const [row] = await sql`
    SELECT 'ORD1' AS order_number, 5::bigint AS amount_paise, 'x' AS status, 'y' AS "quotedName",
      ${sql.json(STORED)}::jsonb AS event_body, ${sql.json([STORED])}::json AS details`;
  expect(row).toEqual({
    orderNumber: 'ORD1',
    amountPaise: 5,
    status: 'x',
    quotedName: 'y',
    eventBody: STORED,
    details: [STORED],
  });
});

test('every column of every table has a name that comes back as it went', async ({
  database: { sql },
}) => {
  const columns = await sql<{ tableName: string; columnName: string }[]>`
    SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'`;
  expect(columns.length).toBeGreaterThan(100);
  for (const { tableName, columnName } of columns) {
    const [row] = await sql`
      SELECT to_jsonb(t) AS is_absent, ${sql(columnName)}
      FROM (SELECT) AS always LEFT JOIN ${sql(tableName)} AS t ON false`;
    const name = Object.keys(row ?? {}).find((key) => key !== 'isAbsent') ?? '';
    expect(name).not.toContain('_');
    const again = await sql`SELECT ${sql(name)} FROM ${sql(tableName)} LIMIT 0`;
    expect(again.columns.map((column) => column.name)).toEqual([name]);
  }
});

test('rows and columns given to sql() are named as columns; stored JSON stays as it is', async ({
  database: { sql },
}) => {
  const alerts = [newAlert(), newAlert()];
  const [{ subject }] = alerts as [ReturnType<typeof newAlert>];
  await sql`INSERT INTO alerts ${sql(alerts)}`;
  const changes = { clearedBy: 'A test', details: sql.json(STORED) };
  await sql`UPDATE alerts SET ${sql(changes)} WHERE subject = ${subject}`;
  const [row] = await sql`
    SELECT ${sql(['subject', 'clearedBy', 'details'])} FROM alerts WHERE subject = ${subject}`;
  expect(row).toEqual({ subject, clearedBy: 'A test', details: STORED });
});

test('a row as JSON is named as columns, and what is within its values stays as it is', async ({
  database: { sql },
}) => {
  const alert = { ...newAlert(), details: STORED, firstAt: new Date(1000) };
  const [row] = await sql`
    SELECT kind, subject, details, first_at
    FROM jsonb_populate_record(NULL::alerts, ${jsonRow(sql, alert)})`;
  expect(row).toEqual(alert);
});

test('the columns of a prepared statement are named once on each connection', async ({
  database,
}) => {
  const sql = connectDatabase(database.url, { maxConnections: 1 });
  const read = () => sql`SELECT merchant_id, created_at FROM merchants WHERE name = ${'none'}`;
  const { columns } = await read();
  expect(columns.map(({ name }) => name)).toEqual(['merchantId', 'createdAt']);
  expect((await read()).columns).toBe(columns);
  await sql.end();
});
