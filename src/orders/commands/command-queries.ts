import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import { alongsideQuery, andAlongside } from '../../db/alongside.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import type { HelperName } from '../../domain/index.ts';
import { DomainError, statusesThatTake } from '../../domain/index.ts';
import { requestFields } from '../../http/request-context.ts';
import { disputeLimitOf } from '../steps/disputes.ts';
import type { OrderRow, CommandBody } from '../rows.ts';

export interface ReplayState {
  /** True if the command was recorded before, and not refused. */
  replayed: boolean;
  /** True if it was recorded with another body. The first body is used. */
  mismatch: boolean;
}

export interface RecordedCommand extends ReplayState {
  /** How often the command was refused before. */
  tryNumber: number;
  /** By the database's clock. For a repeat, when the first one was received. */
  receivedAt: Date;
}

export interface CommandOrigin {
  actor: Actor;
  reason: string;
}

export interface NewCommand {
  /** After this time the sweep wakes the order, unless an Update has returned by then. */
  wakeAfterMs?: number;
  orderNumber: string;
  commandId: string;
  name: OrderMessageName | HelperName;
  body: CommandBody;
  origin: CommandOrigin;
  alongside?: Alongside | undefined;
}

/**
 * The most moves of one sandbox order, by `advance` and `fail-payment` together. Source: the contract's test
 * helpers.
 */
const MOST_MOVES = 500;
const MOVES: readonly NewCommand['name'][] = ['advance', 'failPayment'];
const MOVED_OFTEN = `This sandbox order has been moved ${MOST_MOVES} times; create another`;

/**
 * Records a command before the workflow receives its message. The row is also the command's line in the audit list.
 * A repeat keeps the first row, unless that was refused; then the repeat is a new command.
 *
 * @throws DomainError `INVALID_STATE` if a sandbox order was moved too often
 */
export async function writeCommand(sql: Sql, command: NewCommand): Promise<RecordedCommand> {
  const { orderNumber, commandId, name, body, origin, wakeAfterMs, alongside } = command;
  // A payment that failed at the gateway is not a move.
  const isMove = MOVES.includes(name) && origin.actor.name !== 'gateway';
  const allowed = isMove
    ? sql`allowed AS MATERIALIZED (SELECT WHERE may_move(${orderNumber}, ${MOST_MOVES})),`
    : sql``;
  const fromAllowed = isMove ? sql`FROM allowed` : sql``;
  // A command whose step is recorded keeps its line, because the workflow may lack the step.
  const wakeup = sql`
    wakeup AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT ${orderNumber}, 'command', ${commandId},
        service_now() + ${wakeAfterMs ?? 0} * interval '1 millisecond'
      ${fromAllowed} WHERE NOT EXISTS (SELECT FROM order_steps
        WHERE order_number = ${orderNumber} AND command_id = ${commandId})
      ON CONFLICT DO NOTHING
    ),`;
  const [recorded] = await sql<RecordedCommand[]>`
    WITH ${allowed} ${wakeAfterMs === undefined ? sql`` : wakeup} inserted AS (
      INSERT INTO order_commands
        (order_number, command_id, try_number, name, body, ${originColumns(sql)})
      SELECT ${orderNumber}, ${commandId}, ${triesOf(sql, { orderNumber, commandId })}, ${name},
        ${sql.json(body)}, ${originOf(sql, origin)} ${fromAllowed}
      ON CONFLICT DO NOTHING
      RETURNING try_number, received_at
    ) ${alongsideQuery(sql, alongside, 'inserted')}
    ${insertedOrKept(sql, command, alongside)}`;
  if (recorded) return recorded;
  if (isMove && (await isMovedOften(sql, orderNumber)) && !(await isRecorded(sql, command))) {
    throw new DomainError('INVALID_STATE', MOVED_OFTEN);
  }
  // Since this statement began, another request has written the row, or it was refused.
  return writeCommand(sql, command);
}

async function isMovedOften(sql: Sql, orderNumber: string): Promise<boolean> {
  const [row] = await sql<[{ mayMove: boolean }]>`
    SELECT may_move(${orderNumber}, ${MOST_MOVES}) AS may_move`;
  return !row.mayMove;
}

