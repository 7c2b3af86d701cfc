import type { Logger } from 'pino';
import type { Sql } from '../db/client.ts';
import { createLimiter } from '../limiter.ts';

/** Records that a key was used. Returns immediately, and never throws. */
export type RecordKeyUse = (apiKey: string) => void;

/**
 * Creates the record of when keys were last used, for keys whose use is due to be recorded: see `KeyHolder`.
 * No request waits for it, and of one key a process has one write under way. An error is logged.
 */
export function createKeyUse({ sql, log }: { sql: Sql; log: Logger }): RecordKeyUse {
  const underWay = new Error('The use of this key is being written');
  const writes = createLimiter({ ofOne: 1, maxWaitMs: 0 }, () => underWay);
  // Others may have written it since the key was read: the statement keeps the interval.
  const write = async (apiKey: string) => sql`
    UPDATE api_keys k SET last_used_at = clock_timestamp()
    WHERE api_key = ${apiKey} AND ${isUseDue(sql)}`;
  return (apiKey) => {
    writes
      .run(apiKey, () => write(apiKey))
      .catch((err: unknown) => {
        if (err !== underWay) log.warn({ err }, 'The last use of an API key was not recorded');
      });
  };
}

/** Whether the last recorded use of a key `k` is a minute ago. */
export const isUseDue = (sql: Sql) => sql`
  coalesce(k.last_used_at <= clock_timestamp() - interval '1 minute', true)`;
