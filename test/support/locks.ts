import type { TestService } from './service.ts';
import { until } from './until.ts';

/** Waits until so many statements that contain this text wait for a lock of another transaction. */
export async function untilBlocked(
  { sql }: Pick<TestService, 'sql'>,
  text: string,
  count = 1,
): Promise<void> {
  await until(async () => {
    const rows = await sql`
      SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND wait_event_type = 'Lock' AND strpos(query, ${text}) > 0`;
    return rows.length >= count;
  });
}
