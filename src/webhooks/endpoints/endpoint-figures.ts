import type { Sql } from '../../db/client.ts';
import type { DeliveryOwner } from '../lists/delivery-pages.ts';

/** Bounds the time of the query at an endpoint that gets a million webhooks a day. */
const MAX_ATTEMPTS_OF_A_KIND = 20_000;

/** How an endpoint has answered in the last 24 hours. */
export interface EndpointFigures {
  /** 24 hours ago; later if 20,000 attempts since then have succeeded, or have failed. */
  since: Date;
  attempts: number;
  /** Those that the endpoint accepted. */
  delivered: number;
  /** 95 of 100 attempts took at most this long; null without attempts. */
  p95Ms: number | null;
  /** The first failed attempt after the last success, at any time; null when the last one succeeded. */
  failingSince: Date | null;
}

const attemptsOf = (sql: Sql, { merchantId, environment }: DeliveryOwner) => sql`
  FROM webhook_attempts WHERE merchant_id = ${merchantId} AND environment = ${environment}`;

/** See {@link EndpointFigures}. */
const failingSince = (sql: Sql, owner: DeliveryOwner) => sql`
  (SELECT min(at) ${attemptsOf(sql, owner)} AND NOT is_delivered AND at > coalesce(
    (SELECT max(at) ${attemptsOf(sql, owner)} AND is_delivered), '-infinity'))`;

/** Since when a merchant's endpoint fails; null if it does not, or if no URL is set. */
export async function endpointFailingSince(sql: Sql, owner: DeliveryOwner): Promise<Date | null> {
  const { merchantId, environment } = owner;
  const [row] = await sql<[{ at: Date | null }?]>`
    SELECT ${failingSince(sql, owner)} AS at FROM merchant_environments
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND webhook_url IS NOT NULL`;
  return row?.at ?? null;
}

/** The attempts of one hour of the last 24. */
export interface AttemptsOfHour {
  /** 0 in the last 60 minutes, 23 in the first ones of 24 hours. */
  hoursAgo: number;
  accepted: number;
  failed: number;
}

/** The attempts since a time of the last 24 hours, by the hours before now: those that have any, the earliest first. */
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

/** The figures of a merchant's endpoint in one environment, from one index alone. */
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
