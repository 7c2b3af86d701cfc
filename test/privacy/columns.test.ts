import { expect } from 'vitest';
import { databaseTest } from '../support/fixtures.ts';
import { COLUMNS } from './columns.ts';

const test = databaseTest();

test('every column of the schema is classified once, as personal or not', async ({
  database: { sql },
}) => {
  const columns = await sql<{ name: string }[]>`
    SELECT table_name || '.' || column_name AS name
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const classified = Object.entries(COLUMNS).flatMap(([table, classes]) =>
    Object.values(classes).flatMap((names) =>
      names.split(/\s+/).map((column) => `${table}.${column}`),
    ),
  );
  expect(classified.toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
});
