import type { Sql } from '../db/client.ts';
import type { OrderGateway } from './gateways.ts';
import type { Shard } from './shard.ts';
import { inShard } from './shard.ts';

export type SessionState = 'OPENING' | 'OPEN' | 'PAID' | 'CLOSED' | 'FAILED';

/** A row of `payment_sessions`. */
export interface SessionRow extends OrderGateway {
  sessionId: string;
  orderNumber: string;
  state: SessionState;
  gatewaySessionId: string | null;
  upiIntent: string | null;
  pageUrl: string | null;
  expiresAt: Date;
  /** When it could be paid no more, if something else than time ended it. */
  endedAt: Date | null;
  payCommandId: string | null;
  createdAt: Date;
  /** Its time was over before it was paid or closed, by the database's clock. */
  isExpired: boolean;
}

/** True of a payment session `s` that expired: once and for all, whatever becomes of its order. */
export const isExpired = (sql: Sql) => sql`
  (s.state <> 'PAID' AND coalesce(s.ended_at, service_now()) >= s.expires_at)`;

/** The contract's limit of payment sessions for one order. */
const MAX_SESSIONS = 20;
/** A session whose opening was cut off by a dying process stands in the way this long at most. */
const OPENING_SECONDS = 30;

/**
 * `opening`: another request is at it right now. `limit`: the order has had its sessions.
 * `no_account`: the merchant cannot be paid out in production yet.
 */
export type Reservation = 'reserved' | 'open' | 'opening' | 'limit' | 'refused' | 'no_account';

/**
 * Reserves a new session for an order: one statement on the order's locked row, so that no second
 * one opens beside it and none while the order is closing its payment.
 *
 * @param sessionMs how long it lasts; it never outlives the payment link
 * @returns the open session (new or not), or why there can be none
 */
export async function reserveSession(
  sql: Sql,
  orderNumber: string,
  sessionId: string,
  sessionMs: number,
): Promise<Reservation> {
  const [row] = await sql<{ outcome: Reservation }[]>`
    SELECT reserve_payment_session(${orderNumber}, ${sessionId}, ${sessionMs},
      ${MAX_SESSIONS}, ${OPENING_SECONDS}) AS outcome`;
  return row?.outcome ?? 'refused';
}

/** The gateway has opened it: it can be paid now. @returns false when it was ended meanwhile */
export async function markSessionOpen(
  sql: Sql,
  sessionId: string,
  opened: { gatewaySessionId: string; upiIntent: string; pageUrl: string },
): Promise<boolean> {
  const rows = await sql`
    UPDATE payment_sessions SET state = 'OPEN', gateway_session_id = ${opened.gatewaySessionId},
      upi_intent = ${opened.upiIntent}, page_url = ${opened.pageUrl},
      next_check_at = least(expires_at, service_now() + ${sql.unsafe(FIRST_CHECK)})
    WHERE session_id = ${sessionId} AND state = 'OPENING'
    RETURNING 1`;
  return rows.length > 0;
}

/**
 * It is over: it no longer stands in the way of a new one, or of a cancel. One that is paid by then
 * stays as it is until its order is notified of the payment. Locks the order before its session, as
 * everybody does.
 */
export async function endSession(
  sql: Sql,
  sessionId: string,
  state: 'CLOSED' | 'FAILED',
): Promise<void> {
  await sql`
    WITH locked AS (
      SELECT o.order_number FROM payment_sessions s JOIN orders o USING (order_number)
      WHERE s.session_id = ${sessionId} FOR NO KEY UPDATE OF o
    ), ended AS (
      UPDATE payment_sessions s
      SET state = ${state}, ended_at = coalesce(s.ended_at, service_now())
      FROM locked l
      WHERE s.session_id = ${sessionId} AND s.order_number = l.order_number AND s.state <> 'PAID'
      RETURNING s.session_id
    )
    UPDATE orders o SET open_session_id = NULL FROM ended e
    WHERE o.open_session_id = e.session_id`;
}

export async function findSession(
  sql: Sql,
  orderNumber: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, ${isExpired(sql)} AS is_expired FROM payment_sessions s
    WHERE order_number = ${orderNumber} AND session_id = ${sessionId}`;
  return row;
}

/** The session with this id at the gateway. */
export async function findSessionAtGateway(
  sql: Sql,
  { gateway, environment }: OrderGateway,
  gatewaySessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, ${isExpired(sql)} AS is_expired FROM payment_sessions s
    WHERE gateway = ${gateway} AND gateway_session_id = ${gatewaySessionId}
      AND environment = ${environment}`;
  return row;
}

