import type { Sql } from '../db/client.ts';
import type { Environment, EventType } from '../domain/index.ts';

export type AttemptKind = 'scheduled' | 'manual';
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'FAILED';

/** Everything that an attempt needs, as it is at this moment. */
export interface AttemptContext {
  delivery_id: string;
  event_id: string;
  type: EventType;
  body: string;
  merchant_id: string;
  environment: Environment;
  webhook_url: string | null;
  webhook_secret_sealed: string | null;
  /** Scheduled attempts that were logged before this one. */
  scheduled_attempts: number;
  next_attempt_at: Date | null;
  database_now: Date;
}

/** What an attempt came to: a row of `webhook_attempts`. */
export interface AttemptRecord {
  kind: AttemptKind;
  at: Date;
  url: string;
  statusCode: number | null;
  durationMs: number;
  responseBody: Uint8Array | null;
  error: string | null;
}

/**
 * Takes the delivery for one attempt. An attempt under way keeps others out until it is recorded
 * or must be dead.
 *
 * @returns undefined while another attempt runs, or when a scheduled one is no longer wanted
 */
export async function beginAttempt(
  sql: Sql,
  deliveryId: string,
  token: string,
  kind: AttemptKind,
  leaseMs: number,
): Promise<AttemptContext | undefined> {
  const [row] = await sql<AttemptContext[]>`
    WITH taken AS (
      UPDATE webhook_deliveries SET
        attempt_token = ${token},
        attempt_until = service_now() + ${leaseMs} * interval '1 millisecond'
      WHERE delivery_id = ${deliveryId}
        AND (attempt_until IS NULL OR attempt_until < service_now())
        ${kind === 'scheduled' ? sql`AND state = 'PENDING'` : sql``}
      RETURNING *
    )
    SELECT d.delivery_id, d.event_id, d.merchant_id, d.environment, d.next_attempt_at,
      e.type, e.body, m.webhook_url, m.webhook_secret_sealed, clock_timestamp() AS database_now,
      (SELECT count(*) FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS scheduled_attempts
    FROM taken d
    JOIN order_events e USING (event_id)
    LEFT JOIN merchant_environments m
      ON m.merchant_id = d.merchant_id AND m.environment = d.environment`;
  return row;
}

/** Gives a delivery back without an attempt. */
export async function abandonAttempt(sql: Sql, deliveryId: string, token: string): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET attempt_token = NULL, attempt_until = NULL
    WHERE delivery_id = ${deliveryId} AND attempt_token = ${token}`;
}

/**
 * Logs the attempt and what it makes of its delivery: one statement, so neither is without the
 * other. A process that hung for longer than its attempt may take may find another one under way,
 * which it leaves alone, or the delivery DELIVERED, which it stays.
 */
export async function recordAttempt(
  sql: Sql,
  deliveryId: string,
  token: string,
  attempt: AttemptRecord,
  after: { state: DeliveryState | null; nextAttemptAt: Date | null },
): Promise<void> {
  const { kind, at, url, statusCode, durationMs, responseBody, error } = attempt;
  const { state, nextAttemptAt } = after;
  await sql`
    WITH logged AS (
      INSERT INTO webhook_attempts
        (delivery_id, kind, at, url, status_code, duration_ms, response_body, error)
      VALUES (${deliveryId}, ${kind}, ${at}, ${url}, ${statusCode}, ${durationMs},
        ${responseBody}, ${error})
    )
    UPDATE webhook_deliveries SET
      attempt_token = nullif(attempt_token, ${token}),
      attempt_until = CASE WHEN attempt_token = ${token} THEN NULL ELSE attempt_until END
      ${state === null ? sql`` : sql`, ${settling(sql, state, nextAttemptAt)}`}
    WHERE delivery_id = ${deliveryId}`;
}

/** Once DELIVERED, always DELIVERED; and only a success changes what is FAILED. */
function settling(sql: Sql, state: DeliveryState, nextAttemptAt: Date | null) {
  const ifOpen =
    state === 'DELIVERED'
      ? sql`CASE WHEN state <> 'DELIVERED' THEN`
      : sql`CASE WHEN state = 'PENDING' THEN`;
  const settledAt = state === 'PENDING' ? sql`NULL` : sql`clock_timestamp()`;
  return sql`
    state = ${ifOpen} ${state}::delivery_state ELSE state END,
    next_attempt_at = ${ifOpen} ${nextAttemptAt}::timestamptz ELSE next_attempt_at END,
    settled_at = ${ifOpen} ${settledAt} ELSE settled_at END`;
}

/** The webhook URL is gone: nothing can be sent, and an operator can retry when there is one. */
export async function failDelivery(sql: Sql, deliveryId: string, token: string): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET state = 'FAILED', next_attempt_at = NULL,
      attempt_token = NULL, attempt_until = NULL, settled_at = clock_timestamp()
    WHERE delivery_id = ${deliveryId} AND state = 'PENDING' AND attempt_token = ${token}`;
}

export async function findDeliveryState(
  sql: Sql,
  deliveryId: string,
): Promise<DeliveryState | undefined> {
  const [row] = await sql<{ state: DeliveryState }[]>`
    SELECT state FROM webhook_deliveries WHERE delivery_id = ${deliveryId}`;
  return row?.state;
}
