import type { Sql } from '../../db/client.ts';
import type { DeliveryOwner } from '../lists/delivery-pages.ts';

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

const attemptsOf = (sql: Sql, { merchantId, environment }: DeliveryOwner) => sql`
  FROM webhook_attempts WHERE merchant_id = ${merchantId} AND environment = ${environment}`;

/** SQL: see {@link EndpointFigures}. */
const failingSince = (sql: Sql, owner: DeliveryOwner) => sql`
  (SELECT min(at) ${attemptsOf(sql, owner)} AND NOT is_delivered AND at > coalesce(
    (SELECT max(at) ${attemptsOf(sql, owner)} AND is_delivered), '-infinity'))`;

/** Since when a merchant's endpoint has failed. Null if it does not fail, or if no URL is set. */
export async function endpointFailingSince(sql: Sql, owner: DeliveryOwner): Promise<Date | null> {
  const { merchantId, environment } = owner;
  const [row] = await sql<[{ at: Date | null }?]>`
    SELECT ${failingSince(sql, owner)} AS at FROM shared.merchant_environments
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND webhook_url IS NOT NULL`;
  return row?.at ?? null;
}

/** The attempts in one of the last 24 hours. */
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
  owner: DeliveryOwner,
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
  owner: DeliveryOwner,
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
