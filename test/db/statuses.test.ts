import { expect } from 'vitest';
import { isFinal, ORDER_STATUSES } from '../../src/domain/index.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test('the database has the statuses of the domain, in the same order', async ({ database }) => {
  const rows = await database.sql<{ status: string }[]>`
    SELECT unnest(enum_range(NULL::order_status))::text AS status`;
  expect(rows.map(({ status }) => status)).toEqual(ORDER_STATUSES);
});

test('the partial index of open orders names the final statuses of the domain', async ({
  database,
}) => {
  const rows = await database.sql<{ predicate: string }[]>`
    SELECT pg_get_expr(indpred, indrelid) AS predicate FROM pg_index
    WHERE indrelid = 'orders'::regclass AND pg_get_expr(indpred, indrelid) LIKE '%order_status%'`;
  const named = rows.map(({ predicate }) =>
    Array.from(predicate.matchAll(/'(\w+)'::order_status/g), ([, status = '']) => status),
  );
  expect(named.map((statuses) => statuses.toSorted())).toEqual([
    ORDER_STATUSES.filter(isFinal).toSorted(),
  ]);
});
