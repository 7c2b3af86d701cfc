import { expect } from 'vitest';
import { DISPUTE_STATUSES, isFinal, ORDER_STATUSES } from '../../src/domain/index.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test('the database has the statuses of the domain', async ({ database }) => {
  const rows = await database.sql<{ status: string }[]>`
    SELECT unnest(enum_range(NULL::order_status))::text AS status`;
  expect(rows.map(({ status }) => status).toSorted()).toEqual(ORDER_STATUSES.toSorted());
});

test('the partial indexes of open and of disputed orders name the statuses of the domain', async ({
  database,
}) => {
  const rows = await database.sql<{ predicate: string }[]>`
    SELECT pg_get_expr(indpred, indrelid) AS predicate FROM pg_index
    WHERE indrelid = 'orders'::regclass AND pg_get_expr(indpred, indrelid) LIKE '%order_status%'`;
  const named = rows.map(({ predicate }) =>
    Array.from(predicate.matchAll(/'(\w+)'::order_status/g), ([, status = '']) => status),
  );
  // Two indexes may have the same statuses.
  const sets = (all: string[][]) => new Set(all.map((each) => String(each.toSorted())));
  expect(sets(named)).toEqual(sets([ORDER_STATUSES.filter(isFinal), DISPUTE_STATUSES]));
});
