import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError, isFinal, refusalOf, transitionOf } from '../../domain/index.ts';
import { DISPUTE_LIMITS, findDisputeLimit } from '../steps/disputes.ts';
import { findOrderByNumber } from '../lists/find-orders.ts';
import type { PresentOrder } from '../presenter.ts';
import type { CommandMessage, UpdateDeps } from './update-order.ts';
import { updateOrder } from './update-order.ts';
import {
  findCarriedOut,
  isMismatch,
  writeCommand,
  writeDispute,
  writeRefusedDispute,
} from './command-queries.ts';
import type { OrderRow, CommandBody } from '../rows.ts';
import { differenceOf } from '../wake/compare-orders.ts';
import type { WakeDeps } from '../wake/wake-order.ts';
import { wakeOrder } from '../wake/wake-order.ts';
import type { Order } from '../schemas.ts';

/** After this time, the sweep wakes an order that its workflow should have looked at. */
export interface SweepDuration {
  sweepAfterMs: number;
}

export interface SendDeps extends UpdateDeps {
  durations: SweepDuration;
  present: PresentOrder;
}

/** A message for the order's workflow, with the data that only the database stores. */
export interface OrderCommand<Name extends OrderMessageName> extends Pick<
  CommandMessage<Name>,
  'name' | 'message'
> {
  order: OrderRow;
  /** The client's texts and numbers, which Temporal must not receive. */
  body?: CommandBody;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** A dispute by the buyer, by a sandbox helper, or by an operator for the buyer. */
export interface DisputeCommand {
  order: OrderRow;
  commandId: string;
  reason: string;
  actor: Actor;
  /** True if an operator raises it for the buyer. */
  isForBuyer?: boolean;
  /** How many disputes the actor may raise in 24 hours. No limit if absent. */
  mostPerDay?: number | undefined;
}

/** The result of a command, whether it was carried out now or before. */
export interface CommandResult {
  order: Order;
  /** True if the command is a repeat. */
  replayed: boolean;
  /** True if the command was first sent with another body. That body was used. */
  mismatch: boolean;
}

/** The recorded reason of commands that take none, such as the acceptance of a dispute. */
export const DEFAULT_REASON = 'Asked for by the merchant';

/** Records the command, then sends its message to the order's workflow, unless it is a repeat. */
export async function sendCommand<Name extends OrderMessageName>(
  deps: SendDeps,
  { order, name, message, body = {}, actor, alongside }: OrderCommand<Name>,
): Promise<CommandResult> {
  const { sql, durations } = deps;
  const wakeAfterMs = durations.sweepAfterMs;
  const { orderNumber } = order;
  const { commandId } = message;
  const reason = String(body['reason'] ?? DEFAULT_REASON);
  const origin = { actor, reason };
  const command = { orderNumber, commandId, name, body, origin, wakeAfterMs, alongside };
  const { tryNumber, replayed, mismatch } = await writeCommand(sql, command);
  const before = replayed && (await findCarriedOut(sql, { orderNumber, commandId }));
  const after = before || (await updateOrder(deps, { orderNumber, name, message, tryNumber }));
  return { order: deps.present(after), replayed, mismatch };
}

/** Records a dispute, then sends it to the order's workflow. A recorded dispute is valid. */
export async function raiseDispute(
  deps: SendDeps,
  { order: { orderNumber }, ...given }: DisputeCommand,
): Promise<CommandResult> {
  const { commandId, reason } = given;
  const dispute = { ...given, wakeAfterMs: deps.durations.sweepAfterMs };
  const written = await writeDispute(deps.sql, orderNumber, dispute);
  if (!written) {
    const repeated = await findRepeated(deps, orderNumber, commandId, { reason });
    if (repeated) return repeated;
    await wakeIfDifferent(deps, orderNumber);
    await writeRefusedDispute(deps.sql, orderNumber, dispute);
    throw await disputeRefusal(deps.sql, orderNumber, dispute);
  }
  const { receivedAt, tryNumber, ...replay } = written;
  const message = { commandId, receivedAtMs: receivedAt.getTime() };
  const after = await updateOrder(deps, { orderNumber, name: 'dispute', message, tryNumber });
  return { order: deps.present(after), ...replay };
}

/**
 * Wakes an order whose row and workflow differ, instead of refusing by the row: a restored database may lack steps that
 * the workflow has, such as the payment, or this dispute.
 *
 * @throws Error if they differ; a repeat of the dispute finds them equal
 */
async function wakeIfDifferent(deps: WakeDeps, orderNumber: string): Promise<void> {
  const difference = await differenceOf(deps, orderNumber);
  // A final row lacks nothing: its workflow shows the status a moment later.
  if (!difference || !('status' in difference) || isFinal(difference.status)) return;
  await wakeOrder(deps, orderNumber);
  throw new Error('The row and the workflow of the order differed: the order was woken');
}

/** The refusal of a dispute: the order cannot take it now, or its actor cannot raise it. */
async function disputeRefusal(
  sql: Sql,
  orderNumber: string,
  { isForBuyer = false, mostPerDay }: Pick<DisputeCommand, 'isForBuyer' | 'mostPerDay'>,
): Promise<DomainError> {
  const order = await findOrderByNumber(sql, orderNumber);
  if (!transitionOf(order, 'dispute')) return refusalOf(order, 'dispute');
  const limit = isForBuyer ? null : await findDisputeLimit(sql, orderNumber);
  if (limit) return new DomainError('INVALID_STATE', DISPUTE_LIMITS[limit]);
  if (mostPerDay === undefined) return refusalOf(order, 'dispute');
  const message = `Cannot raise dispute; you have raised ${mostPerDay} in 24 hours: an operator of finance can raise this one`;
  return new DomainError('INVALID_STATE', message);
}

/** @returns undefined if this command was not carried out before */
export async function findRepeated(
  { sql, present }: { sql: Sql; present: PresentOrder },
  orderNumber: string,
  commandId: string,
  body: CommandBody,
): Promise<CommandResult | undefined> {
  const order = await findCarriedOut(sql, { orderNumber, commandId });
  if (!order) return undefined;
  const mismatch = await isMismatch(sql, { orderNumber, commandId }, body);
  return { order: present(order), replayed: true, mismatch };
}
