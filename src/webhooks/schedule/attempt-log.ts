import type { Fragment } from 'postgres';
import { createBatches } from '../../db/batches.ts';
import type { Sql } from '../../db/client.ts';
import { ATTEMPT_LEASE_MS } from '../../domain/index.ts';
import type { DeliveryToSend } from '../../orders/public.ts';
import type { SendResult } from '../sending/exchange.ts';

/** A statement that takes longer may hang on a lost connection, and no longer delays others. */
const HANGS_AFTER_MS = 1000;

/** `scheduled`: one of the schedule's five. `manual`: by hand. */
export type AttemptKind = 'scheduled' | 'manual';
/** A delivery is PENDING while attempts remain. */
export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** An attempt of a delivery. Its token is unique and identifies the owner of the lease. */
export interface Attempt {
  deliveryId: string;
  token: string;
  kind: AttemptKind;
  /** The attempt begins only if the delivery is due by this time. Null: at any time. */
  dueBy: Date | null;
  /** True if the order's workflow sends the delivery from now on, so that nothing needs to wake it. */
  takesOver?: boolean;
}

export interface AttemptContext extends DeliveryToSend {
  /** The number of scheduled attempts that were logged before this one. */
  scheduledAttempts: number;
  /** How often the endpoint had no free slot since the last attempt. */
  postponements: number;
}

export interface IdleDelivery {
  state: DeliveryState;
  isErased: boolean;
  nextAttemptAt: Date | null;
  isUnderWay: boolean;
  databaseNow: Date;
}

/** The result of an attempt (a row of `webhook_attempts`) and the new state of its delivery. */
export interface AttemptResult
  extends
    Pick<Attempt, 'deliveryId' | 'token' | 'kind'>,
    Pick<AttemptContext, 'merchantId' | 'environment'>,
    Pick<SendResult, 'statusCode' | 'durationMs' | 'error'> {
  at: Date;
  url: string;
  /** The signature that was sent, in hexadecimal. Null when the URL was refused and nothing was sent. */
  signature: string | null;
  standardSignature: string | null;
  apiVersion: string;
  responseBody: Uint8Array | null;
  /** Null leaves the delivery unchanged. */
  state: DeliveryState | null;
  nextAttemptAt: Date | null;
  /** The number of failed scheduled attempts. */
  failedAttempts: number;
}

export type AttemptLog = ReturnType<typeof createAttemptLog>;

/**
 * Leases and records attempts in the database, with two statements, which concurrent attempts share in batches. The
 * first attempt is leased by the step that causes it, so it takes one.
 */
export function createAttemptLog(sql: Sql) {
  return {
    /**
     * Leases the delivery for one attempt. No other attempt can begin until this one is recorded or its lease
     * expires.
     *
     * @returns undefined while another attempt holds the lease, when a scheduled attempt is too early or the
     * delivery is no longer PENDING, or when the event is erased
     */
    lease: createBatches<Attempt, AttemptContext | undefined>(
      (attempts) => lease(sql, attempts),
      HANGS_AFTER_MS,
    ),

    /**
     * Records the attempt and the new state of its delivery atomically. A process that hung past its lease does not
     * affect the attempt that has begun since, and never changes DELIVERED.
     */
    record: createBatches<AttemptResult, void>((results) => record(sql, results), HANGS_AFTER_MS),

    /** Ends the lease without an attempt. */
    abandon: (attempt: Lease) => endLease(sql, attempt, sql``),

    /** Ends the lease without an attempt, because the endpoint has no free slot. The next attempt is at `until`. */
    postpone: (attempt: Lease, until: Date) =>
      endLease(sql, attempt, sql`, next_attempt_at = ${until}, postponements = postponements + 1`),

    /** Marks a delivery FAILED without an attempt. An operator can retry it later. */
    async fail({ deliveryId, token }: Lease): Promise<void> {
      await sql`
        UPDATE webhook_deliveries SET state = 'FAILED', next_attempt_at = NULL,
          attempt_token = NULL, attempt_until = NULL, wake_at = NULL,
          settled_at = clock_timestamp()
        WHERE delivery_id = ${deliveryId} AND state = 'PENDING' AND attempt_token = ${token}`;
    },

    /**
     * Reads a delivery whose attempt did not begin. With `takesOver`, the order's workflow also takes it over.
     *
     * @returns undefined when there is no such delivery
     */
    async find({
      deliveryId,
      takesOver = false,
    }: Pick<Attempt, 'deliveryId' | 'takesOver'>): Promise<IdleDelivery | undefined> {
      const [row] = await sql<IdleDelivery[]>`
        WITH taken_over AS (
          UPDATE webhook_deliveries SET wake_at = NULL
          WHERE ${takesOver} AND delivery_id = ${deliveryId} AND wake_at IS NOT NULL
        )
        SELECT state, is_erased, next_attempt_at, coalesce(attempt_until > service_now(), false) AS is_under_way,
          clock_timestamp() AS database_now
        FROM webhook_deliveries WHERE delivery_id = ${deliveryId}`;
      return row;
    },
  };
}

type Lease = Pick<Attempt, 'deliveryId' | 'token'>;

