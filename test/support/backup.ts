import type { Sql } from '../../src/db/client.ts';
import { until } from './until.ts';

const EVENTS = 'event_id IN (SELECT event_id FROM order_events WHERE order_number = $1)';

/** Finds the rows of an order in a table without an order number. */
const WITHOUT_ORDER_NUMBER: Record<string, string> = {
  webhook_attempts: `delivery_id IN (SELECT delivery_id FROM webhook_deliveries WHERE ${EVENTS})`,
  webhook_deliveries: EVENTS,
};

/** Every table with rows of an order, and how to find them; referenced tables come last. */
async function tablesOf(sql: Sql): Promise<{ table: string; columns: string; where: string }[]> {
  const tables = await sql<{ table: string; columns: string; hasNumber: boolean }[]>`
    SELECT table_name AS table, bool_or(column_name = 'order_number') AS has_number,
      string_agg(quote_ident(column_name), ', ') FILTER (WHERE is_generated = 'NEVER') AS columns
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' GROUP BY table_name`;
  const found = tables.flatMap(({ table, columns, hasNumber }) => {
    const where = hasNumber ? 'order_number = $1' : WITHOUT_ORDER_NUMBER[table];
    return where === undefined ? [] : { table, columns, where };
  });
  const places = Object.keys(WITHOUT_ORDER_NUMBER);
  const place = (table: string) => (places.includes(table) ? places.indexOf(table) : places.length);
  return found.toSorted((a, b) => place(a.table) - place(b.table));
}

/**
 * Backs up the rows of one order, in every table.
 *
 * @param sql a superuser's connection
 * @returns a function that restores them; everything written about the order since is lost then
 */
export async function backUp(
  { sql }: { readonly sql: Sql },
  orderNumber: string,
): Promise<() => Promise<void>> {
  const tables = await tablesOf(sql);
  const rows = new Map<string, string>();
  for (const { table, where } of tables) {
    const [row] = await sql.unsafe<[{ rows: string }]>(
      `SELECT quote_literal(coalesce(jsonb_agg(t), '[]')::text) AS rows FROM ${table} t WHERE ${where}`,
      [orderNumber],
    );
    rows.set(table, row.rows);
  }
  return async () => {
    // An attempt that cannot be recorded would wake the order.
    await until(async () => {
      const leased = await sql`SELECT FROM webhook_deliveries JOIN order_events USING (event_id)
        WHERE order_number = ${orderNumber} AND attempt_token IS NOT NULL`;
      return leased.length === 0;
    });
    await replaceRows(sql, orderNumber, tables, rows);
  };
}

/**
 * Deletes an order, as if the database had been restored from a backup made before it was created.
 *
 * @param sql a superuser's connection
 */
export async function loseOrder(
  { sql }: { readonly sql: Sql },
  orderNumber: string,
): Promise<void> {
  await replaceRows(sql, orderNumber, await tablesOf(sql), new Map());
}

/**
 * Sends all statements as one message, which PostgreSQL carries out in one transaction.
 *
 * @param rows by table, as an SQL literal of a JSON array
 */
async function replaceRows(
  sql: Sql,
  orderNumber: string,
  tables: Awaited<ReturnType<typeof tablesOf>>,
  rows: ReadonlyMap<string, string>,
): Promise<void> {
  const [{ literal }] = await sql<
    [{ literal: string }]
  >`SELECT quote_literal(${orderNumber}) AS literal`;
  const statements = [
    // Disables triggers and foreign keys, as a restore does.
    'SET LOCAL session_replication_role = replica',
    ...tables.map(
      ({ table, where }) => `DELETE FROM ${table} WHERE ${where.replace('$1', literal)}`,
    ),
    ...tables.map(
      ({ table, columns }) =>
        `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
          SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, ${rows.get(table) ?? "'[]'"}::jsonb)`,
    ),
  ];
  await sql.unsafe(statements.join(';\n'));
}
