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

/** A message for an order's workflow whose request is recorded. */
export interface CommandMessage<Name extends OrderMessageName> {
  orderNumber: string;
  name: Name;
  /** A repeat has the same request id and is carried out once. */
  message: OrderMessages[Name] & { commandId: string };
}

/**
 * Sends a recorded command to the order's workflow, which is started first if it is missing, and is
 * told to read the row first if it may lack steps.
 *
 * @returns the order as it is after the command
 * @throws DomainError the refusal; the request is then removed
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
    const after = await acknowledgeCommand(deps.sql, orderNumber, commandId);
    if (after) return after;
    throw outcome === 'gone' ? refusal(commandOf(name)) : stepMissing(name);
  } catch (error) {
    // The step was recorded and its workflow task was lost: the workflow adopts the step later.
    const after = await findCarriedOut(deps.sql, orderNumber, commandId);
    if (after) return after;
    // Only a refusal is final. After any other failure the command may still be carried out.
    if (error instanceof DomainError) await removeCommand(deps.sql, orderNumber, commandId);
    throw error;
  }
}

/** Starts the order's workflow first, if it is missing. */
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

/** Within this time after its step is recorded, a command is acknowledged, unless the answer is lost. */
const ACKNOWLEDGED_WITHIN_MS = 1000;

/** A refusal counts only if the workflow has every step that the database has. */
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

/** True when the row would take a command that its workflow has refused, or has steps that it may lack. */
async function mayDiffer(sql: Sql, orderNumber: string, name: OrderMessageName): Promise<boolean> {
  const { status, pendingOperation } = await findOrderByNumber(sql, orderNumber);
  if (pendingOperation === null && statusesThatTake(commandOf(name)).includes(status)) return true;
  // Of many simultaneous commands one wins, and the others are refused before its step is
  // acknowledged. But a dispute that the database has taken must not be refused.
  const olderThanMs = name === 'dispute' ? 0 : ACKNOWLEDGED_WITHIN_MS;
  return hasUnacknowledgedSteps(sql, orderNumber, olderThanMs);
}

/**
 * Temporal answers a repeated Update as it answered the first. A cancel that was answered with 502
 * changed nothing and may be repeated with the same key: from then on it is another Update.
 */
async function updateIdOf(
  sql: Sql,
  { orderNumber, name, message: { commandId } }: CommandMessage<OrderMessageName>,
): Promise<string> {
  const failed = name === 'cancel' ? await countFailedCancels(sql, orderNumber) : 0;
  return failed === 0 ? commandId : `${commandId}:${failed}`;
}

/** The command of a message, as its refusal names it. */
function commandOf(name: OrderMessageName): CommandType {
  if (name === 'decide') return 'decideForBuyer';
  return name === 'settle' ? 'settleRefunded' : name;
}

/** A workflow that is gone had a final status: it refuses every command. */
function refusal(command: CommandType): DomainError {
  return new DomainError('INVALID_STATE', REFUSALS[command]);
}

function stepMissing(name: OrderMessageName): Error {
  return new Error(`${name} was carried out, but its step is not recorded`);
}
