import type { Sql } from '../db/client.ts';
import { statusesThatTake } from '../domain/index.ts';
import type { OrderRow, CommandBody } from './rows.ts';

/** Whether a request came before, and with another body: the first one's counts. */
export interface KnownCommand {
  replayed: boolean;
  mismatch: boolean;
}

/** Who asks, and why: see the table. */
export interface Responsible {
  actor: string;
  reason: string;
}

/** A request to be recorded. */
export interface NewCommand {
  orderNumber: string;
  commandId: string;
  body: CommandBody;
  responsible?: Responsible;
}

/** Records a request before the workflow receives its message. A repeat leaves the first one's row. */
export async function writeCommand(
  sql: Sql,
  { orderNumber, commandId, body, responsible }: NewCommand,
): Promise<KnownCommand> {
  const { actor = null, reason = null } = responsible ?? {};
  // A row that this very statement has inserted has no xmax.
  const [row] = await sql<[KnownCommand]>`
    INSERT INTO order_commands AS kept (order_number, command_id, body, actor, reason)
    VALUES (${orderNumber}, ${commandId}, ${sql.json(body)}, ${actor}, ${reason})
    ON CONFLICT (order_number, command_id) DO UPDATE SET body = kept.body
    RETURNING kept.xmax <> 0 AS replayed, kept.body <> ${sql.json(body)} AS mismatch`;
  return row;
}

/** True when this request was carried out with another body. */
export async function isMismatch(
  sql: Sql,
  orderNumber: string,
  commandId: string,
  body: CommandBody,
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM order_commands
    WHERE order_number = ${orderNumber} AND command_id = ${commandId}
      AND body <> ${sql.json(body)}`;
  return rows.length > 0;
}

/**
 * Writes a buyer's dispute down and lets the order know that it waits, in one statement: whatever
 * locks the order's row first, this or the start of settling, decides whether it counts.
 *
 * @param dispute.operator who raises it for the buyer, for the audit
 * @returns the database's time of receipt, or `undefined` when the order cannot take a dispute now,
 *   or has taken this one
 */
export async function writeDispute(
  sql: Sql,
  orderNumber: string,
  dispute: { commandId: string; reason: string; operator?: string | undefined },
): Promise<(KnownCommand & { receivedAt: Date }) | undefined> {
  const { commandId, reason, operator } = dispute;
  const audited = sql`, audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, subject, details)
      SELECT ${operator ?? ''}, 'dispute.raise', merchant_id, order_number, ${sql.json({ commandId })}
      FROM waiting
    )`;
  const [row] = await sql<(KnownCommand & { receivedAt: Date })[]>`
    WITH waiting AS (
      UPDATE orders SET
        waiting_dispute_id = coalesce(waiting_dispute_id, ${commandId}),
        waiting_dispute_received_at = coalesce(waiting_dispute_received_at, ${countsFrom(sql)})
      WHERE order_number = ${orderNumber} AND pending_operation IS NULL
        AND status = ANY(${statusesThatTake('dispute')})
        AND NOT EXISTS (SELECT FROM order_steps s
          WHERE s.order_number = orders.order_number AND s.command_id = ${commandId})
      RETURNING order_number, merchant_id, ${countsFrom(sql)} AS received_at
    )${operator === undefined ? sql`` : audited}
    INSERT INTO order_commands AS kept (order_number, command_id, body, received_at)
    SELECT order_number, ${commandId}, ${sql.json({ reason })}, received_at FROM waiting
    ON CONFLICT (order_number, command_id) DO UPDATE SET body = kept.body
    RETURNING received_at, kept.xmax <> 0 AS replayed,
      kept.body <> ${sql.json({ reason })} AS mismatch`;
  return row;
}

/**
 * When a dispute of an order counts as received: now. While the release cannot begin, because the
 * merchant is not active or some of the payment has left at the gateway, the window does not end.
 */
const countsFrom = (sql: Sql) => sql`
  (CASE WHEN is_reversed(orders) OR NOT EXISTS (SELECT FROM merchants m
      WHERE m.merchant_id = orders.merchant_id AND m.status = 'APPROVED')
    THEN least(service_now(), orders.completes_at - interval '1 millisecond')
    ELSE service_now() END)`;

/** Forgets what a refused request said, and the dispute that waited with it. */
export async function removeCommand(
  sql: Sql,
  orderNumber: string,
  commandId: string,
): Promise<void> {
  await sql`
    WITH released AS (
      UPDATE orders SET waiting_dispute_id = NULL, waiting_dispute_received_at = NULL
      WHERE order_number = ${orderNumber} AND waiting_dispute_id = ${commandId}
    )
    DELETE FROM order_commands r
    WHERE order_number = ${orderNumber} AND command_id = ${commandId}
      AND NOT EXISTS (
        SELECT FROM order_steps s
        WHERE s.order_number = r.order_number AND s.command_id = r.command_id
      )`;
}

/** The order as it stands now, if this request was carried out. */
export async function findCarriedOut(
  sql: Sql,
  orderNumber: string,
  commandId: string,
): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    SELECT o.* FROM orders o JOIN order_steps s USING (order_number)
    WHERE s.order_number = ${orderNumber} AND s.command_id = ${commandId}`;
  return row;
}

/**
 * The same, after the workflow has answered the Update: it has the steps up to this request, which are
 * marked as acknowledged.
 */
export async function acknowledgeCommand(
  sql: Sql,
  orderNumber: string,
  commandId: string,
): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    WITH answered AS (
      SELECT order_number, step_number FROM order_steps
      WHERE order_number = ${orderNumber} AND command_id = ${commandId}
    ), acknowledged AS (
      UPDATE order_steps s SET unacknowledged = false FROM answered a
      WHERE s.order_number = ${orderNumber} AND s.unacknowledged AND s.step_number <= a.step_number
    )
    SELECT o.* FROM orders o JOIN answered USING (order_number)`;
  return row;
}
