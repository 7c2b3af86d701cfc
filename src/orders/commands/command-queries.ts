import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import { statusesThatTake } from '../../domain/index.ts';
import { disputeLimitOf } from '../steps/disputes.ts';
import type { OrderRow, CommandBody } from '../rows.ts';

/** Whether a command is a repeat. */
export interface ReplayState {
  /** The command was recorded before, and not refused. */
  replayed: boolean;
  /** It was recorded with another body: the first body is used. */
  mismatch: boolean;
}

/** A recorded command. */
export interface RecordedCommand extends ReplayState {
  /** How often it was refused before. */
  tryNumber: number;
}

/** Who gave a command, and why: the columns `actor` and `reason` of the table. */
export interface CommandOrigin {
  actor: string;
  reason: string;
}

/** A command to record. */
export interface NewCommand {
  /** When its order is woken unless an Update of it has returned by then, in milliseconds. */
  wakeAfterMs?: number;
  orderNumber: string;
  commandId: string;
  name: OrderMessageName;
  body: CommandBody;
  origin?: CommandOrigin;
}

/**
 * Records a command before the workflow receives its message. A repeat keeps the first row, unless that
 * was refused: then the repeat is a command of its own.
 */
export async function writeCommand(sql: Sql, command: NewCommand): Promise<RecordedCommand> {
  const { orderNumber, commandId, name, body, origin, wakeAfterMs } = command;
  const { actor = null, reason = null } = origin ?? {};
  // A command whose step is recorded keeps the line that it has: the workflow may lack the step.
  const wakeup = sql`
    WITH wakeup AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT ${orderNumber}, 'command', ${commandId},
        service_now() + ${wakeAfterMs ?? 0} * interval '1 millisecond'
      WHERE NOT EXISTS (SELECT FROM order_steps
        WHERE order_number = ${orderNumber} AND command_id = ${commandId})
      ON CONFLICT DO NOTHING
    )`;
  // `xmax` is 0 in a row that this statement inserted, and not 0 in one that it updated.
  const [{ isRefused, ...recorded }] = await sql<[RecordedCommand & { isRefused: boolean }]>`
    ${wakeAfterMs === undefined ? sql`` : wakeup}
    INSERT INTO order_commands AS kept (order_number, command_id, try_number, name, body, actor, reason)
    VALUES (${orderNumber}, ${commandId}, ${triesOf(sql, { orderNumber, commandId })}, ${name},
      ${sql.json(body)}, ${actor}, ${reason})
    ON CONFLICT (order_number, command_id, try_number) DO UPDATE SET body = kept.body
    RETURNING kept.try_number, kept.state = 'REFUSED' AS is_refused, kept.xmax <> 0 AS replayed,
      kept.body <> ${sql.json(body)} AND NOT EXISTS (SELECT FROM orders o
        WHERE o.order_number = kept.order_number AND o.erased_at IS NOT NULL) AS mismatch`;
  // It was refused since this statement began.
  return isRefused ? writeCommand(sql, command) : recorded;
}

/** How often a command was refused: the number of its next try. */
const triesOf = (sql: Sql, { orderNumber, commandId }: CommandRef) => sql`
  (SELECT count(*) FROM order_commands r WHERE r.order_number = ${orderNumber}
    AND r.command_id = ${commandId} AND r.state = 'REFUSED')`;

/** A command of one order: its row in `order_commands`, and its step once it was carried out. */
export interface CommandRef {
  orderNumber: string;
  commandId: string;
}

/** @returns true when this command was recorded with another body; false once the bodies are erased */
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
 * Records a buyer's dispute and marks on the order's row that it waits, in one statement. The dispute
 * is valid if this statement locks the row before the release or a refund starts.
 *
 * @param dispute.operator who raises it for the buyer, for the audit log
 * @returns the time of receipt by the database's clock, or `undefined` when the order cannot take a
 *   dispute now or has a step for this one
 */
