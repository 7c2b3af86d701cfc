import type { Sql } from '../db/client.ts';
import { DomainError, isFinal, REFUSALS } from '../domain/index.ts';
import type { OrderRow } from '../orders/queries.ts';
import { findCarriedOut, findOrderByNumber } from '../orders/queries.ts';
import { findUnprocessedSurplus, finishSurplus } from './queries.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';

/** The settlement is written, but the order has not heard of it yet. */
export class NotToldError extends Error {
  override readonly name = 'NotToldError';
}

export interface SettleOutsideDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  actor: string;
}

/** What an operator did by hand, after the gateway had refused for good. */
export interface OutsideSettlement {
  orderNumber: string;
  /** Of the bank transfer, for example its UTR. */
  reference: string;
  reason: string;
}

const NOT_SEEN_BY_WORKFLOW =
  'The order was finished before it heard of this settlement: check that the gateway has not moved its money too';

/**
 * Records that an order's release or refund was made outside the gateway, and finishes the order.
 * The row is what counts: should this process die after writing it, the order finds it with its
 * next try, within the hour, and a repeat with the same reference tells the order at once.
 *
 * @returns the order, and a warning when it was finished while this was being recorded
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE` unless the order is
 *   releasing or refunding its money, or when another settlement is recorded for it
 * @throws NotToldError when the row is written, and Temporal did not answer
 */
export async function settleOutside(
  deps: SettleOutsideDeps,
  settlement: OutsideSettlement,
): Promise<{ order: OrderRow; warning: string | null }> {
  const { orderNumber } = settlement;
  if ((await writeSettlement(deps, settlement)) === 'surplus') {
    return { order: await findOrderByNumber(deps.sql, orderNumber), warning: null };
  }
  const requestId = `settle:${orderNumber}`;
  const isTold = await tellOrder(deps, orderNumber, requestId);
  const order = await findOrderByNumber(deps.sql, orderNumber);
  const isUsed = isTold || (await isFinishedBy(deps.sql, orderNumber, requestId));
  return { order, warning: isUsed ? null : NOT_SEEN_BY_WORKFLOW };
}

/** The order has come upon its settlement before anybody told it: nothing is left to move. */
export async function findSettlement(sql: Sql, orderNumber: string): Promise<void> {
  await sql`
    UPDATE outside_settlements SET found_at = service_now()
    WHERE order_number = ${orderNumber} AND found_at IS NULL`;
}

/** True when the order was finished by this settlement: told of it before, or having found it. */
async function isFinishedBy(sql: Sql, orderNumber: string, requestId: string): Promise<boolean> {
  const [row] = await sql<{ is_found: boolean }[]>`
    SELECT found_at IS NOT NULL AS is_found FROM outside_settlements
    WHERE order_number = ${orderNumber}`;
  return (
    row?.is_found === true || (await findCarriedOut(sql, orderNumber, requestId)) !== undefined
  );
}

/** @returns false when the order was over already: settling is the only way that it was on */
async function tellOrder(
  { sql, workflows }: SettleOutsideDeps,
  orderNumber: string,
  requestId: string,
): Promise<boolean> {
  const failed = async (cause: unknown): Promise<false> => {
    const { status } = await findOrderByNumber(sql, orderNumber);
    if (isFinal(status)) return false;
    const message = `The settlement is recorded, but order ${orderNumber} could not be told: run the command again`;
    throw new NotToldError(message, { cause });
  };
  try {
    const outcome = await workflows.update(orderNumber, 'settle', { requestId });
    return outcome === 'done' || (await failed(outcome));
  } catch (error) {
    return failed(error);
  }
}

/**
 * One statement on the order's locked row: it is releasing or refunding when this is written.
 *
 * @returns what was settled: the order's own money, or captures that the order could not take
 */
async function writeSettlement(
  deps: SettleOutsideDeps,
  settlement: OutsideSettlement,
): Promise<'order' | 'surplus'> {
  const { sql, actor } = deps;
  const { orderNumber, reference, reason } = settlement;
  if (reference.trim() === '' || reference.length > 200) {
    throw new DomainError('BAD_REQUEST', 'The reference must be 1 to 200 characters and not blank');
  }
  if (reason.trim() === '' || reason.length > 1000) {
    throw new DomainError('BAD_REQUEST', 'The reason must be 1 to 1000 characters and not blank');
  }
  const [row] = await sql<{ is_new: boolean; earlier_reference: string | null }[]>`
    WITH locked AS MATERIALIZED (
      SELECT order_number, merchant_id, busy FROM orders
      WHERE order_number = ${orderNumber} FOR UPDATE
    ), settled AS (
      INSERT INTO outside_settlements (order_number, reference, reason, actor)
      SELECT order_number, ${reference}, ${reason}, ${actor} FROM locked
      WHERE busy->>'kind' IN ('releasing', 'refunding')
      ON CONFLICT DO NOTHING
      RETURNING order_number
    ), audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, subject, details)
      SELECT ${actor}, 'order.settle', merchant_id, order_number, ${sql.json({ reference, reason })}
      FROM locked JOIN settled USING (order_number)
    )
    SELECT EXISTS (SELECT FROM settled) AS is_new, s.reference AS earlier_reference
    FROM locked LEFT JOIN outside_settlements s USING (order_number)`;
  if (!row) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  if (row.is_new || row.earlier_reference === reference) return 'order';
  if (await settleSurplus(deps, settlement)) return 'surplus';
  if (row.earlier_reference === null) throw new DomainError('INVALID_STATE', REFUSALS.settle);
  const message = `Order ${orderNumber} is settled outside already, with reference ${row.earlier_reference}`;
  throw new DomainError('INVALID_STATE', message);
}

/** @returns false when nothing of the order's surplus waits to be given back */
async function settleSurplus(
  { sql, actor }: SettleOutsideDeps,
  { orderNumber, reference, reason }: OutsideSettlement,
): Promise<boolean> {
  const waiting = await findUnprocessedSurplus(sql, orderNumber);
  for (const { gateway_payment_id: gatewayPaymentId, merchant_id } of waiting) {
    const details = { orderNumber, reference, reason };
    await sql`
      INSERT INTO audit_log (actor, action, merchant_id, subject, details)
      VALUES (${actor}, 'surplus.settle', ${merchant_id}, ${gatewayPaymentId}, ${sql.json(details)})`;
    // The refund's next try finds it done, and asks the gateway for nothing.
    await finishSurplus(sql, gatewayPaymentId);
  }
  return waiting.length > 0;
}
