import type { Logger } from 'pino';
import type { Sql } from '../../db/client.ts';
import type { CommandRef } from './command-queries.ts';

const INTERVAL_MS = 1000;

/** Collects commands whose Update has returned, so that nothing needs to wake their orders. */
export interface DoneCommands {
  /** Soon removes the command's line in `order_wakeups`. A line that stays costs one wake. */
  add(command: CommandRef): void;
}

/** Removes lines in batches, at most one DELETE a second. */
export function createDoneCommands({ sql, log }: { sql: Sql; log: Logger }): DoneCommands {
  let waiting: CommandRef[] = [];
  let isPaused = false;

  async function remove(): Promise<void> {
    if (isPaused || waiting.length === 0) return;
    isPaused = true;
    const done = waiting;
    waiting = [];
    setTimeout(() => {
      isPaused = false;
      void remove();
    }, INTERVAL_MS).unref();
    try {
      await sql`
        DELETE FROM order_wakeups w
        USING unnest(${done.map(({ orderNumber }) => orderNumber)}::text[],
          ${done.map(({ commandId }) => commandId)}::text[]) AS done (order_number, command_id)
        WHERE w.order_number = done.order_number AND w.cause = 'command'
          AND w.cause_id = done.command_id`;
    } catch (err) {
      log.debug({ err }, 'Lines of commands were not removed: the sweep wakes their orders');
    }
  }

  return {
    add(command) {
      waiting.push(command);
      void remove();
    },
  };
}
