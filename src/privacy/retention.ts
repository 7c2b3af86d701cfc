import { EXPIRED_ACCESS } from '../accounts/public.ts';
import type { Sql } from '../db/client.ts';

/** For how many days data is kept that nothing needs any more: docs/runbook/retention.md. */
export const KEPT_DAYS = {
  /** Longer than Temporal keeps closed workflows, and than reconciliation looks back: 7 days. */
  callbacks: 90,
  /** The answers of merchants' servers. As long as callbacks: both are for questions about a quarter. */
  webhookAnswers: 90,
  /** The records of mails that were sent or have failed. Longer than a mail is tried: 24 hours. */
  mails: 30,
} as const;

const BATCH = 1000;

/** A run stops after this time, so that two runs do not overlap. The next run continues. */
const MAX_RUN_MS = 5 * 60_000;

type DeleteBatch = (most: number) => Promise<number>;

/** What is deleted, by its name. The oldest goes first, so that a run that ends early has the oldest. */
function batchesOf(sql: Sql): Record<string, DeleteBatch> {
  const before = (days: number) => sql`(SELECT service_now()) - ${days} * interval '1 day'`;
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
          WHERE received_at < ${before(KEPT_DAYS.callbacks)})`;
      return count;
    },
    // The attempts themselves stay, so that merchants and operators see when something was sent.
    webhookAnswers: async (most) => {
      const [row] = await sql<{ erased: number }[]>`
        SELECT erase_old_answers(${before(KEPT_DAYS.webhookAnswers)}, ${most}) AS erased`;
      return row?.erased ?? 0;
    },
    mails: async (most) => {
      const { count } = await sql`
        DELETE FROM mails WHERE mail_id IN (
          SELECT mail_id FROM mails
          WHERE sealed IS NULL AND created_at < ${before(KEPT_DAYS.mails)}
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
  { sql }: { sql: Sql },
  onBatch: () => void = () => {},
): Promise<Record<string, number>> {
  const endsAtMs = performance.now() + MAX_RUN_MS;
  const deleted: Record<string, number> = {};
  for (const [name, deleteBatch] of Object.entries(batchesOf(sql))) {
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
