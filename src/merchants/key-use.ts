import type { Logger } from 'pino';
import type { Sql } from '../db/client.ts';

const WRITE_INTERVAL_MS = 60_000;
/** Beyond this number of keys, those that were written longest ago are forgotten. */
const MAX_REMEMBERED_KEYS = 10_000;

/** Records that a key was used. Returns immediately, and never throws. */
export type RecordKeyUse = (apiKey: string) => void;

/**
 * Creates the record of when keys were last used: at most one write a minute for each key. No request
 * waits for it; an error is logged.
 *
 * @param deps.now Unix milliseconds
 */
export function createKeyUse(deps: { sql: Sql; log: Logger; now?: () => number }): RecordKeyUse {
  const { sql, log, now = Date.now } = deps;
  /** When each key was last written, the oldest first. */
  const writtenAtMs = new Map<string, number>();
  return (apiKey) => {
    const lastMs = writtenAtMs.get(apiKey);
    if (lastMs !== undefined && now() - lastMs < WRITE_INTERVAL_MS) return;
    writtenAtMs.delete(apiKey);
    writtenAtMs.set(apiKey, now());
    const [oldest] = writtenAtMs.keys();
    if (writtenAtMs.size > MAX_REMEMBERED_KEYS && oldest !== undefined) writtenAtMs.delete(oldest);
    void writeUse(sql, log, apiKey);
  };
}

/** Other processes write, too: the statement keeps the interval between all of them. */
async function writeUse(sql: Sql, log: Logger, apiKey: string): Promise<void> {
  try {
    await sql`
      UPDATE api_keys SET last_used_at = clock_timestamp()
      WHERE api_key = ${apiKey} AND (last_used_at IS NULL OR last_used_at
        <= clock_timestamp() - ${WRITE_INTERVAL_MS} * interval '1 millisecond')`;
  } catch (err) {
    log.warn({ err }, 'The last use of an API key was not recorded');
  }
}
