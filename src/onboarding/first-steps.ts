import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';

/** What a merchant has done in an environment, from what the database has of it. */
export interface FirstSteps {
  isApproved: boolean;
  hasKey: boolean;
  /** A webhook URL is set, or the merchant reads its events from the API. */
  getsEvents: boolean;
  hasOrder: boolean;
  /** It has accepted a webhook, or read an event. */
  hasEvent: boolean;
}

/** Reads each step from an index. */
export async function readFirstSteps(
  sql: Sql,
  { merchantId, environment }: { merchantId: string; environment: Environment },
): Promise<FirstSteps> {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  const [row] = await sql<[FirstSteps]>`
    SELECT
      EXISTS (SELECT FROM shared.merchants WHERE merchant_id = ${merchantId}
        AND access_status IN ('APPROVED', 'SUSPENDED')) AS is_approved,
      EXISTS (SELECT FROM shared.api_keys WHERE ${own}) AS has_key,
      reads_events OR EXISTS (SELECT FROM shared.merchant_environments
        WHERE ${own} AND webhook_url IS NOT NULL) AS gets_events,
      EXISTS (SELECT FROM shared.orders WHERE ${own}) AS has_order,
      reads_events OR EXISTS (SELECT FROM shared.webhook_attempts
        WHERE ${own} AND is_delivered) AS has_event
    FROM (SELECT EXISTS (SELECT FROM shared.event_counters WHERE ${own} AND last_number > 0) AS reads_events)`;
  return row;
}
