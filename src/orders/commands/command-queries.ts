import type { Fragment } from 'postgres';
import { ulid } from 'ulid';
import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside, jsonRow } from '../../db/client.ts';
import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import type { HelperName } from '../../domain/index.ts';
import { BUYER_DISPUTES, DomainError, statusesThatTake } from '../../domain/index.ts';
import { addRequestFields, requestFields } from '../../http/request-context.ts';
import { authorizeOrder, findOrderAnywhere } from '../find-order.ts';
import type { OrderOwner } from '../lists/search-orders.ts';
import type { DisputeLimit } from '../steps/disputes.ts';
import type { OrderRow, CommandBody } from '../rows.ts';

/** A client's Idempotency-Key. `operation` distinguishes commands of different routes with the same key. */
interface CommandKey {
  operation: string;
  key: string;
}

/** The order that a command is for, and the command's id. */
interface CommandTarget {
  orderNumber: string;
  /** The order must belong to this merchant, in this environment. Absent if any order may be meant. */
  owner?: OrderOwner | undefined;
  /** A key becomes an id with the SQL function `command_id_of`, which needs the order's row. */
  commandId: string | CommandKey;
}

/** A command as its client or an operator gives it. */
export interface GivenCommand extends CommandTarget {
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** A dispute by the buyer, by a sandbox helper, or by an operator for the buyer. */
export interface DisputeCommand extends GivenCommand {
  reason: string;
  /** True if an operator raises it for the buyer. */
  isForBuyer?: boolean;
  /** How many disputes the actor may raise in 24 hours. No limit if absent. */
  mostPerDay?: number | undefined;
}

/** Identifies a command: its row in `order_commands`, and its step once it was carried out. */
export interface CommandRef {
  orderNumber: string;
  commandId: string;
}

export interface ReplayState {
  /** True if the command was recorded before, and not refused. */
  replayed: boolean;
  /** True if it was recorded with another body. The first body is used. */
  mismatch: boolean;
}

export interface RecordedCommand extends ReplayState {
  commandId: string;
  /** How often the command was refused before. */
  tryNumber: number;
  /** By the database's clock. For a repeat, when the first one was received. */
  receivedAt: Date;
}

/** What has become of a command: recorded, or why not. */
type Written<Refusal extends string> =
  | ({ outcome: 'recorded' } & RecordedCommand)
  | { outcome: Refusal };

/** `not_taken`: the order cannot take a dispute now. `most_today`: the actor has raised too many in 24 hours. */
export type DisputeRefusal = 'not_taken' | 'most_today' | DisputeLimit;

export interface NewCommand extends CommandTarget {
  /** After this time the sweep wakes the order, unless an Update has returned by then. Never if absent. */
  wakeAfterMs?: number;
  name: OrderMessageName | HelperName;
  body: CommandBody;
  origin: { actor: Actor; reason: string };
  /** `REFUSED` if its order's row refuses the command; `DONE` if the row of the command is all of it. */
  state?: 'WAITING' | 'REFUSED' | 'DONE';
  alongside?: Alongside | undefined;
}

/**
 * The most moves of one sandbox order, by `advance` and `fail-payment` together. Source: the contract's test
 * helpers.
 */
const MOST_MOVES = 500;
const MOVED_OFTEN = `This sandbox order has been moved ${MOST_MOVES} times; create another`;

export const newCommandId = (): string => `cmd_${ulid()}`;

/** The id of a request's command: a new one unless the client gave a key. */
export const newIdOrKey = (operation: string, key: string | undefined): string | CommandKey =>
  key === undefined ? newCommandId() : { operation, key };

/**
 * Reads the order of a command, and makes the command's id.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`
 */
export async function findTarget(
  sql: Sql,
  { orderNumber, owner, commandId: id }: CommandTarget,
): Promise<{ order: OrderRow; commandId: string }> {
  const order = owner
    ? await authorizeOrder(sql, owner.merchantId, owner.environment, orderNumber)
    : await findOrderAnywhere(sql, orderNumber);
  if (typeof id === 'string') return { order, commandId: id };
  const [row] = await sql<[{ commandId: string }]>`
    SELECT command_id_of(${order.paymentToken}, ${id.operation}, ${id.key}) AS command_id`;
  return { order, commandId: row.commandId };
}

/**
 * Records a command before the workflow receives its message: see the SQL function `write_command`. The row is also the
 * command's line in the audit list.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`; `INVALID_STATE` if a sandbox order was moved too often
 */
export async function writeCommand(sql: Sql, command: NewCommand): Promise<RecordedCommand> {
  const parameters = sql`${parametersOf(sql, command)}, ${MOST_MOVES}, ${command.wakeAfterMs ?? null}`;
  const call = sql`write_command(${parameters})`;
  const written = await callWriter<'moved_often'>(sql, command, call);
  if (written.outcome === 'recorded') return written;
  throw new DomainError('INVALID_STATE', MOVED_OFTEN);
}

/**
 * Records a buyer's dispute, unless the order does not take it: see the SQL function `write_dispute`.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`
 */
export async function writeDispute(
  sql: Sql,
  orderNumber: string,
  dispute: Omit<DisputeCommand, 'orderNumber'> & Pick<NewCommand, 'wakeAfterMs'>,
): Promise<Written<DisputeRefusal>> {
  const { reason, isForBuyer = false, mostPerDay = null, wakeAfterMs = 0 } = dispute;
  const own = { orderNumber, name: 'dispute', body: { reason }, origin: dispute } as const;
  const command = { ...dispute, ...own };
  const parameters = sql`${parametersOf(sql, command)}, ${statusesThatTake('dispute')}::order_status[],
    ${isForBuyer ? null : BUYER_DISPUTES}, ${mostPerDay}, ${wakeAfterMs}`;
  return callWriter<DisputeRefusal>(sql, command, sql`write_dispute(${parameters})`);
}

/** The parameters that both functions begin with. */
function parametersOf(
  sql: Sql,
  { orderNumber, owner, commandId: id, name, body, origin, state = 'WAITING' }: NewCommand,
): Fragment {
  const { actor, reason } = origin;
  const { requestId = null } = requestFields();
  const own = { name, state, body, reason, actor: actor.name, address: actor.address, requestId };
  const row = { ...own, ...(typeof id === 'string' ? { commandId: id } : id) };
  return sql`${orderNumber}, ${owner ? jsonRow(sql, owner) : null}, ${jsonRow(sql, row)}`;
}

/** @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS` */
async function callWriter<Refusal extends string>(
  sql: Sql,
  command: NewCommand,
  call: Fragment,
): Promise<Written<Refusal>> {
  const { orderNumber, alongside } = command;
  const [written] = await sql<[Written<Refusal>]>`
    WITH written AS (SELECT * FROM ${call}),
      inserted AS (SELECT FROM written WHERE outcome = 'recorded' AND NOT replayed)
    ${alongsideQuery(sql, alongside, 'inserted')}
    SELECT written.* FROM written ${andAlongside(sql, alongside)}`;
  if (written.outcome === 'no_order') {
    // Unknown, or another merchant's: this says which.
    await findTarget(sql, command);
    throw new Error(`Order ${orderNumber} was not found, and is there`);
  }
  addRequestFields({ orderNumber });
  return written;
}

/** @returns true if the command was recorded before, and not refused */
export async function isRecorded(
  sql: Sql,
  { orderNumber, commandId }: CommandRef,
): Promise<boolean> {
  const [row] = await sql<[{ isRecorded: boolean }]>`
    SELECT is_recorded(${orderNumber}, ${commandId})`;
  return row.isRecorded;
}

/**
 * Ends a command as refused: see the SQL function `refuse_command`.
 *
 * @returns false if it was carried out meanwhile, by an equal request
 */
export async function refuseCommand(
  sql: Sql,
  { orderNumber, commandId, tryNumber }: CommandRef & { tryNumber: number },
): Promise<boolean> {
  const [row] = await sql<[{ isRefused: boolean }]>`
    SELECT refuse_command(${orderNumber}, ${commandId}, ${tryNumber}) AS is_refused`;
  return row.isRefused;
}

/** @returns the order as it is now; undefined if this command was not carried out */
export async function findCarriedOut(sql: Sql, ref: CommandRef): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`${orderOf(sql, ref)}`;
  return row;
}

/**
 * Reads the order as {@link findCarriedOut}, and removes the command's line in `order_wakeups`. Call it once the
 * Update has returned: the workflow has the step. The line stays if a failover has lost the step meanwhile. The answer
 * does not wait until the DELETE is on disk, because one that is lost costs a wake.
 */
export async function finishCommand(sql: Sql, ref: CommandRef): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    WITH finished AS (
      DELETE FROM order_wakeups w USING order_steps s
      WHERE w.order_number = ${ref.orderNumber} AND w.cause = 'command' AND w.cause_id = ${ref.commandId}
        AND s.order_number = w.order_number AND s.command_id = w.cause_id
      RETURNING set_config('synchronous_commit', 'off', true)
    ) ${orderOf(sql, ref)}`;
  return row;
}

const orderOf = (sql: Sql, { orderNumber, commandId }: CommandRef) => sql`
  SELECT o.* FROM orders_with_dispute o JOIN order_steps s USING (order_number)
  WHERE s.order_number = ${orderNumber} AND s.command_id = ${commandId}`;
