import type { ResendPage, ResendPageResult } from '../../contracts/activities.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderOwner } from '../../orders/public.ts';

const PAGE_SIZE = 100;
/** A page with this many refusals and no success ends the resend. The rest keeps its own schedule. */
const STOP_AFTER_REFUSED = 50;

export interface ResendProgress {
  total: number;
  /** The number of deliveries that have not been sent again yet. */
  left: number;
  delivered: number;
  refused: number;
  createdAt: Date;
  finishedAt: Date | null;
  /** Why it ended before the end of its list. */
  stopCause: 'no_url' | 'endpoint_refuses' | null;
}

export async function latestResend(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
): Promise<ResendProgress | undefined> {
  const [row] = await sql<ResendProgress[]>`
    SELECT total_count AS total, total_count - done_count AS left, delivered_count AS delivered,
      refused_count AS refused, created_at, finished_at, stop_cause
    FROM webhook_resends WHERE merchant_id = ${merchantId} AND environment = ${environment}
    ORDER BY resend_id DESC LIMIT 1`;
  return row;
}

/** Finds unfinished resends older than `ageMs`. Their workflow may be missing. */
export async function findUnfinishedResends(sql: Sql, ageMs: number): Promise<string[]> {
  const rows = await sql<{ resendId: string }[]>`
    SELECT resend_id FROM webhook_resends WHERE finished_at IS NULL
      AND created_at < clock_timestamp() - ${ageMs} * interval '1 millisecond'`;
  return rows.map(({ resendId }) => resendId);
}

/** Records the results of a page, once, and reads the next page. @returns null when the resend has ended */
export async function continueResend(
  sql: Sql,
  resendId: string,
  done?: ResendPageResult,
): Promise<ResendPage | null> {
  if (done) await recordPage(sql, resendId, done);
  const [page] = await sql<ResendPage[]>`
    SELECT done_count AS from, least(done_count + ${PAGE_SIZE}, total_count) AS through,
      ARRAY(
        SELECT d.delivery_id FROM webhook_deliveries d
        WHERE d.delivery_id = ANY (r.delivery_ids[r.done_count + 1 : r.done_count + ${PAGE_SIZE}])
          AND NOT (r.only_undelivered AND d.state = 'DELIVERED') AND NOT d.is_erased
        ORDER BY array_position(r.delivery_ids, d.delivery_id)) AS delivery_ids
    FROM webhook_resends r WHERE resend_id = ${resendId} AND finished_at IS NULL`;
  return page ?? null;
}

async function recordPage(
  sql: Sql,
  resendId: string,
  { from, through, accepted, refused, hasUrl }: ResendPageResult,
): Promise<void> {
  const isRefusing = accepted === 0 && refused >= STOP_AFTER_REFUSED;
  const isFinished = sql`(NOT ${hasUrl} OR ${isRefusing} OR ${through} >= total_count)`;
  await sql`
    UPDATE webhook_resends SET
      done_count = ${through}::integer,
      delivered_count = delivered_count + ${accepted},
      refused_count = refused_count + ${refused},
      stop_cause = CASE WHEN NOT ${hasUrl} THEN 'no_url'
        WHEN ${isRefusing} AND ${through} < total_count THEN 'endpoint_refuses' END,
      delivery_ids = CASE WHEN ${isFinished} THEN '{}' ELSE delivery_ids END,
      finished_at = CASE WHEN ${isFinished} THEN clock_timestamp() END
    WHERE resend_id = ${resendId} AND done_count = ${from} AND finished_at IS NULL`;
}