export async function writeDispute(
  sql: Sql,
  orderNumber: string,
  dispute: {
    commandId: string;
    reason: string;
    operator?: Actor | undefined;
    wakeAfterMs?: number;
  },
): Promise<(RecordedCommand & { receivedAt: Date }) | undefined> {
  const { commandId, reason, operator, wakeAfterMs = 0 } = dispute;
  const audited = sql`, audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${operator?.name ?? ''}, ${operator?.address ?? null}, 'dispute.raise', merchant_id, order_number, ${sql.json({ commandId })}
      FROM waiting
    )`;
  const reached = disputeLimitOf(sql, sql`orders`);
  // An operator may raise one after a decision for the merchant.
  const limit = operator === undefined ? reached : sql`nullif(${reached}, 'decided')`;
  const [row] = await sql<(RecordedCommand & { receivedAt: Date; isRefused: boolean })[]>`
    WITH waiting AS (
      UPDATE orders SET
        waiting_dispute_id = coalesce(waiting_dispute_id, ${commandId}),
        waiting_dispute_received_at = coalesce(waiting_dispute_received_at, ${receivedAtOf(sql)})
      WHERE order_number = ${orderNumber} AND pending_operation IS NULL
        AND status = ANY(${statusesThatTake('dispute')})
        AND ${limit} IS NULL
        AND NOT EXISTS (SELECT FROM order_steps s
          WHERE s.order_number = orders.order_number AND s.command_id = ${commandId})
      RETURNING order_number, merchant_id, ${receivedAtOf(sql)} AS received_at
    ), wakeups AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT order_number, cause, ${commandId}, service_now() + ${wakeAfterMs} * interval '1 millisecond'
      FROM waiting, unnest('{command,dispute}'::wakeup_cause[]) AS cause
      ON CONFLICT DO NOTHING
    )${operator === undefined ? sql`` : audited}
    INSERT INTO order_commands AS kept
      (order_number, command_id, try_number, name, body, actor, received_at)
    SELECT order_number, ${commandId}, ${triesOf(sql, { orderNumber, commandId })}, 'dispute',
      ${sql.json({ reason })}, ${operator?.name ?? null}, received_at
    FROM waiting
    ON CONFLICT (order_number, command_id, try_number) DO UPDATE SET body = kept.body
    RETURNING received_at, kept.try_number, kept.state = 'REFUSED' AS is_refused,
      kept.xmax <> 0 AS replayed, kept.body <> ${sql.json({ reason })} AS mismatch`;
  if (!row) return undefined;
  const { isRefused, ...recorded } = row;
  return isRefused ? writeDispute(sql, orderNumber, dispute) : recorded;
}

/**
 * The time at which a dispute counts as received: now. The window does not end while the release cannot
 * begin, because the merchant is not approved or the gateway has reversed some of the payment: the time
 * is then at most the last millisecond of the window.
 */
const receivedAtOf = (sql: Sql) => sql`
  (CASE WHEN is_reversed(orders) OR NOT EXISTS (SELECT FROM merchants m
      WHERE m.merchant_id = orders.merchant_id AND m.status = 'APPROVED')
    THEN least(service_now(), orders.completes_at - interval '1 millisecond')
    ELSE service_now() END)`;

/** Marks a command as refused, and clears the dispute that waited with it. */
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
    UPDATE order_commands SET state = 'REFUSED'
    WHERE order_number = ${orderNumber} AND command_id = ${commandId}
      AND try_number = ${tryNumber} AND state = 'WAITING'`;
}

/** @returns the order as it is now; undefined unless this command was carried out */
export async function findCarriedOut(
  sql: Sql,
  { orderNumber, commandId }: CommandRef,
): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    SELECT o.* FROM orders_with_dispute o JOIN order_steps s USING (order_number)
    WHERE s.order_number = ${orderNumber} AND s.command_id = ${commandId}`;
  return row;
}
