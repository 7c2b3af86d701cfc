import type { OrderMessageName, OrderMessages } from '../contracts/order-workflow.ts';
import type { Sql } from '../db/client.ts';
import type { CommandType } from '../domain/index.ts';
import { DomainError, REFUSALS, statusesThatTake } from '../domain/index.ts';
import { findOrderByNumber } from './find-orders.ts';
import { countFailedCancels, hasUnacknowledgedSteps } from './queries.ts';
import type { RecoveryDeps } from './recovery.ts';
import { recoverOrder } from './recovery.ts';
import { acknowledgeCommand, findCarriedOut, removeCommand } from './command-queries.ts';
import type { OrderRow } from './rows.ts';

/** A message for an order's workflow, whose command is recorded. */
export interface CommandMessage<Name extends OrderMessageName> {
  orderNumber: string;
  name: Name;
  /** A repeated command has the same id and is carried out once. */
  message: OrderMessages[Name] & { commandId: string };
}

/**
 * Sends a recorded command to the order's workflow. Starts the workflow if it is missing. Signals it to
 * read the row, and sends the command again, if it refused and may lack steps.
 *
 * @returns the order after the command
 * @throws DomainError the refusal, after the command's row was removed
 * @throws Error any other failure: the command may still be carried out
 */
export async function carryOut<Name extends OrderMessageName>(
  deps: RecoveryDeps,
  command: CommandMessage<Name>,
): Promise<OrderRow> {
  const { orderNumber, name, message } = command;
  const { commandId } = message;
  try {
    const updateId = await updateIdOf(deps.sql, command);
    const outcome = await updateStarted(deps, command, updateId);
    const after = await acknowledgeCommand(deps.sql, { orderNumber, commandId });
    if (after) return after;
    throw outcome === 'gone' ? refusal(commandOf(name)) : stepMissing(name);
  } catch (error) {
    // If the step was recorded but its workflow task was lost, the workflow adopts the step later.
    const after = await findCarriedOut(deps.sql, { orderNumber, commandId });
    if (after) return after;
    // Only a refusal is final. After any other failure the command may still be carried out.
    if (error instanceof DomainError) await removeCommand(deps.sql, { orderNumber, commandId });
    throw error;
  }
}

/** Sends the Update; starts the order's workflow and sends it again if the workflow is missing. */
async function updateStarted<Name extends OrderMessageName>(
  deps: RecoveryDeps,
  command: CommandMessage<Name>,
  updateId: string,
): Promise<'done' | 'gone'> {
  const outcome = await updateCaughtUp(deps, command, updateId);
  if (outcome === 'done') return outcome;
  if ((await recoverOrder(deps, command.orderNumber)) === 'final') return outcome;
  return updateCaughtUp(deps, command, updateId);
}

/** An older step that is not acknowledged may be one whose Update result was lost. */
const ACKNOWLEDGED_WITHIN_MS = 1000;

/** Sends the Update; if the workflow refuses and may lack steps, sends it again after a catch-up. */
async function updateCaughtUp<Name extends OrderMessageName>(
  { sql, workflows }: RecoveryDeps,
  { orderNumber, name, message }: CommandMessage<Name>,
  updateId: string,
): Promise<'done' | 'gone'> {
  try {
    return await workflows.update(orderNumber, name, message, updateId);
  } catch (error) {
    const isRefusal = error instanceof DomainError && error.code === 'INVALID_STATE';
    if (!isRefusal || !(await mayDiffer(sql, orderNumber, name))) throw error;
    await workflows.catchUp(orderNumber);
    return workflows.update(orderNumber, name, message, `${updateId}:caught-up`);
  }
}

/** @returns true when the row's status allows the refused command, or the workflow may lack steps */
async function mayDiffer(sql: Sql, orderNumber: string, name: OrderMessageName): Promise<boolean> {
  const { status, pendingOperation } = await findOrderByNumber(sql, orderNumber);
  if (pendingOperation === null && statusesThatTake(commandOf(name)).includes(status)) return true;
  // When one of several concurrent commands succeeds, the workflow refuses the others before that
  // step is acknowledged: a recent step is no sign of a lost one. For a dispute every step counts,
  // because a recorded dispute must not be refused.
  const olderThanMs = name === 'dispute' ? 0 : ACKNOWLEDGED_WITHIN_MS;
  return hasUnacknowledgedSteps(sql, orderNumber, olderThanMs);
}

/**
 * Temporal returns the first result to an Update with the same id. A cancel that failed with 502 changed
 * nothing, and the client may retry it with the same key: the retry needs another Update id.
 */
async function updateIdOf(
  sql: Sql,
  { orderNumber, name, message: { commandId } }: CommandMessage<OrderMessageName>,
): Promise<string> {
  const failed = name === 'cancel' ? await countFailedCancels(sql, orderNumber) : 0;
  return failed === 0 ? commandId : `${commandId}:${failed}`;
}

/** The command type of a message, by which the domain names its refusal. */
function commandOf(name: OrderMessageName): CommandType {
  if (name === 'decide') return 'decideForBuyer';
  return name === 'settle' ? 'settleRefunded' : name;
}

/** A workflow that has ended had a final status, which refuses every command. */
function refusal(command: CommandType): DomainError {
  return new DomainError('INVALID_STATE', REFUSALS[command]);
}

function stepMissing(name: OrderMessageName): Error {
  return new Error(`${name} was carried out, but its step is not recorded`);
}
