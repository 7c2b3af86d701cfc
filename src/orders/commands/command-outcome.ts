import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { CommandRef } from './command-queries.ts';

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
 * Marks a command as refused, and clears its waiting dispute.
 *
 * @returns false if the command was carried out meanwhile, by an equal request
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
