import type { Fragment } from 'postgres';
import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import type { UnappliedCapture } from '../../domain/index.ts';
import { STEP_KINDS } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';

/** Entries that are not steps of the order: the refund of a surplus payment. */
const SURPLUS_KINDS = ['SURPLUS_REFUND_STARTED', 'SURPLUS_REFUNDED'] as const;
/** Entries that are not steps: a refund that failed after it was made, and its repetition. */
const REFUND_KINDS = ['REFUND_FAILED', 'REFUNDED_AGAIN'] as const;
/** Entries that are not steps: refunds and chargebacks made at the gateway. */
const REVERSAL_KINDS = [
  'REFUNDED_AT_GATEWAY',
  'CHARGEBACK_OPENED',
  'CHARGEBACK_WON',
  'CHARGEBACK_LOST',
] as const;
const ERASED_KIND = 'ORDER_ERASED';
export const ENTRY_KINDS = [
  ...STEP_KINDS,
  ...SURPLUS_KINDS,
  ...REFUND_KINDS,
  ...REVERSAL_KINDS,
  ERASED_KIND,
] as const;

/** The most entries in one response, and the most counted attempts of a delivery. */
const MOST_ENTRIES = 200;
const MOST_ATTEMPTS = 1000;

/**
 * The place of an entry in its order's timeline: the number of its step, its time in microseconds, and a key of
 * entries that are not steps, which is empty for the step itself.
 */
export const timelinePlaceSchema = z.tuple([z.int().min(1), z.int(), z.string().max(500)]);
export type TimelinePlace = z.output<typeof timelinePlaceSchema>;

export interface TimelinePart {
  /** Oldest first. */
  rows: TimelineRow[];
  /** The place of the first row, to read earlier ones. Null if there are none. */
  earlier: TimelinePlace | null;
}

/** A stored entry, with the state of its webhook's delivery. */
export interface TimelineRow {
  kind: (typeof ENTRY_KINDS)[number];
  at: Date;
  status: OrderRow['status'];
  details: Record<string, string | number | boolean | null> | null;
  /** The actor of the command that caused the step. Null for a payment, a deadline and the gateway. */
  actor: string | null;
  eventId: string | null;
  sequence: number | null;
  /** Null without a webhook URL. */
  deliveryId: string | null;
  state: 'PENDING' | 'DELIVERED' | 'FAILED' | null;
  /** Counted up to 1,000. */
  attempts: number;
  nextAttemptAt: Date | null;
  place: TimelinePlace;
}

/** The UTR of the payment of step `s`, which the gateway may have reported after the step. */
const utrNow = (sql: Sql) => sql`
  CASE s.kind WHEN 'PAYMENT_SUCCESS' THEN jsonb_build_object('utr',
    (SELECT o.payment_utr FROM orders o WHERE o.order_number = s.order_number)) ELSE '{}' END`;

/**
 * Reads the latest entries, each with its webhook event. Surplus refunds, reversals at the gateway and the erasure
 * of the buyer's data appear between the steps by time, with the order's status at that time.
 *
 * @param options.before only entries before this place
 * @param options.most the maximum of entries
 */
export async function readTimeline(
  sql: Sql,
  orderNumber: string,
  { before = END, most = MOST_ENTRIES }: { before?: TimelinePlace | undefined; most?: number } = {},
): Promise<TimelinePart> {
  const found = await readRows(sql, orderNumber, before, most + 1);
  const rows = found.slice(-most);
  const [first] = rows;
  return { rows, earlier: first && found.length > most ? first.place : null };
}

const END: TimelinePlace = [2_147_483_647, Number.MAX_SAFE_INTEGER, ''];

