import type { Fragment } from 'postgres';
import { ulid } from 'ulid';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import { alongsideQuery, andAlongside } from '../../db/alongside.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import type { HelperName } from '../../domain/index.ts';
import { DomainError, statusesThatTake } from '../../domain/index.ts';
import { addRequestFields, requestFields } from '../../http/request-context.ts';
import { authorizeOrder, findOrderAnywhere } from '../lists/find-orders.ts';
import type { OrderOwner } from '../lists/search-orders.ts';
import { disputeLimitOf } from '../steps/disputes.ts';
import type { OrderRow, CommandBody } from '../rows.ts';

/** A client's Idempotency-Key. `operation` distinguishes commands of different routes with the same key. */
export interface CommandKey {
  operation: string;
  key: string;
}

/** The order that a command is for, and the command's id. */
export interface CommandTarget {
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

export interface CommandOrigin {
  actor: Actor;
  reason: string;
}

export interface NewCommand extends CommandTarget {
  /** After this time the sweep wakes the order, unless an Update has returned by then. Never if absent. */
  wakeAfterMs?: number;
  name: OrderMessageName | HelperName;
  body: CommandBody;
  origin: CommandOrigin;
  /** `REFUSED` if the command never waits, because its order's row refuses it. */
  state?: 'WAITING' | 'REFUSED';
  alongside?: Alongside | undefined;
}

/**
 * The most moves of one sandbox order, by `advance` and `fail-payment` together. Source: the contract's test
 * helpers.
 */
const MOST_MOVES = 500;
const MOVES: readonly NewCommand['name'][] = ['advance', 'failPayment'];
const MOVED_OFTEN = `This sandbox order has been moved ${MOST_MOVES} times; create another`;

export const newCommandId = (): string => `cmd_${ulid()}`;

/** The id of a request's command: a new one unless the client gave a key. */
export const commandIdOf = (operation: string, key: string | undefined): string | CommandKey =>
  key === undefined ? newCommandId() : { operation, key };

/** SQL: the id of a command on a row of `orders`. */
const idOf = (sql: Sql, id: CommandTarget['commandId']) =>
  typeof id === 'string'
    ? sql`${id}::text`
    : sql`command_id_of(payment_token, ${id.operation}, ${id.key})`;

/** SQL: the row of `orders` is the command's. */
const isTarget = (sql: Sql, { orderNumber, owner }: CommandTarget) => sql`
  order_number = ${orderNumber} ${
    owner
      ? sql`AND merchant_id = ${owner.merchantId} AND environment = ${owner.environment}`
      : sql``
  }`;

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
 * Records a command before the workflow receives its message, if the order is the target's. The row is also the
 * command's line in the audit list. A repeat keeps the first row, unless that was refused; then the repeat is a new
 * command.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, `ORDER_NOT_YOURS`; `INVALID_STATE` if a sandbox order was moved too often
 */
export async function writeCommand(sql: Sql, command: NewCommand): Promise<RecordedCommand> {
  // A payment that failed at the gateway is not a move.
  const isMove = MOVES.includes(command.name) && command.origin.actor.name !== 'gateway';
  const target = sql`
    SELECT order_number, ${idOf(sql, command.commandId)} AS command_id, erased_at,
      NULL::timestamptz AS received_at,
      ${isMove ? sql`may_move(order_number, ${MOST_MOVES})` : sql`true`} AS is_allowed
    FROM orders WHERE ${isTarget(sql, command)}`;
  const recorded = await insertCommand(sql, command, { target, causes: ['command'] });
  if (recorded) return recorded;
  await findTarget(sql, command);
  throw new Error(`Order ${command.orderNumber} was not found for its command`);
}

/**
 * Records a buyer's dispute and marks the order's row, in one statement. The dispute is valid if this statement
 * locks the row before the release or a refund starts.
 *
 * @returns undefined when there is no such order, or it cannot take a dispute now or already has a step for this one
 */
export async function writeDispute(
  sql: Sql,
  orderNumber: string,
  dispute: Omit<DisputeCommand, 'orderNumber'> & Pick<NewCommand, 'wakeAfterMs'>,
): Promise<RecordedCommand | undefined> {
  const { actor, reason, isForBuyer = false, mostPerDay, wakeAfterMs = 0 } = dispute;
  const id = idOf(sql, dispute.commandId);
  const target = sql`
    UPDATE orders SET
      waiting_dispute_id = coalesce(waiting_dispute_id, ${id}),
      waiting_dispute_received_at = coalesce(waiting_dispute_received_at, ${receivedAtOf(sql)})
    WHERE ${isTarget(sql, { ...dispute, orderNumber })} AND pending_operation IS NULL
      AND status = ANY(${statusesThatTake('dispute')})
      ${isForBuyer ? sql`` : sql`AND ${disputeLimitOf(sql, sql`orders`)} IS NULL`}
      ${mostPerDay === undefined ? sql`` : sql`AND may_raise_dispute(${actor.name}, ${mostPerDay})`}
      AND NOT EXISTS (SELECT FROM order_steps s
        WHERE s.order_number = orders.order_number AND s.command_id = ${id})
    RETURNING order_number, ${id} AS command_id, erased_at, ${receivedAtOf(sql)} AS received_at,
      true AS is_allowed`;
  const command = { name: 'dispute', body: { reason }, origin: dispute, wakeAfterMs } as const;
  return insertCommand(
    sql,
    { ...dispute, ...command, orderNumber },
    { target, causes: ['command', 'dispute'] },
  );
}

/**
 * Writes the row of a command, and its lines in `order_wakeups`.
 *
 * @param of.target SQL: finds the order, with the columns order_number, command_id, erased_at, received_at and
 *   is_allowed. Without `is_allowed`, only a repeat is recorded
 * @returns undefined if the target has no row
 */
async function insertCommand(
  sql: Sql,
  { orderNumber, wakeAfterMs, name, body, origin, state = 'WAITING', alongside }: NewCommand,
  { target, causes }: { target: Fragment; causes: readonly ('command' | 'dispute')[] },
): Promise<RecordedCommand | undefined> {
  const { actor, reason } = origin;
  // A command whose step is recorded keeps its line, because the workflow may lack the step.
  const wakeups = sql`
    wakeups AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT order_number, cause, command_id, service_now() + ${wakeAfterMs ?? 0} * interval '1 millisecond'
      FROM target, unnest(${[...causes]}::wakeup_cause[]) AS cause
      WHERE is_allowed AND NOT EXISTS (SELECT FROM order_steps s
        WHERE s.order_number = target.order_number AND s.command_id = target.command_id)
      ON CONFLICT DO NOTHING
    ),`;
  for (let isAgain = false; ; isAgain = true) {
    // The service's login may not update rows, so a repeat reads the row of the first call.
    const [row] = await sql<Written[]>`
      WITH target AS (${target}), ${wakeAfterMs === undefined ? sql`` : wakeups} inserted AS (
        INSERT INTO order_commands
          (order_number, command_id, try_number, name, state, body, received_at, actor, reason, address, request_id)
        SELECT order_number, command_id, (SELECT count(*) FROM order_commands r
            WHERE r.order_number = target.order_number AND r.command_id = target.command_id AND r.state = 'REFUSED'),
          ${name}, ${state}::command_state, ${sql.json(body)}, received_at, ${actor.name}, ${reason},
          ${actor.address}, ${requestFields().requestId ?? null}
        FROM target WHERE is_allowed
        ON CONFLICT DO NOTHING
        RETURNING command_id, try_number, received_at
      ) ${alongsideQuery(sql, alongside, 'inserted')}
      SELECT is_allowed, recorded.* FROM target LEFT JOIN (
        SELECT command_id, try_number, received_at, false AS replayed, false AS mismatch
        FROM inserted ${andAlongside(sql, alongside)}
        UNION ALL
        SELECT command_id, kept.try_number, kept.received_at, true,
          kept.body <> ${sql.json(body)} AND target.erased_at IS NULL
        FROM target JOIN order_commands kept USING (order_number, command_id)
        WHERE kept.state <> 'REFUSED' AND NOT EXISTS (SELECT FROM inserted)
      ) AS recorded ON true`;
    if (!row) return undefined;
    addRequestFields({ orderNumber });
    const { isAllowed, ...recorded } = row;
    if (recorded.tryNumber !== null) return recorded;
    // Since the first statement began, another request may have written the row, or it was refused.
    if (!isAllowed && isAgain) throw new DomainError('INVALID_STATE', MOVED_OFTEN);
  }
}

type Written = { isAllowed: boolean } & (RecordedCommand | { tryNumber: null });

/**
 * SQL: the time at which a dispute counts as received. Normally now. While the release cannot begin, because the
 * merchant is not active or the gateway has reversed some of the payment, the window does not end: the time is then
 * at most the last millisecond of the window.
 */
const receivedAtOf = (sql: Sql) => sql`
  (CASE WHEN release_blocked_by(orders) IS NOT NULL
    THEN least(service_now(), orders.completes_at - interval '1 millisecond')
    ELSE service_now() END)`;
