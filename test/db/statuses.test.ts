import { expect } from 'vitest';
import type { Requirement } from '../../src/domain/index.ts';
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

/** The compiler says whether one is missing here. */
const REQUIREMENTS: Record<Requirement | 'no_session_open', true> = {
  no_session_open: true,
  deadline_on_time: true,
  no_dispute_waiting: true,
  no_answer_waiting: true,
  settlement_recorded: true,
  release_allowed: true,
  payment_not_gone: true,
  no_chargeback_open: true,
  command_recorded: true,
};

test('record_step refuses a requirement that it does not know', async ({ database }) => {
  const step = (requirement: string) => database.sql`
    SELECT record_step('ORD0', '{"number": 2}', '{}', NULL, '{}', NULL, NULL, NULL,
      ARRAY[${requirement}])`;
  await expect(step('no_disputes')).rejects.toThrow('does not know every requirement');
  for (const requirement of Object.keys(REQUIREMENTS)) {
    await expect(step(requirement)).rejects.toThrow('query returned no rows');
  }
});
