import type { Fragment } from 'postgres';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { requestFields } from '../../http/request-context.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import type { Shard } from '../reconcile/shard.ts';
import { inShard } from '../reconcile/shard.ts';

export type SessionState = 'OPENING' | 'OPEN' | 'PAID' | 'CLOSED' | 'FAILED';

export interface SessionRow extends GatewayRef {
  sessionId: string;
  orderNumber: string;
  state: SessionState;
  gatewaySessionId: string | null;
  upiIntent: string | null;
  pageUrl: string | null;
  expiresAt: Date;
  /** When something other than its time limit ended it. */
  endedAt: Date | null;
  payCommandId: string | null;
  createdAt: Date;
  /** True if its time ended before a payment of it was recorded, or it was closed, by the database's clock. */
  isExpired: boolean;
}

/** SQL: payment session `s` has expired, which is final, even if a payment of it arrives later. */
export const isExpired = (sql: Sql) => sql`(coalesce(s.ended_at, service_now()) >= s.expires_at)`;

/**
 * `opening`: another request is opening a session. `limit`: the order has had all its sessions. `not_ready`: the
 * merchant has no linked account that receives transfers, so production could not pay it out.
 */
type Reservation =
  | 'reserved'
  | 'open'
  | 'opening'
  | 'limit'
  | 'refused'
  | 'not_active'
  | 'not_ready';

/**
 * Reserves the one open session of an order: see the SQL function `reserve_payment_session`.
 *
 * @param sessionMs how long the session is open; it ends with the payment link at the latest
 * @returns `reserved`, or why it is not
 */
export async function reserveSession(
  sql: Sql,
  orderNumber: string,
  sessionId: string,
  sessionMs: number,
): Promise<Reservation> {
  const [row] = await sql<{ outcome: Reservation }[]>`
    SELECT reserve_payment_session(${orderNumber}, ${sessionId}, ${sessionMs},
      ${requestFields().requestId ?? null}) AS outcome`;
  return row?.outcome ?? 'refused';
}

/** Records that the gateway has opened a session. @returns false when it was ended, or its order paid, in the meantime */
export async function markSessionOpen(
  sql: Sql,
  sessionId: string,
  opened: { gatewaySessionId: string; upiIntent: string; pageUrl: string },
): Promise<boolean> {
  const rows = await sql`
    UPDATE payment_sessions SET state = 'OPEN', gateway_session_id = ${opened.gatewaySessionId},
      upi_intent = ${opened.upiIntent}, page_url = ${opened.pageUrl},
      next_check_at = least(expires_at, service_now() + ${sql.unsafe(FIRST_CHECK)})
    WHERE session_id = ${sessionId} AND state = 'OPENING' AND ended_at IS NULL
    RETURNING 1`;
  return rows.length > 0;
}

/**
 * Ends a session, so that a new one can open or the order can be cancelled. A paid session stays until its order is
 * notified of the payment. Like every statement that locks both, it locks the order before the session.
 *
 * @param state `FAILED` ends only a session that has not opened at the gateway, because an open one must be closed there
 * @returns false if it did not end the session
 */
export async function endSession(
  sql: Sql,
  sessionId: string,
  state: 'CLOSED' | 'FAILED',
): Promise<boolean> {
  const [row] = await sql<[{ hasEnded: boolean }]>`
    WITH locked AS (
      SELECT o.order_number FROM payment_sessions s JOIN shared.orders o USING (order_number)
      WHERE s.session_id = ${sessionId} FOR NO KEY UPDATE OF o
    ), ended AS (
      UPDATE payment_sessions s
      SET state = ${state}, ended_at = coalesce(s.ended_at, service_now())
      FROM locked l
      WHERE s.session_id = ${sessionId} AND s.order_number = l.order_number AND s.state <> 'PAID'
        AND (${state} = 'CLOSED' OR s.gateway_session_id IS NULL)
      RETURNING s.session_id, s.order_number
    ), updated AS (
      UPDATE orders o SET open_session_id = NULL FROM ended e
      WHERE o.order_number = e.order_number AND o.open_session_id = e.session_id
    )
    SELECT EXISTS (SELECT FROM ended) AS has_ended`;
  return row.hasEnded;
}

export function findSession(sql: Sql, orderNumber: string, sessionId: string) {
  return findOne(sql, sql`s.order_number = ${orderNumber} AND s.session_id = ${sessionId}`);
}

export function findSessionAtGateway(sql: Sql, at: GatewayRef, gatewaySessionId: string) {
  const condition = sql`s.gateway = ${at.gateway} AND s.gateway_session_id = ${gatewaySessionId}
    AND s.environment = ${at.environment}`;
  return findOne(sql, condition);
}

/** Finds the session that can still be paid, if there is one. */
export function findOpenSession(sql: Sql, orderNumber: string) {
  const open = sql`(SELECT open_session_id FROM shared.orders WHERE order_number = ${orderNumber})`;
  return findOne(sql, sql`s.session_id = ${open}`);
}

/** Finds the newest session of an order that the gateway has opened. */
export function findLatestSession(sql: Sql, orderNumber: string) {
  const latest = sql`(SELECT max(session_id) FROM payment_sessions
    WHERE order_number = ${orderNumber} AND gateway_session_id IS NOT NULL)`;
  return findOne(sql, sql`s.session_id = ${latest}`);
}

/** Finds the session that was returned to the request with this Idempotency-Key. */
export function findSessionOfKey(sql: Sql, orderNumber: string, idempotencyKey: string) {
  const ofKey = sql`(SELECT session_id FROM payment_session_keys WHERE order_number = ${orderNumber}
    AND idempotency_key IN (${idempotencyKey}, erased_key(${orderNumber}, ${idempotencyKey})))`;
  return findOne(sql, sql`s.session_id = ${ofKey}`);
}

