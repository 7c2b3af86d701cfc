import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { findOrderByNumber } from '../lists/find-orders.ts';
import type { PresentOrder } from '../presenter.ts';
import type { CommandBody, OrderRow } from '../rows.ts';
import type { NewCommand } from './command-queries.ts';
import { writeCommand } from './command-queries.ts';
import type { CommandResult } from './send-command.ts';
import { DEFAULT_REASON } from './send-command.ts';

export interface HelperDeps {
  sql: Sql;
  present: PresentOrder;
}

/** A test helper of the sandbox that sends no message to the order's workflow. */
export interface HelperCommand {
  order: OrderRow;
  commandId: string;
  name: NewCommand['name'];
  body: CommandBody;
  actor: Actor;
}

/**
 * Records a test helper as a command, so that a repeat with the same key does nothing, and does its work.
 *
 * @param work may throw a refusal; a repeat is then a new command
 */
export async function runHelper(
  { sql, present }: HelperDeps,
  { order: { orderNumber }, commandId, name, body, actor }: HelperCommand,
  work: () => Promise<unknown>,
): Promise<CommandResult> {
  const origin = { actor, reason: DEFAULT_REASON };
  const written = await writeCommand(sql, { orderNumber, commandId, name, body, origin });
  const { replayed, mismatch } = written;
  const end = (state: 'DONE' | 'REFUSED') =>
    sql`SELECT end_command(${orderNumber}, ${commandId}, ${state}, ${written.tryNumber})`;
  if (!replayed) {
    try {
      await work();
    } catch (error) {
      await end('REFUSED');
      throw error;
    }
    await end('DONE');
  }
  return { order: present(await findOrderByNumber(sql, orderNumber)), replayed, mismatch };
}