const originColumns = (sql: Sql) => sql`actor, reason, address, request_id`;
/** The values of {@link originColumns}. */
const originOf = (sql: Sql, { actor, reason }: CommandOrigin) => sql`
  ${actor.name}, ${reason}, ${actor.address}, ${requestFields().requestId ?? null}`;

/**
 * The row that the statement's `inserted` wrote, else the existing row that is not refused. The service's login may
 * not update rows, so a repeat reads the row of the first call.
 */
const insertedOrKept = (
  sql: Sql,
  { orderNumber, commandId, body }: Pick<NewCommand, 'orderNumber' | 'commandId' | 'body'>,
  alongside?: Alongside,
) => sql`
  SELECT try_number, received_at, false AS replayed, false AS mismatch
  FROM inserted ${andAlongside(sql, alongside)}
  UNION ALL
  SELECT kept.try_number, kept.received_at, true, kept.body <> ${sql.json(body)} AND erased_at IS NULL
  FROM order_commands kept JOIN orders USING (order_number)
  WHERE kept.order_number = ${orderNumber} AND kept.command_id = ${commandId}
    AND kept.state <> 'REFUSED' AND NOT EXISTS (SELECT FROM inserted)`;

/** How often a command was refused, which is the number of its next try. */
const triesOf = (sql: Sql, { orderNumber, commandId }: CommandRef) => sql`
  (SELECT count(*) FROM order_commands r WHERE r.order_number = ${orderNumber}
    AND r.command_id = ${commandId} AND r.state = 'REFUSED')`;

/** Identifies a command: its row in `order_commands`, and its step once it was carried out. */
export interface CommandRef {
  orderNumber: string;
  commandId: string;
}

export async function isRecorded(
  sql: Sql,
  { orderNumber, commandId }: CommandRef,
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM order_commands
    WHERE order_number = ${orderNumber} AND command_id = ${commandId} AND state <> 'REFUSED'`;
  return rows.length > 0;
}

/** @returns true if this command was recorded with another body; false once the bodies are erased */
export async function isMismatch(
  sql: Sql,
  { orderNumber, commandId }: CommandRef,
  body: CommandBody,
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM order_commands JOIN orders USING (order_number)
    WHERE order_number = ${orderNumber} AND command_id = ${commandId} AND state <> 'REFUSED'
      AND body <> ${sql.json(body)} AND erased_at IS NULL`;
  return rows.length > 0;
}

/**
 * Records a buyer's dispute and marks the order's row, in one statement. The dispute is valid if this statement
 * locks the row before the release or a refund starts.
 *
 * @returns undefined when the order cannot take a dispute now or already has a step for this one
 */
export async function writeDispute(
  sql: Sql,
  orderNumber: string,
  dispute: NewDispute,
): Promise<RecordedCommand | undefined> {
  const { actor, commandId, reason, isForBuyer = false, mostPerDay, wakeAfterMs = 0 } = dispute;
  const body = { reason };
  const [row] = await sql<(RecordedCommand | { tryNumber: null })[]>`
    WITH waiting AS (
      UPDATE orders SET
        waiting_dispute_id = coalesce(waiting_dispute_id, ${commandId}),
        waiting_dispute_received_at = coalesce(waiting_dispute_received_at, ${receivedAtOf(sql)})
      WHERE order_number = ${orderNumber} AND pending_operation IS NULL
        AND status = ANY(${statusesThatTake('dispute')})
        ${isForBuyer ? sql`` : sql`AND ${disputeLimitOf(sql, sql`orders`)} IS NULL`}
        ${mostPerDay === undefined ? sql`` : sql`AND may_raise_dispute(${actor.name}, ${mostPerDay})`}
        AND NOT EXISTS (SELECT FROM order_steps s
          WHERE s.order_number = orders.order_number AND s.command_id = ${commandId})
      RETURNING order_number, ${receivedAtOf(sql)} AS received_at
    ), wakeups AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT order_number, cause, ${commandId}, service_now() + ${wakeAfterMs} * interval '1 millisecond'
      FROM waiting, unnest('{command,dispute}'::wakeup_cause[]) AS cause
      ON CONFLICT DO NOTHING
    ), inserted AS (
      INSERT INTO order_commands
        (order_number, command_id, try_number, name, body, received_at, ${originColumns(sql)})
      SELECT order_number, ${commandId}, ${triesOf(sql, { orderNumber, commandId })}, 'dispute',
        ${sql.json(body)}, received_at, ${originOf(sql, dispute)}
      FROM waiting
      ON CONFLICT DO NOTHING
      RETURNING try_number, received_at
    )
    SELECT recorded.* FROM waiting
    LEFT JOIN (${insertedOrKept(sql, { orderNumber, commandId, body })}) recorded ON true`;
  if (!row) return undefined;
  // Since this statement began, another request has written the row, or it was refused.
  return row.tryNumber === null ? writeDispute(sql, orderNumber, dispute) : row;
}