/** @param condition true for at most one session `s` */
async function findOne(sql: Sql, condition: Fragment): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, ${isExpired(sql)} AS is_expired FROM payment_sessions s WHERE ${condition}`;
  return row;
}

/** A session to check at the gateway, and whether its order can still be paid with it. */
export interface SessionToCheck extends SessionRow {
  isPayable: boolean;
}

/**
 * The gateway is asked about a session without a callback after two minutes, four minutes later, when its time is
 * over, and an hour after that; about a PAID session only the last time. So a paid order costs at most three calls.
 */
const FIRST_CHECK = "interval '2 minutes'";
/** The next check of an open session comes after its present age times this. */
const AGE_FACTOR = 2;
/** After a failed check, the next one comes after the session's age times this. */
const AGAIN_FACTOR = 0.25;

/**
 * Takes sessions that are due for a check at the gateway. They become due again unless {@link planNextCheck}
 * follows.
 */
export async function takeSessionsToCheck(
  sql: Sql,
  { limit, shard }: { limit: number; shard: Shard },
): Promise<SessionToCheck[]> {
  // The clock in a sub-select is read once, so that the index can be used.
  return sql<SessionToCheck[]>`
    UPDATE payment_sessions s SET next_check_at = service_now()
      + greatest(${sql.unsafe(FIRST_CHECK)}, ${AGAIN_FACTOR} * (service_now() - s.created_at))
    FROM shared.orders o
    WHERE o.order_number = s.order_number AND s.session_id IN (
      SELECT session_id FROM payment_sessions
      WHERE next_check_at <= (SELECT service_now()) AND ${inShard(sql, sql`order_number`, shard)}
      ORDER BY next_check_at LIMIT ${limit}
      FOR UPDATE SKIP LOCKED
    )
    RETURNING s.*, ${isExpired(sql)} AS is_expired,
      takes_payment(o.status) AND s.ended_at IS NULL AS is_payable`;
}

/** An authorised payment is captured or returned within three days. The last check comes after that. */
const LAST_CHECK_OF_AUTHORIZED = "interval '4 days'";

/**
 * Plans the next check of a session, after the gateway has answered.
 *
 * @param isAuthorized a payment on it is authorised, and may still be captured
 */
export async function planNextCheck(
  sql: Sql,
  sessionId: string,
  isAuthorized: boolean,
): Promise<void> {
  await sql`
    UPDATE payment_sessions s SET next_check_at = CASE
      WHEN state = 'OPEN' THEN least(s.expires_at, service_now()
        + greatest(${sql.unsafe(FIRST_CHECK)}, ${AGE_FACTOR} * (service_now() - s.created_at)))
      WHEN ${isAuthorized} AND service_now() < s.created_at + ${sql.unsafe(LAST_CHECK_OF_AUTHORIZED)}
        THEN least(s.created_at + ${sql.unsafe(LAST_CHECK_OF_AUTHORIZED)},
          service_now() + greatest(interval '1 hour', service_now() - s.created_at))
      WHEN service_now() < last_check_of(s) THEN last_check_of(s)
      END
    WHERE session_id = ${sessionId}`;
}

/**
 * Records the sandbox command that pays this session, instead of an earlier one. The PAID step then carries the command
 * out.
 *
 * @returns false if the session has ended: then it keeps the command that has paid it
 */
export async function expectHelperPayment(
  sql: Sql,
  sessionId: string,
  commandId: string,
): Promise<boolean> {
  const { count } = await sql`
    UPDATE payment_sessions SET pay_command_id = ${commandId}
    WHERE session_id = ${sessionId} AND ended_at IS NULL`;
  return count > 0;
}

/** Finds the session that a sandbox command pays, and its capture, if that is recorded. */
export async function findHelperSession(sql: Sql, orderNumber: string, commandId: string) {
  const [row] = await sql<{ gatewaySessionId: string; capture: PaymentRef | null }[]>`
    SELECT s.gateway_session_id, CASE WHEN p.session_id IS NOT NULL THEN jsonb_build_object(
      'gateway', p.gateway, 'gatewayPaymentId', p.gateway_payment_id) END AS capture
    FROM payment_sessions s LEFT JOIN payments p USING (order_number, session_id)
    WHERE s.order_number = ${orderNumber} AND s.pay_command_id = ${commandId}
      AND s.gateway_session_id IS NOT NULL LIMIT 1`;
  return row;
}

/** @returns false when the gateway was asked about the session within `everyMs` */
export async function claimRefresh(sql: Sql, sessionId: string, everyMs: number): Promise<boolean> {
  const rows = await sql`
    UPDATE payment_sessions SET looked_at = service_now()
    WHERE session_id = ${sessionId} AND (looked_at IS NULL
      OR looked_at < service_now() - ${everyMs} * interval '1 millisecond')
    RETURNING 1`;
  return rows.length > 0;
}

/** Records the session returned for an Idempotency-Key. @returns false when the key has one */
export async function recordSessionOfKey(
  sql: Sql,
  orderNumber: string,
  idempotencyKey: string,
  sessionId: string,
): Promise<boolean> {
  const rows = await sql`
    INSERT INTO payment_session_keys (order_number, idempotency_key, session_id)
    VALUES (${orderNumber}, ${idempotencyKey}, ${sessionId})
    ON CONFLICT DO NOTHING RETURNING 1`;
  return rows.length > 0;
}