/** Does nothing if another attempt has begun since. @param changes further assignments */
async function endLease(sql: Sql, { deliveryId, token }: Lease, changes: Fragment): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET attempt_token = NULL, attempt_until = NULL ${changes}
    WHERE delivery_id = ${deliveryId} AND attempt_token = ${token}`;
}

/** PostgreSQL estimates 100 rows for a JSON record set. For an array of ids it knows the number. */
const idsOf = (attempts: readonly { deliveryId: string }[]) =>
  attempts.map(({ deliveryId }) => deliveryId);

async function lease(sql: Sql, attempts: Attempt[]): Promise<(AttemptContext | undefined)[]> {
  const rows = await sql<(AttemptContext & { token: string })[]>`
    WITH taken AS (
      UPDATE webhook_deliveries AS d SET
        attempt_token = wanted.token,
        attempt_until = service_now() + ${ATTEMPT_LEASE_MS} * interval '1 millisecond',
        wake_at = CASE WHEN wanted."takesOver" THEN NULL ELSE d.wake_at END
      FROM jsonb_to_recordset(${sql.json(attempts.map((attempt) => ({ ...attempt })))}) AS wanted
        ("deliveryId" text, token text, kind attempt_kind, "dueBy" timestamptz, "takesOver" boolean)
      WHERE d.delivery_id = wanted."deliveryId" AND d.delivery_id = ANY (${idsOf(attempts)})
        AND NOT d.is_erased AND (d.attempt_until IS NULL OR d.attempt_until < service_now())
        AND (wanted.kind = 'manual' OR d.state = 'PENDING')
        AND (wanted."dueBy" IS NULL OR d.next_attempt_at IS NULL
          OR d.next_attempt_at <= wanted."dueBy")
      RETURNING d.*
    )
    SELECT d.attempt_token AS token, d.delivery_id, d.event_id, d.merchant_id, d.environment,
      e.order_number, e.type, e.body, m.webhook_url, m.webhook_secret_sealed,
      d.postponements,
      clock_timestamp() AS database_now,
      (SELECT count(*) FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS scheduled_attempts
    FROM taken d
    JOIN order_events e USING (event_id)
    LEFT JOIN shared.merchant_environments m
      ON m.merchant_id = d.merchant_id AND m.environment = d.environment`;
  const contexts = new Map(rows.map(({ token, ...context }) => [token, context]));
  return attempts.map(({ token }) => contexts.get(token));
}

async function record(sql: Sql, results: AttemptResult[]): Promise<never[]> {
  const rows = results.map(({ responseBody, ...result }) => ({
    ...result,
    responseBase64: responseBody && Buffer.from(responseBody).toString('base64'),
  }));
  // DELIVERED is final, and only a success changes FAILED.
  const changes = sql`
    (result.state IS NOT NULL
      AND (d.state = 'PENDING' OR d.state = 'FAILED' AND result.state = 'DELIVERED'))`;
  await sql`
    WITH results AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${sql.json(rows)}) AS row (
        "deliveryId" text, token text,
        "merchantId" text, environment environment,
        kind attempt_kind, at timestamptz, url text, signature text, "standardSignature" text,
        "apiVersion" text,
        "statusCode" integer, "durationMs" integer, "responseBase64" text, error text,
        state delivery_state, "nextAttemptAt" timestamptz, "failedAttempts" smallint)
    ),
    logged AS (
      INSERT INTO webhook_attempts
        (delivery_id, merchant_id, environment, kind, at, url, signature, standard_signature,
          api_version, status_code, duration_ms, response_body, error)
      SELECT "deliveryId", "merchantId", environment, kind, at, url, decode(signature, 'hex'),
        decode("standardSignature", 'hex'), "apiVersion", "statusCode", "durationMs", decode("responseBase64", 'base64'), error
      FROM results
    )
    UPDATE webhook_deliveries AS d SET
      attempt_token = nullif(d.attempt_token, result.token),
      attempt_until = CASE WHEN d.attempt_token = result.token THEN NULL ELSE d.attempt_until END,
      state = CASE WHEN ${changes} THEN result.state ELSE d.state END,
      postponements = CASE WHEN ${changes} THEN 0 ELSE d.postponements END,
      next_attempt_at =
        CASE WHEN ${changes} THEN result."nextAttemptAt" ELSE d.next_attempt_at END,
      failed_attempts =
        CASE WHEN ${changes} THEN result."failedAttempts" ELSE d.failed_attempts END,
      wake_at = CASE WHEN ${changes} AND result.state <> 'PENDING' THEN NULL ELSE d.wake_at END,
      settled_at = CASE WHEN NOT ${changes} THEN d.settled_at
        WHEN result.state <> 'PENDING' THEN clock_timestamp() END
    FROM (
      -- A success takes precedence over the failure of an attempt that hung until now.
      SELECT DISTINCT ON ("deliveryId") * FROM results
      ORDER BY "deliveryId", state = 'DELIVERED' DESC NULLS LAST
    ) AS result
    WHERE d.delivery_id = result."deliveryId" AND d.delivery_id = ANY (${idsOf(results)})`;
  return [];
}

/** For how many seconds the most overdue delivery has been due; 0 if none is. */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_attempt_at)::float8 AS seconds
    FROM webhook_deliveries WHERE state = 'PENDING' ORDER BY next_attempt_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
