import type { OrderMessageName, OrderMessages } from '../../contracts/order-workflow.ts';
import type { Sql } from '../../db/client.ts';
import type { CommandType } from '../../domain/index.ts';
import { DomainError, isFinal, REFUSALS, refusalOf, transitionOf } from '../../domain/index.ts';
import { DISPUTE_LIMITS } from '../steps/disputes.ts';
import { findOrderByNumber } from '../find-order.ts';
import type { PresentOrder } from '../presenter.ts';
import {
  findCarriedOut,
  finishCommand,
  refuseCommand,
  findTarget,
  writeCommand,
  writeDispute,
} from './command-queries.ts';
import type {
  CommandRef,
  DisputeCommand,
  DisputeRefusal,
  GivenCommand,
  RecordedCommand,
  ReplayState,
} from './command-queries.ts';
import type { OrderRow, CommandBody } from '../rows.ts';
import { differenceOf } from '../wake/compare-orders.ts';
import type { WakeDeps } from '../wake/wake-order.ts';
import { wakeOrder } from '../wake/wake-order.ts';
import type { Order } from '../schemas.ts';

export interface SendDeps extends WakeDeps {
  /** After `sweepAfterMs`, the sweep wakes an order that its workflow should have looked at. */
  durations: { sweepAfterMs: number };
  present: PresentOrder;
}

/** The messages that commands send. A settlement tells the workflow of its row itself. */
type SentMessage = Exclude<OrderMessageName, 'settle'>;

/** A message for the order's workflow, with the data that only the database stores. */
interface OrderCommand<Name extends SentMessage> extends GivenCommand {
  name: Name;
  message: Omit<OrderMessages[Name], 'commandId'>;
  /** The client's texts and numbers, which Temporal must not receive. */
  body?: CommandBody;
}

/** The result of a command, whether it was carried out now or before. */
export interface CommandResult extends ReplayState {
  order: Order;
}

/** The recorded reason of every command that has none, such as a delivery. */
export const DEFAULT_REASON = 'Asked for by the merchant';

/**
 * Records the command, then sends its message to the order's workflow, unless it is a repeat. If this process dies in
 * between, the client's repeat sends it: a wake only brings the workflow what is waiting in the order's row.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`, `INVALID_STATE`
 */
export async function sendCommand<Name extends SentMessage>(
  deps: SendDeps,
  { name, message, body = {}, actor, alongside, ...target }: OrderCommand<Name>,
): Promise<CommandResult> {
  const { sql, durations } = deps;
  const wakeAfterMs = durations.sweepAfterMs;
  const origin = { actor, reason: String(body['reason'] ?? DEFAULT_REASON) };
  const written = await writeCommand(sql, {
    ...target,
    name,
    body,
    origin,
    wakeAfterMs,
    alongside,
  });
  return answerRecorded(deps, { orderNumber: target.orderNumber, name, message }, written);
}

/** Sends a recorded command to the order's workflow, unless it is a repeat of one that was carried out. */
async function answerRecorded<Name extends SentMessage>(
  deps: SendDeps,
  message: Pick<RecordedMessage<Name>, 'orderNumber' | 'name' | 'message'>,
  { commandId, tryNumber, replayed, mismatch }: RecordedCommand,
): Promise<CommandResult> {
  const command = { ...message, commandId, tryNumber };
  const before = replayed && (await findCarriedOut(deps.sql, command));
  const after = before || (await sendAndFinish(deps, command));
  return { order: deps.present(after), replayed, mismatch };
}

interface RecordedMessage<Name extends SentMessage> extends CommandRef {
  name: Name;
  message: Omit<OrderMessages[Name], 'commandId'>;
  /** How often the command was refused before. */
  tryNumber: number;
}

/**
 * Sends a recorded command to the order's workflow as an Update.
 *
 * @returns the order after the command
 * @throws DomainError the refusal, after the command's row was marked as refused
 * @throws Error any other failure: the command may still be carried out
 */
async function sendAndFinish<Name extends SentMessage>(
  deps: SendDeps,
  command: RecordedMessage<Name>,
): Promise<OrderRow> {
  try {
    await sendUpdate(deps, command);
  } catch (error) {
    const carriedOut = await finishFailedCommand(deps.sql, command, error);
    if (carriedOut) return carriedOut;
    throw error;
  }
  const after = await finishCommand(deps.sql, command);
  if (after) return after;
  throw new Error(`${command.name} was carried out, but its step is not recorded`);
}

/**
 * After a failure, too, the step may be recorded, if the workflow task that recorded it was lost. The line in
 * `order_wakeups` then stays, because the workflow may lack the step. Otherwise this marks a refused command. After
 * any other failure the command may still be carried out.
 *
 * @returns the order, if the command was carried out
 */