/** The session that may still be paid, if there is one. */
export async function findOpenSession(
  sql: Sql,
  orderNumber: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, ${isExpired(sql)} AS is_expired
    FROM orders o JOIN payment_sessions s ON s.session_id = o.open_session_id
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/** A session to ask the gateway about, and whether its order can still be paid. */
export interface SessionToCheck extends SessionRow {
  isPayable: boolean;
}

/**
 * Callbacks come first: the gateway is asked about a session after two minutes of silence, four
 * minutes later, when its time is over, and an hour after that. About one that is PAID it is asked
 * only the last time. So an order that is paid costs three questions at most.
 */
const FIRST_CHECK = "interval '2 minutes'";
/** Of a session that has not ended: its age when it was asked about, times this, until the next. */
const AGE_FACTOR = 2;
/** Of a question that was not answered; the gap grows with the age of the session. */
const AGAIN_FACTOR = 0.25;

/**
 * Takes sessions about which the gateway is to be asked now. Unless {@link planNextCheck} follows,
 * they come again.
 */
export async function takeSessionsToCheck(
  sql: Sql,
  { limit, shard }: { limit: number; shard: Shard },
): Promise<SessionToCheck[]> {
  // The clock in a sub-select is read once, so that the index can be used.
  return sql<SessionToCheck[]>`
    UPDATE payment_sessions s SET next_check_at = service_now()
      + greatest(${sql.unsafe(FIRST_CHECK)}, ${AGAIN_FACTOR} * (service_now() - s.created_at))
    FROM orders o
    WHERE o.order_number = s.order_number AND s.session_id IN (
      SELECT session_id FROM payment_sessions
      WHERE next_check_at <= (SELECT service_now()) AND ${inShard(sql, sql`order_number`, shard)}
      ORDER BY next_check_at LIMIT ${limit}
      FOR UPDATE SKIP LOCKED
    )
    RETURNING s.*, ${isExpired(sql)} AS is_expired,
      o.status = 'ACCEPTED' AS is_payable`;
}

/** The gateway has been asked what became of a session. */
export async function planNextCheck(sql: Sql, sessionId: string): Promise<void> {
  await sql`
    UPDATE payment_sessions s SET next_check_at = CASE
      WHEN state = 'OPEN' THEN least(s.expires_at, service_now()
        + greatest(${sql.unsafe(FIRST_CHECK)}, ${AGE_FACTOR} * (service_now() - s.created_at)))
      WHEN service_now() < last_check_of(s) THEN last_check_of(s)
      END
    WHERE session_id = ${sessionId}`;
}

/** The sandbox helper will pay this session: the PAID step answers its request. */
export async function expectHelperPayment(
  sql: Sql,
  sessionId: string,
  commandId: string,
): Promise<void> {
  await sql`
    UPDATE payment_sessions SET pay_command_id = ${commandId} WHERE session_id = ${sessionId}`;
}

/** The session that a sandbox helper's request pays, and its capture once it is recorded. */
export async function findHelperPayment(
  sql: Sql,
  orderNumber: string,
  commandId: string,
): Promise<{ gateway: string; gatewayPaymentId: string | null } | undefined> {
  const [row] = await sql<{ gateway: string; gatewayPaymentId: string | null }[]>`
    SELECT s.gateway, p.gateway_payment_id
    FROM payment_sessions s LEFT JOIN payments p USING (session_id)
    WHERE s.order_number = ${orderNumber} AND s.pay_command_id = ${commandId}`;
  return row;
}

/** @returns false when another request for the session made the service ask the gateway just now */
export async function claimLook(sql: Sql, sessionId: string, everyMs: number): Promise<boolean> {
  const rows = await sql`
    UPDATE payment_sessions SET looked_at = service_now()
    WHERE session_id = ${sessionId} AND (looked_at IS NULL
      OR looked_at < service_now() - ${everyMs} * interval '1 millisecond')
    RETURNING 1`;
  return rows.length > 0;
}

/** The session that a request with this key was answered with, as it is now. */
export async function findSessionOfKey(
  sql: Sql,
  orderNumber: string,
  idempotencyKey: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, ${isExpired(sql)} AS is_expired
    FROM payment_session_keys k JOIN payment_sessions s USING (session_id)
    WHERE k.order_number = ${orderNumber} AND k.idempotency_key = ${idempotencyKey}`;
  return row;
}

/** Keeps what a request with a key was answered with. @returns false when an equal one came first */
export async function keepSessionOfKey(
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
