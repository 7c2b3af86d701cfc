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
      EXISTS (SELECT FROM merchants m WHERE merchant_id = ${merchantId}
        AND access_status_of(m) IN ('APPROVED', 'SUSPENDED')) AS is_approved,
      EXISTS (SELECT FROM api_keys WHERE ${own}) AS has_key,
      reads_events OR EXISTS (SELECT FROM merchant_environments
        WHERE ${own} AND webhook_url IS NOT NULL) AS gets_events,
      EXISTS (SELECT FROM orders WHERE ${own}) AS has_order,
      reads_events OR EXISTS (SELECT FROM webhook_attempts
        WHERE ${own} AND is_delivered) AS has_event
    FROM (SELECT EXISTS (SELECT FROM event_counters WHERE ${own} AND last_number > 0) AS reads_events)`;
  return row;
}
