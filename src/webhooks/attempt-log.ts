import { createBatches } from '../db/batches.ts';
import type { Sql } from '../db/client.ts';
import type { Environment, EventType } from '../domain/index.ts';
import { createEndpointPace } from './endpoint-pace.ts';

export type AttemptKind = 'scheduled' | 'manual';
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'FAILED';

/** An attempt of a delivery; the token is this one's and no other's. */
export interface Attempt {
  deliveryId: string;
  token: string;
  kind: AttemptKind;
  /** Begins only what is to be attempted until then; null for what is wanted at any time. */
  dueBy: Date | null;
}

/** Everything that an attempt needs, as it is at this moment. */
export interface AttemptContext {
  deliveryId: string;
  eventId: string;
  orderNumber: string;
  type: EventType;
  body: string;
  merchantId: string;
  environment: Environment;
  webhookUrl: string | null;
  webhookSecretSealed: string | null;
  /** Scheduled attempts that were logged before this one. */
  scheduledAttempts: number;
  /** What the URL's places are shared by; null without a URL. */
  origin: string | null;
  /** Webhooks that may be under way there at once. */
  places: number;
  /** Its attempts ran out of time or had to wait: what this one comes to is to be noted. */
  isWatched: boolean;
  /** Others wait for the endpoint, and this delivery has reserved no time there. */
  mustWait: boolean;
  databaseNow: Date;
}

/** A delivery that was not begun. */
export interface IdleDelivery {
  state: DeliveryState;
  nextAttemptAt: Date | null;
  isUnderWay: boolean;
  databaseNow: Date;
}

/** What an attempt came to, a row of `webhook_attempts`, and what it makes of its delivery. */
export interface AttemptResult extends Omit<Attempt, 'dueBy'> {
  at: Date;
  url: string;
  statusCode: number | null;
  durationMs: number;
  responseBody: Uint8Array | null;
  error: string | null;
  /** `null` leaves the delivery as it is. */
  state: DeliveryState | null;
  nextAttemptAt: Date | null;
}

/** Longer than the sender's 15 s: past this the process that attempted must be dead. */
export const ATTEMPT_LEASE_MS = 25_000;

export type AttemptLog = ReturnType<typeof createAttemptLog>;

/** Attempts in the database. Two statements each, which many attempts at once share. */
export function createAttemptLog(sql: Sql) {
  return {
    ...createEndpointPace(sql),

    /**
     * Takes the delivery for one attempt. An attempt under way keeps others out until it is recorded
     * or must be dead.
     *
     * @returns undefined while another attempt runs, or when a scheduled one is too early or no
     *   longer wanted
     */
    begin: createBatches<Attempt, AttemptContext | undefined>((attempts) => begin(sql, attempts)),

    /**
     * Logs the attempt and what it makes of its delivery, neither without the other. A process that
     * hung for longer than its attempt may take may find another one under way, which it leaves
     * alone, or the delivery DELIVERED, which it stays.
     */
    record: createBatches<AttemptResult, void>((results) => record(sql, results)),

    /** Gives a delivery back without an attempt. */
    async abandon({ deliveryId, token }: Pick<Attempt, 'deliveryId' | 'token'>): Promise<void> {
      await sql`
        UPDATE webhook_deliveries SET attempt_token = NULL, attempt_until = NULL
        WHERE delivery_id = ${deliveryId} AND attempt_token = ${token}`;
    },

    /** The webhook URL is gone: nothing can be sent, and an operator can retry when there is one. */
    async fail({ deliveryId, token }: Attempt): Promise<void> {
      await sql`
        UPDATE webhook_deliveries SET state = 'FAILED', next_attempt_at = NULL,
          attempt_token = NULL, attempt_until = NULL, settled_at = clock_timestamp()
        WHERE delivery_id = ${deliveryId} AND state = 'PENDING' AND attempt_token = ${token}`;
    },

    async find(deliveryId: string): Promise<IdleDelivery | undefined> {
      const [row] = await sql<IdleDelivery[]>`
        SELECT state, next_attempt_at, coalesce(attempt_until > service_now(), false) AS is_under_way,
          clock_timestamp() AS database_now
        FROM webhook_deliveries WHERE delivery_id = ${deliveryId}`;
      return row;
    },
  };
}

/** PostgreSQL takes a set that is made of JSON for 100 rows: the ids say how few deliveries it is. */
const idsOf = (attempts: readonly { deliveryId: string }[]) =>
  attempts.map(({ deliveryId }) => deliveryId);

