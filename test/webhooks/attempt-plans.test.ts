import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { expect } from 'vitest';
import { COLUMN_NAMES } from '../../src/db/client.ts';
import type { AttemptResult } from '../../src/webhooks/schedule/attempt-log.ts';
import { createAttemptLog } from '../../src/webhooks/schedule/attempt-log.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const DELIVERIES = 20_000;
const ATTEMPTS_AT_ONCE = 8;
/** The tables with at least one row for each delivery. */
const LARGE_TABLES = ['webhook_deliveries', 'webhook_attempts', 'order_events'];

const test = serviceTest({ time: 'real', worker: false })
  .extend('deliveryIds', { scope: 'file' }, ({ service, merchant }) =>
    manyDeliveries(service, merchant),
  )
  .extend('statements', { scope: 'file' }, async ({ service, deliveryIds }) =>
    statementsOfAttempts(service, deliveryIds),
  );

/** Waiting deliveries with one attempt each, in tables with fresh statistics. */
async function manyDeliveries(service: TestService, merchant: Merchant): Promise<string[]> {
  const { sql } = service;
  const { orderNumber } = await writeOrder(service, merchant);
  await sql`
    WITH event AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT 'evt_' || i, ${orderNumber}, i, i, 'PAYMENT_FAILED', now(), '{}'
      FROM generate_series(2, ${DELIVERIES}::integer) AS i
    )
    INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type)
    SELECT 'dlv_' || i, 'evt_' || i, ${merchant.merchantId}, 'sandbox', 'PAYMENT_FAILED'
    FROM generate_series(2, ${DELIVERIES}::integer) AS i`;
  await sql`
    INSERT INTO webhook_attempts (delivery_id, merchant_id, environment, kind, at, url, duration_ms)
    SELECT delivery_id, merchant_id, environment, 'scheduled', now(), 'https://shop.example/hook', 1
    FROM webhook_deliveries`;
  for (const table of LARGE_TABLES) await sql`ANALYZE ${sql(table)}`;
  const rows = await sql<{ deliveryId: string }[]>`SELECT delivery_id FROM webhook_deliveries`;
  return rows.map(({ deliveryId }) => deliveryId);
}

/** The statements that begin and record a few concurrent attempts. */
async function statementsOfAttempts(service: TestService, deliveryIds: string[]) {
  const statements: string[] = [];
  const watched = postgres(service.env.DATABASE_URL, {
    max: 1,
    transform: COLUMN_NAMES,
    debug: (_connection, statement) => void statements.push(statement),
  });
  const attemptLog = createAttemptLog(watched);
  await Promise.all(
    deliveryIds.slice(0, ATTEMPTS_AT_ONCE).map(async (deliveryId) => {
      const attempt = { deliveryId, kind: 'scheduled' as const, token: randomUUID() };
      expect(await attemptLog.lease({ ...attempt, dueBy: null })).toBeDefined();
      await attemptLog.record({ ...attempt, ...DELIVERED, at: new Date() });
    }),
  );
  await watched.end();
  const [begin, record] = statements.filter((text) => text.includes('webhook_deliveries'));
  return { begin, record };
}

const DELIVERED: Omit<AttemptResult, 'deliveryId' | 'kind' | 'token' | 'at'> = {
  url: 'https://shop.example/hook',
  merchantId: 'mer_1',
  environment: 'sandbox',
  signature: 'ab'.repeat(32),
  standardSignature: null,
  apiVersion: '2026-11-20',
  statusCode: 200,
  durationMs: 12,
  responseBody: null,
  error: null,
  state: 'DELIVERED',
  nextAttemptAt: null,
  failedAttempts: 0,
};

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** How the generic plan of a statement reads the large tables. */
async function readsOf({ sql }: TestService, statement: string | undefined) {
  const [row] = await sql.unsafe<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>(
    `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${statement}`,
  );
  const nodes = row ? nodesOf(row['QUERY PLAN'][0].Plan) : [];
  return nodes
    .filter(({ 'Relation Name': table = '' }) => LARGE_TABLES.includes(table))
    .filter(({ 'Node Type': type }) => type !== 'ModifyTable')
    .map(({ 'Node Type': type, 'Relation Name': table }) => `${type} of ${table}`);
}

test.for(['begin', 'record'] as const)(
  'to %s a few attempts reads only their rows by index, however many deliveries there are',
  async (name, { service, statements }) => {
    const reads = await readsOf(service, statements[name]);
    expect(reads.filter((read) => read.endsWith('of webhook_deliveries'))).toHaveLength(1);
    expect(reads.filter((read) => read.startsWith('Seq Scan'))).toEqual([]);
  },
);
