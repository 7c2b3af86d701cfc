import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';

export type SessionState = 'OPENING' | 'OPEN' | 'PAID' | 'CLOSED' | 'FAILED';

/** A row of `payment_sessions`. */
export interface SessionRow {
  session_id: string;
  order_number: string;
  environment: Environment;
  state: SessionState;
  gateway_session_id: string | null;
  upi_intent: string | null;
  page_url: string | null;
  expires_at: Date;
  pay_request_id: string | null;
  created_at: Date;
  /** By the database's clock, which the sandbox can move. */
  is_expired: boolean;
}

/** How the money of an order can be moved: its payment, and who gets it. */
export interface FundsRow {
  order_number: string;
  environment: Environment;
  amount_paise: number;
  gateway_payment_id: string;
  merchant_id: string;
  merchant_name: string;
  merchant_email: string;
  merchant_status: string;
  linked_account_id: string | null;
  settled_outside: boolean;
  /** Another process is holding these funds at the gateway right now. */
  being_held: boolean | null;
}

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
      upi_intent = ${opened.upiIntent}, page_url = ${opened.pageUrl}
    WHERE session_id = ${sessionId} AND state = 'OPENING'
    RETURNING 1`;
  return rows.length > 0;
}

/** It is over: it no longer stands in the way of a new one, or of a cancel. */
export async function endSession(
  sql: Sql,
  sessionId: string,
  state: 'PAID' | 'CLOSED' | 'FAILED',
): Promise<void> {
  await sql`
    WITH ended AS (
      UPDATE payment_sessions SET state = ${state}
      WHERE session_id = ${sessionId} AND state <> 'PAID'
    )
    UPDATE orders SET open_session_id = NULL WHERE open_session_id = ${sessionId}`;
}

export async function findSession(
  sql: Sql,
  orderNumber: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT *, expires_at <= service_now() AS is_expired FROM payment_sessions
    WHERE order_number = ${orderNumber} AND session_id = ${sessionId}`;
  return row;
}

/** Our session behind a session of the gateway's. */
export async function findSessionAtGateway(
  sql: Sql,
  environment: Environment,
  gatewaySessionId: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT *, expires_at <= service_now() AS is_expired FROM payment_sessions
    WHERE gateway_session_id = ${gatewaySessionId} AND environment = ${environment}`;
  return row;
}

/** The session that may still be paid, if there is one. */
export async function findOpenSession(
  sql: Sql,
  orderNumber: string,
): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.*, s.expires_at <= service_now() AS is_expired
    FROM orders o JOIN payment_sessions s ON s.session_id = o.open_session_id
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/**
 * Writes a capture into the book, once, and ends its session: as paid, or, when the amount is not
 * the order's, so that the buyer can have another one. Locks the order before its session, as
 * everybody does.
 */
export async function writeCapture(
  sql: Sql,
  capture: {
    gatewayPaymentId: string;
    orderNumber: string;
    sessionId: string | null;
    environment: Environment;
    amountPaise: number;
  },
): Promise<void> {
  const { gatewayPaymentId, orderNumber, sessionId, environment, amountPaise } = capture;
  await sql`
    WITH fitting AS (
      SELECT order_number, amount_paise = ${amountPaise} AS fits FROM orders
      WHERE order_number = ${orderNumber} FOR NO KEY UPDATE
    ), session AS (
      UPDATE payment_sessions s
      SET state = (CASE WHEN f.fits THEN 'PAID' ELSE 'CLOSED' END)::session_state
      FROM fitting f
      WHERE s.session_id = ${sessionId} AND s.order_number = f.order_number
      RETURNING s.session_id
    ), freed AS (
      UPDATE orders o SET open_session_id = NULL FROM fitting f
      WHERE o.order_number = f.order_number AND o.open_session_id = ${sessionId} AND NOT f.fits
    )
    INSERT INTO payments (gateway_payment_id, environment, order_number, session_id, amount_paise)
    VALUES (${gatewayPaymentId}, ${environment}, ${orderNumber},
      (SELECT session_id FROM session), ${amountPaise})
    ON CONFLICT DO NOTHING`;
}

/** True once the order has been told that this attempt failed. */
export async function isFailureKnown(sql: Sql, gatewayPaymentId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM failed_payments WHERE gateway_payment_id = ${gatewayPaymentId}`;
  return rows.length > 0;
}

export async function writeFailure(
  sql: Sql,
  gatewayPaymentId: string,
  orderNumber: string,
): Promise<void> {
  await sql`
    INSERT INTO failed_payments (gateway_payment_id, order_number)
    VALUES (${gatewayPaymentId}, ${orderNumber}) ON CONFLICT DO NOTHING`;
}

