import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import postgres from 'postgres';
import { onDatabase, withConnection } from '../postgres/databases.ts';

/** A place to search: its name, and its texts. */
export interface Place {
  readonly name: string;
  texts(): AsyncIterable<string>;
}

const MAX_LINE = 1024 * 1024;
const ROWS_AT_ONCE = 100;

async function* partsOf(text: string): AsyncGenerator<string> {
  for (let start = 0; start < text.length; start += MAX_LINE) {
    // Values at the seam are in both parts.
    yield text.slice(Math.max(0, start - 4096), start + MAX_LINE);
  }
}

/** Every file below a folder. */
export function filesBelow(folder: string): Place[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({
      name: relative(folder, path),
      texts: () => partsOf(readFileSync(path, 'latin1')),
    }));
}

/** A text in memory. */
export const inMemory = (name: string, text: () => string): Place => ({
  name,
  texts: () => partsOf(text()),
});

/** Every table of a database with all columns. */
export async function tablesOf(adminUrl: string, database: string): Promise<Place[]> {
  const url = onDatabase(adminUrl, database);
  const tables = await withConnection(
    url,
    (sql) => sql<{ schema: string; name: string }[]>`
      SELECT n.nspname AS schema, c.relname AS name FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      ORDER BY 1, 2`,
  );
  return tables.map(({ schema, name }) => ({
    name: `${database}.${name}`,
    texts: () => rowsOf(url, schema, name),
  }));
}

/** The rows of a table, some at a time; bytes are hexadecimal digits. */
async function* rowsOf(url: string, schema: string, name: string): AsyncGenerator<string> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const rows = sql<
      { text: string }[]
    >`SELECT t::text AS text FROM ${sql(schema)}.${sql(name)} AS t`;
    for await (const some of rows.cursor(ROWS_AT_ONCE)) {
      yield some.map(({ text }) => text).join('\n');
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
}
