import postgres from 'postgres';
import type { Sql } from '../../../src/db/client.ts';
import { STATUSES } from '../../../src/domain/index.ts';
import type { Memory } from '../memory.ts';
import type { moneyAtGateway } from '../simulator.ts';
import type { Allowed } from './service.ts';

/** Temporary tables of what others than the database know, by name, each with its columns. */
const TABLES = {
  allowed: 'alerts boolean, is_open boolean',
  statuses: 'status text, funds text',
  lost_times: 'from_at timestamptz, to_at timestamptz',
  known_orders:
    'merchant_id text, idempotency_key text, order_number text, order_numbers text[], final_status text, most_captures integer',
  known_commands:
    'order_number text, operation text, idempotency_key text, step text, status integer, at timestamptz',
  surprises: 'subject text, fault text',
  arrived_events:
    'event_id text, order_number text, at timestamptz, accepted integer, body_hashes text[]',
  // As the gateway shows them; times in Unix seconds.
  captures: 'id text, amount bigint, notes jsonb',
  refunds: 'id text, payment_id text, amount bigint, status text, notes jsonb, created_at bigint',
  transfers:
    'source text, recipient text, amount bigint, amount_reversed bigint, status text, on_hold boolean, created_at bigint',
  chargebacks: 'id text, payment_id text, amount bigint, status text',
  totals: 'captured_paise bigint, fees_paise bigint, is_balanced boolean',
} as const;
type Facts = Record<keyof typeof TABLES, readonly object[]>;

/**
 * Views of payments. `known_payments` is what the service has of each: `is_own` if its order is paid with it, which
 * is surplus otherwise; `is_whole` unless some of it was refunded when the gateway was first asked, so that the ledger
 * does not have it; `moved_funds` is where its money is booked while its release or refund is pending, if the gateway has
 * moved it; `moved_at` is when the release or refund was last booked, `release_started_at` the workflow's time,
 * which may be delayed, and `release_recorded_at` when that step was written, which a restore makes later. `money` is
 * what the gateway has of each captured payment, with the service's columns beside it.
 */
const VIEWS = `
  CREATE TEMP VIEW known_payments AS
  SELECT p.gateway_payment_id, p.order_number AS known_order, p.amount_paise AS known_paise, o.status, p.is_whole,
    o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id AS is_own,
    p.held_at IS NOT NULL AS has_hold,
    EXISTS (SELECT FROM alerts a WHERE a.cleared_at IS NULL AND a.subject IN
      (p.order_number, gateway_subject(p.gateway, p.gateway_payment_id))) AS has_alert,
    p.captured_at, paid.at AS paid_at, started.at AS release_started_at,
    started.recorded_at AS release_recorded_at,
    CASE WHEN o.pending_operation IS NOT NULL AND o.gateway_payment_id = p.gateway_payment_id
      THEN CASE last_movement_of(p.gateway, p.gateway_payment_id)
        WHEN 'release' THEN 'released' WHEN 'refund' THEN 'refunded' END END AS moved_funds,
    -- After a restore, a reversal may have been booked before the step was recorded again, which then has no line.
    coalesce((SELECT max(t.at) FROM ledger_transfers t
      WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
        AND t.operation IN ('release', 'refund')),
      (SELECT max(step.at) FROM order_steps step
      WHERE step.order_number = o.order_number AND o.gateway_payment_id = p.gateway_payment_id
        AND step.kind IN ('ORDER_COMPLETED', 'REFUND_PROCESSED'))) AS moved_at
  FROM payments p JOIN orders o USING (order_number)
  LEFT JOIN order_steps paid ON paid.order_number = o.order_number
    AND paid.kind = 'PAYMENT_SUCCESS' AND o.gateway_payment_id = p.gateway_payment_id
  LEFT JOIN order_steps started ON started.order_number = o.order_number
    AND started.kind = 'RELEASE_STARTED' AND o.gateway_payment_id = p.gateway_payment_id;

  -- Refunds of the gateway's dashboard have no key; this service's have that of moneyKey.
  CREATE TEMP VIEW live_refunds AS
  SELECT *, to_timestamp(created_at) AS at, notes->>'idempotency_key' IS NOT NULL AS has_key,
    coalesce(notes->>'idempotency_key', '') = payment_id || '-refund' AS is_ours
  FROM refunds WHERE status <> 'failed';

  CREATE TEMP VIEW money AS
  SELECT c.id AS payment_id, coalesce(n.order_number, c.id) AS subject, c.amount AS amount_paise,
    ARRAY['razorpay:' || c.id] AS about, n.order_number AS noted_order, k.*,
    k.gateway_payment_id IS NOT NULL AS is_known, r.*, t.*,
    format('%s: %s refunds, %s transfers', c.id, (SELECT count(*) FROM refunds WHERE payment_id = c.id),
      (SELECT count(*) FROM transfers WHERE source = c.id)) AS made,
    r.refunded_paise + coalesce((SELECT sum(amount) FROM chargebacks b
      WHERE b.payment_id = c.id AND status = 'lost'), 0) AS buyer_paise
  FROM captures c LEFT JOIN known_payments k ON k.gateway_payment_id = c.id,
  -- Empty notes are an empty list.
  LATERAL (SELECT c.notes->>'order_number' AS order_number) n,
  LATERAL (SELECT count(*) FILTER (WHERE has_key) AS keyed_refunds, coalesce(sum(amount), 0) AS refunded_paise,
    coalesce(sum(amount) FILTER (WHERE is_ours), 0) AS our_refunds_paise,
    min(at) FILTER (WHERE is_ours) AS refunded_at
    FROM live_refunds WHERE payment_id = c.id) r,
  LATERAL (SELECT count(*) AS live_transfers, coalesce(bool_or(on_hold), false) AS is_held,
    coalesce(sum(amount - amount_reversed), 0) AS transferred_paise,
    coalesce(sum(amount - amount_reversed) FILTER (WHERE NOT on_hold), 0) AS released_paise,
    min(to_timestamp(created_at)) AS transferred_at
    FROM transfers WHERE source = c.id AND status <> 'failed') t;

  -- The time was lost by a restore, or the clocks of two processes may disagree about that.
  CREATE FUNCTION pg_temp.is_lost(happened timestamptz, clock_seconds integer DEFAULT 0) RETURNS boolean
  LANGUAGE sql STABLE AS $$ SELECT EXISTS (SELECT FROM pg_temp.lost_times
    WHERE happened > from_at - clock_seconds * interval '1 second' AND happened < to_at) $$`;

