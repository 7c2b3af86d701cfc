import { EXPIRED_ACCESS } from '../accounts/public.ts';
import type { Sql } from '../db/client.ts';

/** How many days each kind of data is kept. See the settings. */
export interface RetentionDays {
  callbackRetentionDays: number;
  webhookAnswerRetentionDays: number;
  mailRetentionDays: number;
}

export interface RetentionDeps {
  sql: Sql;
  retention: RetentionDays;
}

const BATCH = 1000;

/** A run stops after this time, so that two runs do not overlap. The next run continues. */
const MAX_RUN_MS = 5 * 60_000;

type DeleteBatch = (most: number) => Promise<number>;

/** What is deleted, by name. The oldest rows are deleted first, so that a run that stops early has deleted those. */
function batchesOf({ sql, retention }: RetentionDeps): Record<string, DeleteBatch> {
  const { callbackRetentionDays, webhookAnswerRetentionDays, mailRetentionDays } = retention;
  const before = (days: number) => sql`service_now() - ${days} * interval '1 day'`;
  const access = Object.entries(EXPIRED_ACCESS).map(
    ([name, remove]) => [name, async (most: number) => (await remove(sql, most)).count] as const,
  );
  return {
    // Ids are ordered by time, so the condition on the oldest rows needs no other index.
    callbacks: async (most) => {
      const { count } = await sql`
        DELETE FROM gateway_callbacks WHERE callback_id IN (
          SELECT callback_id FROM (SELECT callback_id, received_at FROM gateway_callbacks
            ORDER BY callback_id LIMIT ${most}) AS oldest
          WHERE received_at < ${before(callbackRetentionDays)})`;
      return count;
    },
    // The attempts themselves stay, so that merchants and operators see when something was sent.
    webhookAnswers: async (most) => {
      const [row] = await sql<{ erased: number }[]>`
        SELECT erase_old_answers(${before(webhookAnswerRetentionDays)}, ${most}) AS erased`;
      return row?.erased ?? 0;
    },
    mails: async (most) => {
      const { count } = await sql`
        DELETE FROM mails WHERE mail_id IN (
          SELECT mail_id FROM mails
          WHERE sealed IS NULL AND created_at < ${before(mailRetentionDays)}
          ORDER BY created_at LIMIT ${most})`;
      return count;
    },
    ...Object.fromEntries(access),
  };
}

/**
 * Deletes expired data, one batch at a time, so that no statement holds locks for long.
 *
 * @param onBatch called after each batch
 * @returns the number of deleted rows by kind
 */
export async function deleteExpiredData(
  deps: RetentionDeps,
  onBatch: () => void = () => {},
): Promise<Record<string, number>> {
  const endsAtMs = performance.now() + MAX_RUN_MS;
  const deleted: Record<string, number> = {};
  for (const [name, deleteBatch] of Object.entries(batchesOf(deps))) {
    let count = BATCH;
    deleted[name] = 0;
    while (count === BATCH && performance.now() < endsAtMs) {
      count = await deleteBatch(BATCH);
      deleted[name] += count;
      onBatch();
    }
  }
  return deleted;
}