function readRows(
  sql: Sql,
  orderNumber: string,
  [stepNumber, atUs, key]: TimelinePlace,
  limit: number,
): Promise<TimelineRow[]> {
  const usOf = (at: Fragment) => sql`(extract(epoch FROM ${at}) * 1000000)::bigint`;
  return sql<TimelineRow[]>`
    WITH steps AS (
      SELECT step_number, kind, at, status,
        coalesce(s.details, outside.details) || ${utrNow(sql)} AS details,
        coalesce(c.actor, outside.actor) AS actor
      FROM order_steps s
      LEFT JOIN order_commands c ON c.order_number = s.order_number
        AND c.command_id = s.command_id AND c.state <> 'REFUSED'
      -- The settlement outside the gateway that ended the order.
      LEFT JOIN LATERAL (
        SELECT jsonb_build_object('reference', o.reference, 'reason', o.reason) AS details,
          o.actor
        FROM shared.outside_settlements o
        WHERE o.order_number = s.order_number
          AND s.kind IN ('ORDER_COMPLETED', 'REFUND_PROCESSED')
          AND s.command_id IS NOT NULL
      ) outside ON true
      WHERE s.order_number = ${orderNumber} AND s.step_number <= ${stepNumber}
      -- The step at the place itself may be one of them.
      ORDER BY s.step_number DESC LIMIT ${limit + 1}
    ), ${otherEntries(sql, orderNumber)}, others AS (
      SELECT * FROM (
        SELECT kind, at, details, kind || ' ' || id AS key
        FROM (TABLE surplus UNION ALL TABLE refunds UNION ALL TABLE reversals UNION ALL TABLE erasure) AS every
      ) AS keyed
      WHERE (${usOf(sql`at`)}, key) < (${atUs}::bigint, ${key})
      ORDER BY at DESC, key DESC LIMIT ${limit}
    ), entries AS (
      SELECT *, '' AS key FROM steps
      UNION ALL
      SELECT step.step_number, o.kind, o.at, step.status, o.details, NULL, o.key
      FROM others o CROSS JOIN LATERAL (
        SELECT step_number, status FROM order_steps
        WHERE order_number = ${orderNumber} AND step_number <= ${stepNumber} AND order_steps.at <= o.at
        ORDER BY step_number DESC LIMIT 1) step
    ), shown AS (
      SELECT * FROM entries
      WHERE (step_number, ${usOf(sql`at`)}, key) < (${stepNumber}, ${atUs}::bigint, ${key})
      ORDER BY step_number DESC, at DESC, key DESC LIMIT ${limit}
    )
    SELECT s.kind, s.at, s.status, s.details, s.actor, e.event_id, e.sequence, d.delivery_id, d.state,
      d.next_attempt_at, jsonb_build_array(s.step_number, ${usOf(sql`s.at`)}, s.key) AS place,
      (SELECT count(*) FROM (SELECT FROM shared.webhook_attempts a WHERE a.delivery_id = d.delivery_id
        LIMIT ${MOST_ATTEMPTS}) AS counted) AS attempts
    FROM shown s
    LEFT JOIN shared.order_events e ON e.order_number = ${orderNumber}
      AND e.step_number = s.step_number AND s.kind = e.type
    LEFT JOIN shared.webhook_deliveries d USING (event_id)
    ORDER BY s.step_number, s.at, s.key`;
}

/** The common table expressions of entries that are not steps: `surplus`, `refunds`, `reversals` and `erasure`. */
const otherEntries = (sql: Sql, orderNumber: string) => sql`
    surplus AS (
      SELECT m.kind, m.at, jsonb_build_object('reason', r.reason,
        'amount', r.amount_paise / 100.0) AS details, r.gateway_payment_id AS id
      FROM shared.surplus_refunds r CROSS JOIN LATERAL (VALUES
        (${SURPLUS_KINDS[0]}, r.started_at), (${SURPLUS_KINDS[1]}, r.processed_at)) m (kind, at)
      WHERE r.order_number = ${orderNumber} AND m.at IS NOT NULL
    ), refunds AS (
      SELECT CASE operation WHEN 'refund' THEN ${REFUND_KINDS[1]} ELSE ${REFUND_KINDS[0]} END AS kind,
        t.at, jsonb_build_object('amount', t.amount_paise / 100.0) AS details, t.transfer_id::text
      FROM shared.ledger_transfers t JOIN orders o USING (order_number)
      WHERE t.order_number = ${orderNumber} AND (t.operation = 'refund_failed'
        OR (t.operation = 'refund' AND t.refund_try > 0 AND t.gateway_payment_id = o.gateway_payment_id))
    ), reversals AS (
      SELECT m.kind, m.at, jsonb_build_object('gateway_id', r.reversal_id,
        'amount', r.amount_paise / 100.0) AS details, r.reversal_id
      FROM shared.gateway_reversals r CROSS JOIN LATERAL (VALUES
        (${REVERSAL_KINDS[0]}, 'processed', r.ended_at),
        (${REVERSAL_KINDS[1]}, r.state, CASE WHEN r.kind = 'chargeback' THEN r.recorded_at END),
        (${REVERSAL_KINDS[2]}, 'won', r.ended_at), (${REVERSAL_KINDS[3]}, 'lost', r.ended_at))
        m (kind, state, at)
      WHERE r.order_number = ${orderNumber} AND m.at IS NOT NULL AND m.state = r.state
    ), erasure AS (
      SELECT ${ERASED_KIND} AS kind, erased_at AS at, NULL::jsonb AS details, '' FROM orders
      WHERE order_number = ${orderNumber} AND erased_at IS NOT NULL
    )`;

/** Finds the state of a capture that the order has not applied, for the order's pages. */
export async function findUnappliedState(
  sql: Sql,
  orderNumber: string,
): Promise<UnappliedCapture | null> {
  const [row] = await sql<[{ state: UnappliedCapture | null }]>`
    SELECT unapplied_capture_of(${orderNumber}) AS state`;
  return row.state;
}
