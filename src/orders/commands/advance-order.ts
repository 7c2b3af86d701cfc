import type { Actor } from '../../db/actor.ts';
import { DomainError, isFinal } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';
import type { OrderCommands } from './commands.ts';
import type { HelperDeps } from './helper-command.ts';
import { runHelper } from './helper-command.ts';
import type { CommandResult } from './send-command.ts';

/** What moving an order's clock needs. */
export interface AdvanceDeps extends HelperDeps {
  commands: OrderCommands;
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

function advanceFinal(deps: AdvanceDeps, { order, commandId, seconds, actor }: Advance) {
  const command = { order, commandId, name: 'advance', body: { seconds }, actor } as const;
  return runHelper(deps, command, async () => {
    const moved = await deps.advanceAttempts(order.orderNumber, seconds);
    if (moved === 0) throw new DomainError('INVALID_STATE', NOTHING_WAITS);
  });
}
