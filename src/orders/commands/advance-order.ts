import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError, isFinal } from '../../domain/index.ts';
import { findOrderByNumber } from '../lists/find-orders.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderRow } from '../rows.ts';
import { writeCommand } from './command-queries.ts';
import type { OrderCommands } from './commands.ts';
import type { CommandResult } from './send-command.ts';

/** What moving an order's clock needs. */
export interface AdvanceDeps {
  sql: Sql;
  commands: OrderCommands;
  present: PresentOrder;
  /** Moves the order's webhook attempts that wait, and returns how many there were. */
  advanceAttempts(orderNumber: string, seconds: number): Promise<number>;
}

/** By how much to move the clock of a sandbox order. */
export interface Advance {
  order: OrderRow;
  commandId: string;
  seconds: number;
  actor: Actor;
}

const NOTHING_WAITS =
  'Cannot advance; the order is in a final status, and no attempt of its webhooks waits';

/**
 * Moves the deadlines of a sandbox order closer, and its webhook attempts by as much. Of an order in a final
 * status only the attempts are left; its workflow takes no commands, so none is sent.
 *
 * @throws DomainError `INVALID_STATE`
 */
export async function advanceOrder(
  deps: AdvanceDeps,
  { order, commandId, seconds, actor }: Advance,
): Promise<CommandResult> {
  const { commands, advanceAttempts } = deps;
  const { orderNumber, status } = order;
  if (isFinal(status)) return advanceFinal(deps, { order, commandId, seconds, actor });
  const message = { commandId, seconds };
  const result = await commands.send({ order, name: 'advance', message, body: { seconds }, actor });
  if (!result.replayed) await advanceAttempts(orderNumber, seconds);
  return result;
}

async function advanceFinal(
  { sql, present, advanceAttempts }: AdvanceDeps,
  { order: { orderNumber }, commandId, seconds, actor }: Advance,
): Promise<CommandResult> {
  const origin = { actor, reason: 'Asked for by the merchant' };
  const command = { orderNumber, commandId, name: 'advance', body: { seconds }, origin } as const;
  const { replayed, mismatch } = await writeCommand(sql, command);
  const moved = replayed || (await advanceAttempts(orderNumber, seconds)) > 0;
  if (!replayed) {
    const state = moved ? 'DONE' : 'REFUSED';
    await sql`SELECT end_command(${orderNumber}, ${commandId}, ${state})`;
  }
  if (!moved) throw new DomainError('INVALID_STATE', NOTHING_WAITS);
  return { order: present(await findOrderByNumber(sql, orderNumber)), replayed, mismatch };
}
