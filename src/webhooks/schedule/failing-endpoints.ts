import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';

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