/** Keeps a callback as it came, before anything is done about it. */
export async function writeCallback(
  sql: Sql,
  callback: { environment: Environment; eventId: string; event: string; body: string },
): Promise<void> {
  const { environment, eventId, event, body } = callback;
  await sql`
    INSERT INTO gateway_callbacks (environment, event_id, event, body)
    VALUES (${environment}, ${eventId}, ${event}, ${body})`;
}

export async function findFunds(sql: Sql, orderNumber: string): Promise<FundsRow | undefined> {
  const [row] = await sql<FundsRow[]>`
    SELECT o.order_number, o.environment, o.amount_paise, o.gateway_payment_id, o.merchant_id,
      m.name AS merchant_name, m.email AS merchant_email, m.status AS merchant_status,
      m.linked_accounts->>(o.environment::text) AS linked_account_id,
      EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number)
        AS settled_outside,
      p.held_at IS NULL
        AND p.hold_started_at > clock_timestamp() - ${HOLD_LEASE_SECONDS} * interval '1 second'
        AS being_held
    FROM orders o JOIN merchants m USING (merchant_id)
    JOIN payments p ON p.gateway_payment_id = o.gateway_payment_id
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/** Keeps the account that a merchant is paid out to. */
export async function saveLinkedAccount(
  sql: Sql,
  merchantId: string,
  environment: Environment,
  linkedAccountId: string,
): Promise<void> {
  await sql`
    UPDATE merchants SET linked_accounts = linked_accounts || ${sql.json({ [environment]: linkedAccountId })}
    WHERE merchant_id = ${merchantId}`;
}

/** A capture that its order cannot take. */
export interface SurplusRow {
  gateway_payment_id: string;
  order_number: string;
  environment: Environment;
  amount_paise: number;
  reason: string;
  processed_at: Date | null;
}

/**
 * Takes a capture for giving back, if its order cannot take it: it belongs to no order's PAID, and
 * the order is past being paid, or the amount is wrong. Books it as surplus in the same statement,
 * with the order locked: it comes before a cancel, which then shows it, or after it.
 *
 * @returns undefined when the capture is not surplus
 */
export async function claimSurplus(
  sql: Sql,
  gatewayPaymentId: string,
): Promise<SurplusRow | undefined> {
  const [row] = await sql<SurplusRow[]>`
    WITH surplus AS (
      SELECT p.*, o.merchant_id, o.status, CASE
        WHEN p.amount_paise <> o.amount_paise THEN 'wrong_amount'
        WHEN o.status = 'CANCELLED' THEN 'late_payment' ELSE 'already_paid' END AS reason
      FROM payments p JOIN orders o USING (order_number)
      WHERE p.gateway_payment_id = ${gatewayPaymentId}
        AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
        AND (p.amount_paise <> o.amount_paise OR o.status <> 'ACCEPTED')
      FOR UPDATE OF o
    ), claimed AS (
      INSERT INTO surplus_refunds (gateway_payment_id, order_number, amount_paise, reason)
      SELECT gateway_payment_id, order_number, amount_paise, reason FROM surplus
      ON CONFLICT (gateway_payment_id) DO UPDATE SET reason = surplus_refunds.reason
      RETURNING *
    ), booked AS (
      INSERT INTO ledger_transfers (gateway_payment_id, operation, order_number, merchant_id,
        environment, debit_account, credit_account, amount_paise)
      SELECT gateway_payment_id, 'capture', order_number, merchant_id, environment,
        'gateway_clearing', 'surplus', amount_paise
      FROM surplus ON CONFLICT DO NOTHING
    ), shown AS (
      UPDATE orders o SET refund_amount_paise = c.amount_paise, refund_reason = c.reason
      FROM claimed c JOIN surplus s USING (gateway_payment_id)
      WHERE o.order_number = c.order_number AND s.status = 'CANCELLED'
        AND o.refund_amount_paise IS NULL
    )
    SELECT c.*, s.environment FROM claimed c JOIN surplus s USING (gateway_payment_id)`;
  return row;
}

/** The gateway has given it back. A CANCELLED order shows the earliest one. */
export async function finishSurplus(sql: Sql, gatewayPaymentId: string): Promise<void> {
  await sql`
    WITH locked AS (
      SELECT o.* FROM surplus_refunds s JOIN orders o USING (order_number)
      WHERE s.gateway_payment_id = ${gatewayPaymentId}
      FOR UPDATE OF o
    ), done AS (
      UPDATE surplus_refunds s SET processed_at = service_now() FROM locked o
      WHERE s.gateway_payment_id = ${gatewayPaymentId} AND s.order_number = o.order_number
        AND s.processed_at IS NULL
      RETURNING s.*
    ), booked AS (
      INSERT INTO ledger_transfers (gateway_payment_id, operation, order_number, merchant_id,
        environment, debit_account, credit_account, amount_paise)
      SELECT d.gateway_payment_id, 'refund', d.order_number, o.merchant_id, o.environment,
        'surplus', 'refunds', d.amount_paise
      FROM done d JOIN locked o USING (order_number)
    )
    UPDATE orders o SET refund_processed_at = d.processed_at
    FROM done d JOIN locked l USING (order_number)
    WHERE o.order_number = d.order_number AND l.status = 'CANCELLED'
      AND d.gateway_payment_id = (SELECT e.gateway_payment_id FROM surplus_refunds e
        WHERE e.order_number = d.order_number ORDER BY e.started_at, e.gateway_payment_id LIMIT 1)`;
}

/** A session to ask the gateway about, and whether its order can still be paid. */
export interface SessionToCheck extends SessionRow {
  is_payable: boolean;
}

/**
 * Sessions whose callbacks may have been lost: not asked about lately, open or recently over. The
 * sandbox can move `expires_at` into the past, but not the hour that begins with the session.
 */
export async function takeSessionsToCheck(
  sql: Sql,
  {
    limit,
    everyMs,
    paidEveryMs,
    forMs,
  }: { limit: number; everyMs: number; paidEveryMs: number; forMs: number },
): Promise<SessionToCheck[]> {
  // The clock in a sub-select is read once, so that the index can be used.
  return sql<SessionToCheck[]>`
    UPDATE payment_sessions s SET checked_at = service_now()
    FROM orders o
    WHERE o.order_number = s.order_number AND s.session_id IN (
      SELECT session_id FROM payment_sessions
      WHERE state IN ('OPEN', 'PAID', 'CLOSED') AND gateway_session_id IS NOT NULL
        AND greatest(expires_at, created_at)
          > (SELECT service_now()) - ${forMs} * interval '1 millisecond'
        AND (checked_at IS NULL OR checked_at < (SELECT service_now())
          - (CASE state WHEN 'PAID' THEN ${paidEveryMs}::bigint ELSE ${everyMs}::bigint END)
            * interval '1 millisecond')
      ORDER BY checked_at NULLS FIRST LIMIT ${limit}
      FOR UPDATE SKIP LOCKED
    )
    RETURNING s.*, s.expires_at <= service_now() AS is_expired,
      o.status = 'ACCEPTED' AS is_payable`;
}

/** What is looked for every minute is found long before; `ledger verify` looks at everything. */
const LOOSE_FOR_DAYS = 7;

/**
 * Captures that no order has taken and nobody has given back: a Signal was lost on its way. The
 * newest first, so that those which the gateway refuses for good do not stand in their way.
 */
export async function findLooseCaptures(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<LooseCapture[]> {
  return sql<LooseCapture[]>`
    SELECT p.gateway_payment_id, p.order_number, p.amount_paise,
      o.amount_paise AS order_amount_paise, s.gateway_payment_id IS NOT NULL AS is_surplus
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s ON s.gateway_payment_id = p.gateway_payment_id
    WHERE o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
      AND s.processed_at IS NULL
      AND p.captured_at < (SELECT service_now()) - ${olderThanMs} * interval '1 millisecond'
      AND p.captured_at > (SELECT service_now()) - ${LOOSE_FOR_DAYS} * interval '1 day'
    ORDER BY p.captured_at DESC LIMIT ${limit}`;
}

export interface LooseCapture {
  gateway_payment_id: string;
  order_number: string;
  amount_paise: number;
  order_amount_paise: number;
  /** It is being given back already. */
  is_surplus: boolean;
}

/** A capture in the book, unless its order has taken it or it has been given back. */
export async function findLooseCapture(
  sql: Sql,
  gatewayPaymentId: string,
): Promise<LooseCapture | undefined> {
  const [row] = await sql<LooseCapture[]>`
    SELECT p.gateway_payment_id, p.order_number, p.amount_paise,
      o.amount_paise AS order_amount_paise, s.gateway_payment_id IS NOT NULL AS is_surplus
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s ON s.gateway_payment_id = p.gateway_payment_id
    WHERE p.gateway_payment_id = ${gatewayPaymentId} AND s.processed_at IS NULL
      AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id`;
  return row;
}

/** How long a process that holds funds may take before it must be dead. */
const HOLD_LEASE_SECONDS = 60;

/** True of a payment `p` whose funds the gateway has not refused to hold within this hour. */
const mayBeHeld = (sql: Sql) => sql`
  (p.hold_refused_at IS NULL OR p.hold_refused_at < service_now() - interval '1 hour')`;

/**
 * Captures whose order holds the money, but the gateway does not yet; each gets its turn.
 *
 * @param untriedForMs leaves out those that were tried since then, and those that are being tried
 */
export async function findUnheldPayments(
  sql: Sql,
  { limit, untriedForMs }: { limit: number; untriedForMs: number },
): Promise<{ order_number: string }[]> {
  return sql<{ order_number: string }[]>`
    SELECT o.order_number FROM payments p
    JOIN orders o USING (order_number)
    WHERE o.gateway_payment_id = p.gateway_payment_id AND p.held_at IS NULL AND o.busy IS NULL AND ${mayBeHeld(sql)}
      AND o.status IN ('PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW')
      AND (p.hold_started_at IS NULL
        OR p.hold_started_at < clock_timestamp()
          - ${Math.max(untriedForMs, HOLD_LEASE_SECONDS * 1000)} * interval '1 millisecond')
    ORDER BY p.hold_started_at NULLS FIRST LIMIT ${limit}`;
}

/**
 * Takes an order's funds for holding them at the gateway. Locks the order's row, so that it comes
 * either before settling starts, which then waits for it, or not at all.
 *
 * @returns false when they are held, being held, being settled, or were refused just now
 */
export async function claimHold(sql: Sql, orderNumber: string): Promise<boolean> {
  const rows = await sql`
    WITH locked AS (
      SELECT gateway_payment_id FROM orders
      WHERE order_number = ${orderNumber} AND busy IS NULL
        AND status IN ('PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW')
      FOR UPDATE
    )
    UPDATE payments p SET hold_started_at = clock_timestamp() FROM locked l
    WHERE p.gateway_payment_id = l.gateway_payment_id AND p.held_at IS NULL AND ${mayBeHeld(sql)}
      AND (p.hold_started_at IS NULL
        OR p.hold_started_at < clock_timestamp() - ${HOLD_LEASE_SECONDS} * interval '1 second')
    RETURNING 1`;
  return rows.length > 0;
}

export async function markHeld(sql: Sql, gatewayPaymentId: string): Promise<void> {
  await sql`
    UPDATE payments SET held_at = service_now() WHERE gateway_payment_id = ${gatewayPaymentId}`;
}

/** The gateway holds these funds for nobody: nothing is under way that settling must wait for. */
export async function markHoldRefused(sql: Sql, gatewayPaymentId: string): Promise<void> {
  await sql`
    UPDATE payments SET hold_refused_at = service_now(), hold_started_at = NULL
    WHERE gateway_payment_id = ${gatewayPaymentId}`;
}

/** The sandbox helper will pay this session: the PAID step answers its request. */
export async function expectHelperPayment(
  sql: Sql,
  sessionId: string,
  requestId: string,
): Promise<void> {
  await sql`
    UPDATE payment_sessions SET pay_request_id = ${requestId} WHERE session_id = ${sessionId}`;
}

/** The session that a sandbox helper's request pays, and its capture once it is in the book. */
export async function findHelperPayment(
  sql: Sql,
  orderNumber: string,
  requestId: string,
): Promise<{ gateway_payment_id: string | null } | undefined> {
  const [row] = await sql<{ gateway_payment_id: string | null }[]>`
    SELECT p.gateway_payment_id FROM payment_sessions s LEFT JOIN payments p USING (session_id)
    WHERE s.order_number = ${orderNumber} AND s.pay_request_id = ${requestId}`;
  return row;
}

/** What a request for a payment session was answered. */
export interface SessionAnswer {
  isNew: boolean;
  session: {
    session_id: string;
    status: 'open' | 'paid' | 'closed';
    upi_intent: string;
    expires_at: string;
  };
}

/** The first answer to a request with this key, if there was one. */
export async function findSessionAnswer(
  sql: Sql,
  orderNumber: string,
  idempotencyKey: string,
): Promise<SessionAnswer | undefined> {
  const [row] = await sql<{ answer: SessionAnswer }[]>`
    SELECT answer FROM payment_session_answers
    WHERE order_number = ${orderNumber} AND idempotency_key = ${idempotencyKey}`;
  return row?.answer;
}

/** Keeps the answer to a request. @returns the first one, of any number of equal requests */
export async function keepSessionAnswer(
  sql: Sql,
  orderNumber: string,
  idempotencyKey: string,
  answer: SessionAnswer,
): Promise<SessionAnswer> {
  const [row] = await sql<[{ answer: SessionAnswer }]>`
    INSERT INTO payment_session_answers AS kept (order_number, idempotency_key, answer)
    VALUES (${orderNumber}, ${idempotencyKey}, ${sql.json({ ...answer })})
    ON CONFLICT (order_number, idempotency_key) DO UPDATE SET answer = kept.answer
    RETURNING answer`;
  return row.answer;
}
