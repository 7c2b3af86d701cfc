import type { OrderMessageName } from '../contracts/order-workflow.ts';
import type { Sql } from '../db/client.ts';
import { refusalOf } from '../domain/index.ts';
import { findOrderByNumber } from './find-orders.ts';
import type { PresentOrder } from './presenter.ts';
import type { CommandMessage } from './recover-command.ts';
import { carryOut } from './recover-command.ts';
import type { RecoveryDeps } from './recovery.ts';
import { findCarriedOut, isMismatch, writeDispute, writeCommand } from './command-queries.ts';
import type { OrderRow, CommandBody } from './rows.ts';
import type { Order } from './schemas.ts';

export interface SendDeps extends RecoveryDeps {
  present: PresentOrder;
}

/** A message for an order's workflow, with what the row of its request keeps. */
export interface OrderCommand<Name extends OrderMessageName> extends Pick<
  CommandMessage<Name>,
  'name' | 'message'
> {
  order: OrderRow;
  /** The texts of the client, which Temporal must not receive, and its numbers. */
  body?: CommandBody;
  /** Who asks; by default the order's merchant. */
  actor?: string;
}

/** A dispute, raised by the buyer or by an operator for the buyer. */
export interface DisputeCommand {
  order: OrderRow;
  commandId: string;
  reason: string;
  /** The operator who raises it: an audit row names them. */
  operator?: string;
}

/** The result of a request, whether it was carried out now or before. */
export interface CommandResult {
  /** The order as it is now. */
  order: Order;
  /** The request is a repeat. */
  replayed: boolean;
  /** The first request had another body, and that body counts. */
  mismatch: boolean;
}

/** The recorded reason of a command that the API takes without one, such as to accept a dispute. */
const NO_REASON_ASKED = 'Asked for through the API';

/** Records the command, then sends its message to the order's workflow, unless it is a repeat. */
export async function sendCommand<Name extends OrderMessageName>(
  deps: SendDeps,
  { order, name, message, body = {}, actor = order.merchantId }: OrderCommand<Name>,
): Promise<CommandResult> {
  const { orderNumber } = order;
  const { commandId } = message;
  const reason = String(body['reason'] ?? NO_REASON_ASKED);
  const request = { orderNumber, commandId, body, responsible: { actor, reason } };
  const known = await writeCommand(deps.sql, request);
  const before = known.replayed && (await findCarriedOut(deps.sql, orderNumber, commandId));
  const after = before || (await carryOut(deps, { orderNumber, name, message }));
  return { order: deps.present(after), ...known };
}

/** Records a dispute, which makes it count, and raises it. */
export async function raiseDispute(
  deps: SendDeps,
  { order: { orderNumber }, ...dispute }: DisputeCommand,
): Promise<CommandResult> {
  const { commandId, reason } = dispute;
  const written = await writeDispute(deps.sql, orderNumber, dispute);
  if (!written) {
    const repeated = await findRepeated(deps, orderNumber, commandId, { reason });
    if (repeated) return repeated;
    throw refusalOf(await findOrderByNumber(deps.sql, orderNumber), 'dispute');
  }
  const { receivedAt, ...known } = written;
  const message = { commandId, receivedAtMs: receivedAt.getTime() };
  const after = await carryOut(deps, { orderNumber, name: 'dispute', message });
  return { order: deps.present(after), ...known };
}

/** @returns undefined unless this request was carried out before */
export async function findRepeated(
  { sql, present }: { sql: Sql; present: PresentOrder },
  orderNumber: string,
  commandId: string,
  body: CommandBody,
): Promise<CommandResult | undefined> {
  const order = await findCarriedOut(sql, orderNumber, commandId);
  if (!order) return undefined;
  const mismatch = await isMismatch(sql, orderNumber, commandId, body);
  return { order: present(order), replayed: true, mismatch };
}
