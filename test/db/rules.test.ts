import { expect } from 'vitest';
import type { OrderStatus, Requirement } from '../../src/domain/index.ts';
import {
  isFinal,
  ORDER_STATUSES,
  phasesThatTake,
  SETTLE_COMMANDS,
  statusesThatTake,
  transitionOf,
} from '../../src/domain/index.ts';
import { hasFailedRefund } from '../../src/payments/operators/consequences.ts';
import { filesBelow, read } from '../repository/files.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test('the database has the statuses of the domain, in the same order', async ({ database }) => {
  const rows = await database.sql<{ status: string }[]>`
    SELECT unnest(enum_range(NULL::order_status))::text AS status`;
  expect(rows.map(({ status }) => status)).toEqual(ORDER_STATUSES);
});

/** The statuses whose deadline begins the release of the money. */
const RELEASED_AT_DEADLINE = ORDER_STATUSES.filter(
  (status) =>
    transitionOf({ status, pendingOperation: null }, 'expire')?.step === 'RELEASE_STARTED',
);

test('the functions of the database name the same statuses as the domain', async ({ database }) => {
  const rows = await database.sql<Record<string, OrderStatus[]>[]>`
    SELECT array_agg(one) FILTER (WHERE is_final(one)) AS final,
      array_agg(one) FILTER (WHERE takes_payment(one)) AS payable,
      array_agg(one) FILTER (WHERE surplus_reason(one, true) IS NULL) AS not_surplus,
      array_agg(one) FILTER (WHERE surplus_reason(one, false) IS NULL) AS not_surplus_of_other_amount,
      array_agg(one) FILTER (WHERE is_release_due(o)) AS released,
      array_agg(one) FILTER (WHERE has_failed_refund(o.status, o.refund_processed_at)) AS refund_failed
    FROM unnest(enum_range(NULL::order_status)) AS one,
      jsonb_populate_record(NULL::shared.orders, jsonb_build_object('status', one,
        'completes_at', service_now() - interval '1 second')) AS o`;
  expect(rows).toEqual([
    {
      final: ORDER_STATUSES.filter(isFinal),
      payable: statusesThatTake('pay'),
      notSurplus: statusesThatTake('pay'),
      notSurplusOfOtherAmount: null,
      released: RELEASED_AT_DEADLINE,
      refundFailed: ORDER_STATUSES.filter((status) =>
        hasFailedRefund({ status, refundProcessedAt: null }),
      ),
    },
  ]);
});

const OPERATIONS = ['closing', 'refunding', 'releasing'] as const;

test.for(Object.entries(SETTLE_COMMANDS))(
  'an order can be settled as %s while the operations of the domain are pending, although nothing was reversed',
  async ([outcome, command], { database }) => {
    const phases = phasesThatTake(command);
    const rows = await database.sql<{ kinds: string[] }[]>`
      SELECT array_agg(DISTINCT kind ORDER BY kind) AS kinds
      FROM unnest(enum_range(NULL::order_status)) AS one,
        unnest(array_append(${[...OPERATIONS]}::text[], NULL)) AS kind,
        jsonb_populate_record(NULL::shared.orders, jsonb_build_object('status', one,
          'pending_operation', '{}'::jsonb || jsonb_build_object('kind', kind),
          'refund_processed_at', service_now())) AS o
      WHERE can_settle(CASE WHEN kind IS NULL
        THEN jsonb_populate_record(o, '{"pending_operation": null}') ELSE o END,
        ${outcome}, ${phases}::text[])`;
    expect(rows).toEqual([{ kinds: OPERATIONS.filter((kind) => phases.includes(kind)) }]);
  },
);

test.for([
  ["orders WHERE NOT is_final(status) AND order_number > ''", /orders_open/],
  ["orders WHERE is_disputed_often(dispute_count) AND status = 'PAID'", /orders_disputed_often/],
  [
    "shared.orders o WHERE merchant_id = '' AND environment = 'sandbox' AND is_release_due(o)",
    /Index Cond: .*status = 'DELIVERED'/,
  ],
  ['shared.orders WHERE has_failed_refund(status, refund_processed_at)', /orders_refund_failed/],
] as const)('the planner knows what %s means', async ([rows, used], { database }) => {
  const plan = await database.sql.begin(async (sql) => {
    await sql`SET LOCAL enable_seqscan = off`;
    return sql.unsafe(`EXPLAIN SELECT order_number FROM ${rows}`);
  });
  expect(JSON.stringify(plan)).toMatch(used);
});

const ONE = `'(${ORDER_STATUSES.join('|')})'(::order_status)?`;
const LIST = new RegExp(String.raw`${ONE},\s*${ONE}`);

test('the schema has one list of statuses, and compares with one of them only where it must', async ({
  database,
}) => {
  const definitions = await database.sql<{ name: string; text: string }[]>`
    SELECT proname AS name, pg_get_functiondef(oid) AS text FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
    UNION ALL SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'
    UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace`;
  const naming = (pattern: RegExp) =>
    definitions.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
  expect(naming(LIST)).toEqual(['is_final']);
  expect(naming(new RegExp(String.raw`status (=|<>) ${ONE}`)).toSorted()).toEqual([
    // A cancelled order shows the refund of a surplus capture.
    'claim_surplus',
    'finish_surplus',
    'has_failed_refund',
    'is_release_due',
    // The index for has_failed_refund.
    'orders_refund_failed',
    // An order that was refunded needs no settlement.
    'resolved_alerts',
    'surplus_reason',
    'takes_payment',
  ]);
});

test('no file lists statuses beside the domain', () => {
  const files = filesBelow(['src', 'workflows', 'activities']).filter((path) =>
    path.endsWith('.ts'),
  );
  expect(files.filter((path) => LIST.test(read(path)))).toEqual(['src/domain/order.ts']);
});

/** The compiler says whether one is missing here. */
const REQUIREMENTS: Record<Requirement, true> = {
  deadline_passed: true,
  deadline_on_time: true,
  no_dispute_waiting: true,
  no_answer_waiting: true,
  settlement_recorded: true,
  release_allowed: true,
  payment_not_gone: true,
  no_chargeback_open: true,
  command_recorded: true,
  answers_dispute: true,
};

test('record_step refuses a requirement that it does not know', async ({ database }) => {
  const check = (requirements: string[]) => database.sql`
    SELECT unmet_requirement(NULL, '', NULL, NULL, NULL, ${requirements})`;
  await expect(check(['no_disputes'])).rejects.toThrow('Not every requirement');
  await check(Object.keys(REQUIREMENTS));
});
