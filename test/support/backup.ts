import type { Sql } from '../../src/db/client.ts';
import type { TestService } from './service.ts';

/** Every table with rows of an order, and how to find them; those that others point to come last. */
async function tablesOf(sql: Sql): Promise<{ table: string; where: string }[]> {
  const tables = await sql<{ table: string }[]>`
    SELECT table_name AS table FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'order_number'`;
  const events = 'event_id IN (SELECT event_id FROM order_events WHERE order_number = $1)';
  return [
    {
      table: 'webhook_attempts',
      where: `delivery_id IN (SELECT delivery_id FROM webhook_deliveries WHERE ${events})`,
    },
    { table: 'webhook_deliveries', where: events },
    ...tables.map(({ table }) => ({ table, where: 'order_number = $1' })),
  ];
}

/**
 * Backs up the rows of one order, in every table.
 *
 * @returns what restores them: everything that was written about the order since is lost then
 */
export async function backUp(
  { sql }: TestService,
  orderNumber: string,
): Promise<() => Promise<void>> {
  const tables = await tablesOf(sql);
  const rows = new Map<string, string>();
  for (const { table, where } of tables) {
    const [row] = await sql.unsafe<{ rows: string }[]>(
      `SELECT coalesce(jsonb_agg(t), '[]')::text AS rows FROM ${table} t WHERE ${where}`,
      [orderNumber],
    );
    rows.set(table, row!.rows);
  }
  return async () => {
    await sql.begin(async (tx) => {
      // No trigger and no foreign key stands in the way, as in a database that is restored.
      await tx`SET LOCAL session_replication_role = replica`;
      for (const { table, where } of tables) {
        await tx.unsafe(`DELETE FROM ${table} WHERE ${where}`, [orderNumber]);
      }
      for (const { table } of tables) {
        await tx.unsafe(
          `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
            SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::text::jsonb)`,
          [rows.get(table)!],
        );
      }
    });
  };
}