/** Makes the tables and views; they are there as long as the connection, which must be the only one. */
export async function loadFacts(
  sql: Sql,
  memory: Memory,
  money: readonly Awaited<ReturnType<typeof moneyAtGateway>>[],
  allowed: Allowed,
): Promise<void> {
  const facts: Facts = {
    allowed: [{ alerts: allowed.alerts === true, isOpen: allowed.isOpen === true }],
    statuses: Object.entries(STATUSES).map(([status, { funds }]) => ({ status, funds })),
    lost_times: (allowed.lost ?? []).map(({ fromMs, toMs }) => ({
      fromAt: at(fromMs),
      toAt: at(toMs),
    })),
    known_orders: memory.orders.map(({ orderNumbers, ...order }) => {
      return { ...order, orderNumber: [...orderNumbers][0], orderNumbers: [...orderNumbers] };
    }),
    known_commands: memory.orders.flatMap(({ orderNumbers: [orderNumber], commands }) =>
      commands.map(({ atMs, ...command }) => ({ ...command, orderNumber, at: at(atMs) })),
    ),
    surprises: memory.surprises,
    arrived_events: [...memory.received].map(([eventId, { atMs, bodyHashes, ...event }]) => {
      return { ...event, eventId, at: at(atMs), bodyHashes: [...bodyHashes] };
    }),
    captures: money.flatMap(({ captures }) => captures),
    refunds: money.flatMap(({ refunds }) => refunds),
    transfers: money.flatMap(({ transfers }) => transfers),
    chargebacks: money.flatMap(({ chargebacks }) => chargebacks),
    totals: money.map(({ totals }) => totals),
  };
  for (const [name, columns] of Object.entries(TABLES)) {
    const rows = facts[name as keyof Facts].map((fact) =>
      Object.fromEntries(
        Object.entries(fact).map(([key, value]) => [postgres.fromCamel(key), value]),
      ),
    );
    await sql.unsafe(`CREATE TEMP TABLE ${name} (${columns})`);
    await sql`INSERT INTO ${sql(name)}
      SELECT * FROM jsonb_populate_recordset(NULL::${sql(name)}, ${sql.json(rows)})`;
  }
  await sql.unsafe(`${VIEWS}; ANALYZE ${Object.keys(TABLES).join()}`).simple();
}

const at = (ms: number) => new Date(ms).toISOString();
