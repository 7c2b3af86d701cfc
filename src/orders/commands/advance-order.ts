import type { Actor } from '../../db/actor.ts';
import { DomainError, isFinal } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';
import type { OrderCommands } from './commands.ts';
import type { HelperDeps } from './helper-command.ts';
import { runHelper } from './helper-command.ts';
import type { CommandResult } from './send-command.ts';

export interface AdvanceDeps extends HelperDeps {
  commands: OrderCommands;
  /** Moves the order's pending webhook attempts, and returns how many it has moved. */
  advanceAttempts(orderNumber: string, seconds: number): Promise<number>;
}

export interface Advance {
  order: OrderRow;
  commandId: string;
  seconds: number;
  actor: Actor;
}

const NOTHING_WAITS =
  'Cannot advance; the order is in a final status, and no attempt of its webhooks waits';

/**
 * Brings the deadlines and the webhook attempts of a sandbox order closer by the same time. In a final status only
 * the attempts are left; the workflow takes no commands then, so none is sent.
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
