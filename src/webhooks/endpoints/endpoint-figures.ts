import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import type { OrderOwner } from '../../orders/public.ts';

/** Limits the time of the query for an endpoint that gets a million webhooks a day. */
const MAX_ATTEMPTS_OF_A_KIND = 20_000;

/** The results of an endpoint's attempts in the last 24 hours. */
export interface EndpointFigures {
  /** 24 hours ago, or later if there were 20,000 successes or 20,000 failures since then. */
  since: Date;
  attempts: number;
  /** The attempts that the endpoint accepted. */
  delivered: number;
  /** The time within which 95 of 100 attempts ended. Null without attempts. */
  p95Ms: number | null;
  /** The time of the first failed attempt after the last success, however long ago. Null if the last one succeeded. */
  failingSince: Date | null;
}

const attemptsOf = (sql: Sql, { merchantId, environment }: OrderOwner) => sql`
  FROM webhook_attempts WHERE merchant_id = ${merchantId} AND environment = ${environment}`;

/** SQL: see {@link EndpointFigures}. */
const failingSince = (sql: Sql, owner: OrderOwner) => sql`
  (SELECT min(at) ${attemptsOf(sql, owner)} AND NOT is_delivered AND at > coalesce(
    (SELECT max(at) ${attemptsOf(sql, owner)} AND is_delivered), '-infinity'))`;

/** Since when a merchant's endpoint has failed. Null if it does not fail, or if no URL is set. */
export async function endpointFailingSince(sql: Sql, owner: OrderOwner): Promise<Date | null> {
  const { merchantId, environment } = owner;
  const [row] = await sql<[{ at: Date | null }?]>`
    SELECT ${failingSince(sql, owner)} AS at FROM shared.merchant_environments
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND webhook_url IS NOT NULL`;
  return row?.at ?? null;
}

export interface AttemptsOfHour {
  /** 0 for the last 60 minutes, up to 23. */
  hoursAgo: number;
  accepted: number;
  failed: number;
}

/**
 * Counts the attempts since a time within the last 24 hours, by hours before now. Hours without attempts are absent;
 * the earliest is first.
 */
export async function attemptsByHour(
  sql: Sql,
  owner: OrderOwner,
  since: Date,
): Promise<AttemptsOfHour[]> {
  return sql<AttemptsOfHour[]>`
    SELECT hours_ago, count(*) FILTER (WHERE is_delivered)::integer AS accepted,
      count(*) FILTER (WHERE NOT is_delivered)::integer AS failed
    FROM (
      SELECT is_delivered, floor(extract(epoch FROM now() - at) / 3600)::integer AS hours_ago
      ${attemptsOf(sql, owner)} AND is_delivered IN (true, false) AND at > ${since} AND at <= now()
    ) attempt WHERE hours_ago < 24 GROUP BY hours_ago ORDER BY hours_ago DESC`;
}

/** Reads the figures of a merchant's endpoint in one environment, from one index alone. */
export async function endpointFigures(
  sql: Sql,
  owner: OrderOwner,
  maxAttemptsOfAKind = MAX_ATTEMPTS_OF_A_KIND,
): Promise<EndpointFigures> {
  const attempts = attemptsOf(sql, owner);
  const newest = sql`ORDER BY at DESC OFFSET ${maxAttemptsOfAKind} LIMIT 1`;
  const [row] = await sql<[EndpointFigures]>`
    WITH times AS MATERIALIZED (
      SELECT greatest(now() - interval '24 hours',
          (SELECT at ${attempts} AND is_delivered ${newest}),
          (SELECT at ${attempts} AND NOT is_delivered ${newest})) AS since,
        ${failingSince(sql, owner)} AS failing_since
    )
    SELECT times.*, recent.* FROM times, LATERAL (
      SELECT count(*)::integer AS attempts,
        count(*) FILTER (WHERE is_delivered)::integer AS delivered,
        percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
      ${attempts} AND is_delivered IN (true, false) AND at > times.since
    ) recent`;
  return row;
}

export interface FailingEndpoint {
  merchantId: string;
  merchantName: string;
  environment: Environment;
  /** The path and the query of a URL may contain a secret of the merchant, so operators see only the host. */
  host: string;
  /** The time of the first failed attempt after the last success. */
  failingSince: Date;
  lastFailedAt: Date;
  lastError: string;
}

/**
 * Finds the endpoints whose latest attempt has failed, those that have failed for longest first. Each endpoint costs
 * one look-up in an index, and each that has ever failed a second one.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function findFailingEndpoints(
  sql: Sql,
  limit: number,
): Promise<{ endpoints: FailingEndpoint[]; hasMore: boolean }> {
  const attempts = sql`
    FROM webhook_attempts a WHERE a.merchant_id = e.merchant_id AND a.environment = e.environment`;
  const rows = await sql<(Omit<FailingEndpoint, 'host'> & { url: string })[]>`
    WITH failed AS MATERIALIZED (
      SELECT e.merchant_id, e.environment, e.webhook_url AS url,
        (SELECT max(at) ${attempts} AND NOT is_delivered) AS last_failed_at
      FROM shared.merchant_environments e WHERE e.webhook_url IS NOT NULL
    ), latest AS MATERIALIZED (
      SELECT e.*, coalesce((SELECT max(at) ${attempts} AND is_delivered), '-infinity')
        AS last_delivered_at
      FROM failed e WHERE last_failed_at IS NOT NULL
    ), failing AS (
      SELECT e.*, (SELECT min(at) ${attempts} AND NOT is_delivered AND at > last_delivered_at)
        AS failing_since
      FROM latest e WHERE last_failed_at > last_delivered_at
      ORDER BY failing_since, merchant_id, environment LIMIT ${limit + 1}
    )
    SELECT e.merchant_id, m.name AS merchant_name, e.environment, e.url, e.failing_since,
      e.last_failed_at, (SELECT error ${attempts} AND NOT is_delivered AND at = last_failed_at
        LIMIT 1) AS last_error
    FROM failing e JOIN shared.merchants m USING (merchant_id)
    ORDER BY failing_since, merchant_id, environment`;
  const endpoints = rows
    .slice(0, limit)
    .map(({ url, ...row }) => ({ ...row, host: URL.parse(url)?.host ?? '' }));
  return { endpoints, hasMore: rows.length > limit };
}
