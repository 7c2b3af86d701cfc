import type postgres from 'postgres';

interface Column {
  readonly name: string;
  readonly columns: string;
}

/**
 * Copies every table of the service, and lets this connection write without triggers and foreign keys. The
 * superuser's only connection of its pool must be passed.
 */
export async function keepTables(sql: postgres.Sql): Promise<{ restore(): Promise<void> }> {
  const tables = await sql<Column[]>`
    SELECT quote_ident(c.relname) AS name, string_agg(quote_ident(a.attname), ', ') AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY c.relname`;
  const [index] = await sql<{ definition: string }[]>`
    SELECT pg_get_indexdef('order_steps_by_command'::regclass) AS definition`;
  await sql.unsafe(`SET session_replication_role = replica; CREATE SCHEMA kept;`).simple();
  for (const { name } of tables) {
    await sql.unsafe(`CREATE TABLE kept.${name} AS TABLE public.${name}`);
  }
  return {
    async restore() {
      const all = tables.map(({ name }) => `public.${name}`).join(', ');
      await sql.unsafe(`TRUNCATE ${all}`);
      for (const { name, columns } of tables) {
        await sql.unsafe(
          `INSERT INTO public.${name} (${columns}) OVERRIDING SYSTEM VALUE
           SELECT ${columns} FROM kept.${name}`,
        );
      }
      const again = index?.definition.replace('UNIQUE INDEX', 'UNIQUE INDEX IF NOT EXISTS');
      await sql.unsafe(again ?? '');
    },
  };
}