async function finishFailedCommand(
  sql: Sql,
  command: RecordedMessage<SentMessage>,
  failure: unknown,
): Promise<OrderRow | undefined> {
  const carriedOut = await findCarriedOut(sql, command);
  if (carriedOut || !(failure instanceof DomainError)) return carriedOut;
  const isRefused = await refuseCommand(sql, command);
  return isRefused ? undefined : findCarriedOut(sql, command);
}

/**
 * Sends the Update. If the workflow is missing, or refuses a command that the row allows, this wakes the order and sends
 * the Update again, because row and workflow may differ.
 *
 * @throws DomainError the refusal, also if the order is final and no workflow runs
 */
async function sendUpdate<Name extends SentMessage>(
  deps: SendDeps,
  { orderNumber, commandId, tryNumber, name, message }: RecordedMessage<Name>,
): Promise<void> {
  const type = commandTypeOf(name);
  // For an Update with the same id, Temporal returns the first result, so a try after a refusal has another id.
  const updateId = tryNumber === 0 ? commandId : `${commandId}:${tryNumber}`;
  const sent = { ...message, commandId } as OrderMessages[Name] & { commandId: string };
  const update = (id: string) => deps.workflows.update(orderNumber, name, sent, id);
  try {
    if ((await update(updateId)) === 'done') return;
    const woken = await wakeOrder(deps, orderNumber);
    if (woken !== 'final' && (await update(updateId)) === 'done') return;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_STATE') throw error;
    const order = await findOrderByNumber(deps.sql, orderNumber);
    // The row may have a later step than the workflow had when it refused.
    if (!transitionOf(order, type)) throw refusalOf(order, type);
    await wakeOrder(deps, orderNumber);
    if ((await update(`${updateId}:woken`)) === 'done') return;
  }
  // A workflow that has ended had a final status, in which every command is refused.
  throw new DomainError('INVALID_STATE', REFUSALS[type]);
}

/** The command type of a message, for the domain. Both decisions have the same transitions and refusal. */
function commandTypeOf(name: SentMessage): CommandType {
  return name === 'decide' ? 'decideForBuyer' : name;
}

/**
 * Records a dispute, then sends it to the order's workflow. One that was received in the window is valid once it is
 * recorded: see {@link writeDispute}.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`, `INVALID_STATE`
 */
export async function raiseDispute(deps: SendDeps, given: DisputeCommand): Promise<CommandResult> {
  const { orderNumber } = given;
  const { sweepAfterMs: wakeAfterMs } = deps.durations;
  const written = await writeDispute(deps.sql, orderNumber, { ...given, wakeAfterMs });
  if (written.outcome === 'recorded') return sendDispute(deps, orderNumber, written);
  return sendRecordedOrRefuse(deps, given, written.outcome);
}

function sendDispute(deps: SendDeps, orderNumber: string, written: RecordedCommand) {
  const message = { receivedAtMs: written.receivedAt.getTime() };
  return answerRecorded(deps, { orderNumber, name: 'dispute', message }, written);
}

/** Answers a dispute that the order's row does not take, and that has no step. */
async function sendRecordedOrRefuse(
  deps: SendDeps,
  given: DisputeCommand,
  refusal: DisputeRefusal,
): Promise<CommandResult> {
  const { orderNumber, reason } = given;
  const { order, commandId } = await findTarget(deps.sql, given);
  await wakeIfBehind(deps, orderNumber);
  const dispute = { orderNumber, commandId, name: 'dispute', body: { reason } } as const;
  const written = await writeCommand(deps.sql, { ...dispute, origin: given, state: 'REFUSED' });
  // An earlier request has recorded the dispute, and was not answered: the workflow decides.
  if (written.replayed) return sendDispute(deps, orderNumber, written);
  throw new DomainError('INVALID_STATE', disputeRefusal(refusal, order, given));
}

/**
 * Wakes an order whose row may lack steps that its workflow has, such as the payment, or this dispute, instead of
 * refusing by the row: the database may have been restored.
 *
 * @throws Error if row and workflow differ; a repeat of the dispute finds them equal
 */
async function wakeIfBehind(deps: WakeDeps, orderNumber: string): Promise<void> {
  const difference = await differenceOf(deps, orderNumber);
  // A final row lacks nothing: its workflow shows the status a moment later.
  if (!difference || !('status' in difference) || isFinal(difference.status)) return;
  // Nor does a row lack anything whose dispute the workflow does not have yet.
  if (difference.kind === 'status' && difference.hasNewDispute) return;
  await wakeOrder(deps, orderNumber);
  throw new Error('The row and the workflow of the order differed: the order was woken');
}

function disputeRefusal(
  refusal: DisputeRefusal,
  order: OrderRow,
  { mostPerDay }: DisputeCommand,
): string {
  if (refusal === 'not_taken') return refusalOf(order, 'dispute').message;
  if (refusal !== 'most_today') return DISPUTE_LIMITS[refusal];
  return `Cannot raise dispute; you have raised ${mostPerDay} in 24 hours: an operator of finance can raise this one`;
}
