import type { Logger } from 'pino';
import type { Sql } from '../../db/client.ts';
import { createLimiter } from '../../limiter.ts';

/** Records that a key was used. Returns immediately, and never throws. */
export type RecordKeyUse = (apiKey: string) => void;

/**
 * Records when keys were last used. No request waits for it. A process has at most one write under way for each key.
 * Errors are logged.
 */
export function createKeyUse({ sql, log }: { sql: Sql; log: Logger }): RecordKeyUse {
  const underWay = new Error('The use of this key is being written');
  const writes = createLimiter({ ofOne: 1, maxWaitMs: 0 }, () => underWay);
  // Another process may have written since the key was read, so the statement checks the interval again.
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

/** SQL: the last recorded use of key `k` is at least a minute ago. */
export const isUseDue = (sql: Sql) => sql`
  coalesce(k.last_used_at <= clock_timestamp() - interval '1 minute', true)`;