export interface NewDispute extends CommandOrigin {
  commandId: string;
  /** True if an operator raises it for the buyer. */
  isForBuyer?: boolean;
  /** How many disputes the actor may raise in 24 hours. No limit if absent. */
  mostPerDay?: number | undefined;
  wakeAfterMs?: number;
}

/** Records a dispute that the order could not take, as a refused command. */
export async function writeRefusedDispute(
  sql: Sql,
  orderNumber: string,
  dispute: NewDispute,
): Promise<void> {
  const { commandId, reason } = dispute;
  await sql`
    INSERT INTO order_commands
      (order_number, command_id, try_number, name, state, body, ${originColumns(sql)})
    VALUES (${orderNumber}, ${commandId}, ${triesOf(sql, { orderNumber, commandId })}, 'dispute',
      'REFUSED', ${sql.json({ reason })}, ${originOf(sql, dispute)})
    -- The same dispute was refused or accepted at the same moment.
    ON CONFLICT DO NOTHING`;
}

/**
 * SQL: the time at which a dispute counts as received. Normally now. While the release cannot begin, because the
 * merchant is not active or the gateway has reversed some of the payment, the window does not end: the time is then
 * at most the last millisecond of the window.
 */
const receivedAtOf = (sql: Sql) => sql`
  (CASE WHEN release_blocked_by(orders) IS NOT NULL
    THEN least(service_now(), orders.completes_at - interval '1 millisecond')
    ELSE service_now() END)`;

/** Marks a command as refused, and clears its waiting dispute. */
export async function refuseCommand(
  sql: Sql,
  { orderNumber, commandId, tryNumber }: CommandRef & { tryNumber: number },
): Promise<void> {
  await sql`
    WITH released AS (
      UPDATE orders SET waiting_dispute_id = NULL, waiting_dispute_received_at = NULL
      WHERE order_number = ${orderNumber} AND waiting_dispute_id = ${commandId}
    ), answered AS (
      DELETE FROM order_wakeups WHERE order_number = ${orderNumber}
        AND cause IN ('command', 'dispute') AND cause_id = ${commandId}
    )
    SELECT end_command(${orderNumber}, ${commandId}, 'REFUSED', ${tryNumber})`;
}

/**
 * Also ends a row that waits although its step is recorded: a restored database had lost the row, the workflow recorded
 * the step again, and the repeat of the command wrote the row afterwards.
 *
 * @returns the order as it is now; undefined if this command was not carried out
 */
export async function findCarriedOut(
  sql: Sql,
  { orderNumber, commandId }: CommandRef,
): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    SELECT o.* FROM orders_with_dispute o JOIN order_steps s USING (order_number)
    WHERE s.order_number = ${orderNumber} AND s.command_id = ${commandId}
      AND (NOT EXISTS (SELECT FROM order_commands c WHERE c.order_number = ${orderNumber}
          AND c.command_id = ${commandId} AND c.state = 'WAITING')
        OR end_command(${orderNumber}, ${commandId}, 'DONE'))`;
  return row;
}