async function begin(sql: Sql, attempts: Attempt[]): Promise<(AttemptContext | undefined)[]> {
  const wanted = attempts.map(({ dueBy, ...attempt }) => ({
    ...attempt,
    dueBy: dueBy && dueBy.toISOString(),
  }));
  const rows = await sql<(AttemptContext & { token: string })[]>`
    WITH taken AS (
      UPDATE webhook_deliveries AS d SET
        attempt_token = wanted.token,
        attempt_until = service_now() + ${ATTEMPT_LEASE_MS} * interval '1 millisecond'
      FROM jsonb_to_recordset(${sql.json(wanted)})
        AS wanted ("deliveryId" text, token text, kind attempt_kind, "dueBy" timestamptz)
      WHERE d.delivery_id = wanted."deliveryId" AND d.delivery_id = ANY (${idsOf(attempts)})
        AND (d.attempt_until IS NULL OR d.attempt_until < service_now())
        AND (wanted.kind = 'manual' OR d.state = 'PENDING')
        AND (wanted."dueBy" IS NULL OR d.next_attempt_at IS NULL
          OR d.next_attempt_at <= wanted."dueBy")
      RETURNING d.*
    )
    SELECT d.attempt_token AS token, d.delivery_id, d.event_id, d.merchant_id, d.environment,
      e.order_number, e.type, e.body, m.webhook_url, m.webhook_secret_sealed,
      webhook_origin(m.webhook_url) AS origin, webhook_places(coalesce(p.timeouts, 0)) AS places,
      coalesce(p.timeouts > 0 OR p.next_free_at > service_now(), false) AS is_watched,
      -- For a second it waits in its process.
      NOT d.has_reservation
        AND coalesce(p.next_free_at > service_now() + interval '1 second', false) AS must_wait,
      clock_timestamp() AS database_now,
      (SELECT count(*) FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS scheduled_attempts
    FROM taken d
    JOIN order_events e USING (event_id)
    LEFT JOIN merchant_environments m
      ON m.merchant_id = d.merchant_id AND m.environment = d.environment
    LEFT JOIN webhook_endpoints p ON p.origin = webhook_origin(m.webhook_url)`;
  const contexts = new Map(rows.map(({ token, ...context }) => [token, context]));
  return attempts.map(({ token }) => contexts.get(token));
}

async function record(sql: Sql, results: AttemptResult[]): Promise<never[]> {
  const rows = results.map(({ at, nextAttemptAt, responseBody, ...result }) => ({
    ...result,
    at: at.toISOString(),
    nextAttemptAt: nextAttemptAt && nextAttemptAt.toISOString(),
    responseBase64: responseBody && Buffer.from(responseBody).toString('base64'),
  }));
  // Once DELIVERED, always DELIVERED; and only a success changes what is FAILED.
  const changes = sql`
    (result.state IS NOT NULL
      AND (d.state = 'PENDING' OR d.state = 'FAILED' AND result.state = 'DELIVERED'))`;
  await sql`
    WITH results AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${sql.json(rows)}) AS row (
        "deliveryId" text, token text, kind attempt_kind, at timestamptz, url text,
        "statusCode" integer, "durationMs" integer, "responseBase64" text, error text,
        state delivery_state, "nextAttemptAt" timestamptz)
    ),
    logged AS (
      INSERT INTO webhook_attempts
        (delivery_id, kind, at, url, status_code, duration_ms, response_body, error)
      SELECT "deliveryId", kind, at, url, "statusCode", "durationMs",
        decode("responseBase64", 'base64'), error
      FROM results
    )
    UPDATE webhook_deliveries AS d SET
      attempt_token = nullif(d.attempt_token, result.token),
      attempt_until = CASE WHEN d.attempt_token = result.token THEN NULL ELSE d.attempt_until END,
      state = CASE WHEN ${changes} THEN result.state ELSE d.state END,
      has_reservation = d.has_reservation AND NOT ${changes},
      next_attempt_at =
        CASE WHEN ${changes} THEN result."nextAttemptAt" ELSE d.next_attempt_at END,
      settled_at = CASE WHEN NOT ${changes} THEN d.settled_at
        WHEN result.state <> 'PENDING' THEN clock_timestamp() END
    FROM (
      -- A success counts more than the failure of an attempt that hung until now.
      SELECT DISTINCT ON ("deliveryId") * FROM results
      ORDER BY "deliveryId", state = 'DELIVERED' DESC NULLS LAST
    ) AS result
    WHERE d.delivery_id = result."deliveryId" AND d.delivery_id = ANY (${idsOf(results)})`;
  return [];
}
