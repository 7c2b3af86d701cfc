import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { onDatabase, withConnection } from '../postgres/databases.ts';

/** What is searched: a name for the report, and everything that is there. */
export interface Place {
  readonly name: string;
  readonly text: string;
}

/** Every file below a folder. */
export const filesBelow = (folder: string): Place[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({ name: relative(folder, path), text: readFileSync(path, 'latin1') }));

/** Every table of a database with all columns; bytes are hexadecimal digits. */
export const tablesOf = (adminUrl: string, database: string): Promise<Place[]> =>
  withConnection(onDatabase(adminUrl, database), async (sql) => {
    const tables = await sql<{ schema: string; name: string }[]>`
      SELECT n.nspname AS schema, c.relname AS name FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      ORDER BY 1, 2`;
    return Promise.all(
      tables.map(async ({ schema, name }) => {
        const rows = await sql<
          { text: string }[]
        >`SELECT t::text AS text FROM ${sql(schema)}.${sql(name)} AS t`;
        return { name: `${database}.${name}`, text: rows.map(({ text }) => text).join('\n') };
      }),
    );
  });
