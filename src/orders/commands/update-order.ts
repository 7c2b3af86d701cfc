import type { OrderMessageName, OrderMessages } from '../../contracts/order-workflow.ts';
import type { CommandType } from '../../domain/index.ts';
import { DomainError, REFUSALS, refusalOf, transitionOf } from '../../domain/index.ts';
import { findCarriedOut, refuseCommand } from './command-queries.ts';
import type { DoneCommands } from './done-commands.ts';
import { findOrderByNumber } from '../lists/find-orders.ts';
import type { OrderRow } from '../rows.ts';
import type { WakeDeps } from '../wake/wake-order.ts';
import { wakeOrder } from '../wake/wake-order.ts';

export interface UpdateDeps extends WakeDeps {
  doneCommands: DoneCommands;
}

export interface CommandMessage<Name extends OrderMessageName> {
  orderNumber: string;
  name: Name;
  /** A repeated command has the same id and is carried out once. */
  message: OrderMessages[Name] & { commandId: string };
  /** How often the command was refused before. */
  tryNumber: number;
}

/**
 * Sends a recorded command to the order's workflow as an Update. If the workflow is missing, or refuses a command
 * that the row allows, it wakes the order and sends the Update again, because row and workflow may differ.
 *
 * @returns the order after the command
 * @throws DomainError the refusal, after the command's row was marked as refused
 * @throws Error any other failure: the command may still be carried out
 */
export async function updateOrder<Name extends OrderMessageName>(
  deps: UpdateDeps,
  command: CommandMessage<Name>,
): Promise<OrderRow> {
  const { sql, doneCommands } = deps;
  const { orderNumber, name, message, tryNumber } = command;
  const { commandId } = message;
  let failure: unknown;
  try {
    // A workflow that has ended had a final status, in which every command is refused.
    if ((await sendUpdate(deps, command)) === 'gone') {
      failure = new DomainError('INVALID_STATE', REFUSALS[commandOf(name)]);
    }
  } catch (error) {
    failure = error;
  }
  // Also after a failure: the step may be recorded although the workflow task that recorded it was lost.
  const after = await findCarriedOut(sql, { orderNumber, commandId });
  if (after) {
    // After a failure the line in order_wakeups stays, because the workflow may lack the step.
    if (failure === undefined) doneCommands.add({ orderNumber, commandId });
    return after;
  }
  // Only a refusal is final. After any other failure the command may still be carried out.
  if (failure instanceof DomainError) {
    await refuseCommand(sql, { orderNumber, commandId, tryNumber });
  }
  throw failure ?? new Error(`${name} was carried out, but its step is not recorded`);
}

/** @returns `gone` when the order is final and no workflow runs */
async function sendUpdate<Name extends OrderMessageName>(
  deps: UpdateDeps,
  command: CommandMessage<Name>,
): Promise<'done' | 'gone'> {
  const { workflows } = deps;
  const { orderNumber, name, message, tryNumber } = command;
  // For an Update with the same id, Temporal returns the first result, so a try after a refusal has another id.
  const updateId = tryNumber === 0 ? message.commandId : `${message.commandId}:${tryNumber}`;
  const update = (id: string) => workflows.update(orderNumber, name, message, id);
  try {
    if ((await update(updateId)) === 'done') return 'done';
    if ((await wakeOrder(deps, orderNumber)) === 'final') return 'gone';
    return await update(updateId);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_STATE') throw error;
    const order = await findOrderByNumber(deps.sql, orderNumber);
    // The row may have a later step than the workflow had when it refused.
    if (!transitionOf(order, commandOf(name))) throw refusalOf(order, commandOf(name));
    await wakeOrder(deps, orderNumber);
    return update(`${updateId}:woken`);
  }
}

/** The command type that belongs to a message, to find its refusal in the domain. */
function commandOf(name: OrderMessageName): CommandType {
  if (name === 'decide') return 'decideForBuyer';
  return name === 'settle' ? 'settleRefunded' : name;
}
