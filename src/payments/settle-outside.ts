import { clearAlert } from '../alerts/alerts.ts';
import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import type { Settlement } from '../domain/index.ts';
import { DomainError, isFinal, REFUSALS, statusesThatTake } from '../domain/index.ts';
import type { OrderRow } from '../orders/public.ts';
import { findCarriedOut, findOrderByNumber } from '../orders/public.ts';
import { paymentSubject } from './gateways.ts';
import { findUnprocessedSurplus, finishSurplus } from './queries.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';

/** The settlement is recorded, but the order was not notified. */
export class OrderNotNotifiedError extends Error {
  override readonly name = 'OrderNotNotifiedError';
}

/** What settling an order needs. */
export interface SettleOutsideDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  /** The operator, for the audit log. */
  actor: Actor;
}

/** An operator's statement of where an order's money is. */
export interface OutsideSettlement {
  orderNumber: string;
  /** Decides the order's final status and event. Default: that of the pending operation. */
  outcome?: Settlement | undefined;
  /** The reference of the bank transfer, for example its UTR; absent if there was none. */
  reference?: string | undefined;
  reason: string;
}

const NOT_SEEN_BY_WORKFLOW =
  'The order was finished before it received this settlement: check that the gateway has not moved its money too';

/**
 * Records that an order's money counts as released or refunded, and finishes the order. It is for
 * orders whose release or refund was made outside the gateway, or whose payment was reversed at the
 * gateway itself. If this process dies after writing the row, the sweep wakes the order; a
 * repeat of the command with the same reference notifies it immediately.
 *
 * @returns the order, and a warning when it was finished before it received the settlement
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE` unless the order is
 *   releasing or refunding its money or part of it was reversed, or when another settlement is
 *   recorded
 * @throws OrderNotNotifiedError when the row is written, but the order could not be notified
 */
export async function settleOutside(
  deps: SettleOutsideDeps,
  settlement: OutsideSettlement,
): Promise<{ order: OrderRow; warning: string | null }> {
  const { orderNumber } = settlement;
  const outcome = await writeSettlement(deps, settlement);
  if (outcome === 'surplus') {
    return { order: await findOrderByNumber(deps.sql, orderNumber), warning: null };
  }
  const commandId = `settle:${orderNumber}`;
  const isNotified = await notifyOrder(deps, orderNumber, { commandId, outcome });
  const order = await findOrderByNumber(deps.sql, orderNumber);
  const isUsed = isNotified || (await isFinishedBy(deps.sql, orderNumber, commandId));
  if (isUsed) await clearAlerts(deps, orderNumber);
  return { order, warning: isUsed ? null : NOT_SEEN_BY_WORKFLOW };
}

/** Nothing about this order's money needs an operator after the settlement. */
async function clearAlerts({ sql, actor }: SettleOutsideDeps, orderNumber: string): Promise<void> {
  const kinds = [
    'gateway_refused',
    'refunded_at_gateway',
    'charged_back',
    'release_blocked',
  ] as const;
  for (const kind of kinds) await clearAlert(sql, kind, orderNumber, actor.name);
}

/**
 * Reads how an operator has settled an order, for an order that moves its money before it is
 * notified, and records that the order found it.
 *
 * @returns null when no operator has settled the order
 */
export async function findSettlement(sql: Sql, orderNumber: string): Promise<Settlement | null> {
  const [row] = await sql<{ outcome: Settlement }[]>`
    UPDATE outside_settlements SET found_at = coalesce(found_at, service_now())
    WHERE order_number = ${orderNumber} RETURNING outcome`;
  return row?.outcome ?? null;
}

/** True when this settlement finished the order: it found the row or carried out the command. */
async function isFinishedBy(sql: Sql, orderNumber: string, commandId: string): Promise<boolean> {
  const [row] = await sql<{ isFound: boolean }[]>`
    SELECT found_at IS NOT NULL AS is_found FROM outside_settlements
    WHERE order_number = ${orderNumber}`;
  return (
    row?.isFound === true || (await findCarriedOut(sql, { orderNumber, commandId })) !== undefined
  );
}

/** @returns false when the order already has a final status. @throws OrderNotNotifiedError */
async function notifyOrder(
  { sql, workflows }: SettleOutsideDeps,
  orderNumber: string,
  settled: { commandId: string; outcome: Settlement },
): Promise<boolean> {
  const failed = async (cause: unknown): Promise<false> => {
    const { status } = await findOrderByNumber(sql, orderNumber);
    if (isFinal(status)) return false;
    const message = `The settlement is recorded, but order ${orderNumber} could not be notified: run the command again`;
    throw new OrderNotNotifiedError(message, { cause });
  };
  try {
    const outcome = await workflows.update(orderNumber, 'settle', settled);
    return outcome === 'done' || (await failed(outcome));
  } catch (error) {
    return failed(error);
  }
}

/**
 * Records the settlement in one statement on the order's locked row, only if the order is releasing
 * or refunding, or part of its payment was or may be reversed at the gateway.
 *
 * @returns how the order's money was settled, or `surplus` for captures that it could not take
 */
async function writeSettlement(
  deps: SettleOutsideDeps,
  settlement: OutsideSettlement,
): Promise<Settlement | 'surplus'> {
  const { sql, actor } = deps;
  const { orderNumber, outcome: asked = null, reference = null, reason } = settlement;
  assertTexts(settlement);
  const [row] = await sql<SettledRow[]>`
    WITH locked AS MATERIALIZED (
      SELECT order_number, merchant_id, status, pending_operation, coalesce(${asked}, CASE pending_operation->>'kind'
          WHEN 'releasing' THEN 'released' WHEN 'refunding' THEN 'refunded' END) AS outcome,
        is_reversed(o) AS is_reversed
      FROM orders o WHERE order_number = ${orderNumber} FOR UPDATE
    ), settled AS (
      INSERT INTO outside_settlements (order_number, outcome, reference, reason, actor)
      SELECT order_number, outcome, ${reference}, ${reason}, ${actor.name} FROM locked
      WHERE outcome IS NOT NULL AND (pending_operation->>'kind' IN ('releasing', 'refunding')
        OR (pending_operation IS NULL AND is_reversed AND status::text = ANY(CASE outcome
          WHEN 'released' THEN ${statusesThatTake('settleReleased')}::text[]
          ELSE ${statusesThatTake('settleRefunded')}::text[] END)))
      ON CONFLICT DO NOTHING
      RETURNING order_number, outcome
    ), wakeup AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT order_number, 'command', 'settle:' || order_number, service_now() FROM settled
      ON CONFLICT DO NOTHING
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'order.settle', merchant_id, order_number,
        jsonb_strip_nulls(jsonb_build_object('outcome', s.outcome, 'reference', ${reference}::text,
          'reason', ${reason}::text))
      FROM locked JOIN settled s USING (order_number)
    )
    SELECT n.outcome AS settled_as, s.reference AS earlier_reference, s.outcome AS earlier_outcome
    FROM locked l LEFT JOIN settled n USING (order_number)
    LEFT JOIN outside_settlements s USING (order_number)`;
  if (!row) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  if (row.settledAs !== null) return row.settledAs;
  if (isRepeated(row, settlement)) return row.earlierOutcome;
  if (asked !== 'released' && (await settleSurplus(deps, settlement))) return 'surplus';
  throw notSettled(row, settlement);
}

interface SettledRow {
  settledAs: Settlement | null;
  earlierOutcome: Settlement | null;
  earlierReference: string | null;
}

function assertTexts({ reference, reason }: OutsideSettlement): void {
  if (reference !== undefined && (reference.trim() === '' || reference.length > 200)) {
    throw new DomainError('BAD_REQUEST', 'The reference must be 1 to 200 characters and not blank');
  }
  if (reason.trim() === '' || reason.length > 1000) {
    throw new DomainError('BAD_REQUEST', 'The reason must be 1 to 1000 characters and not blank');
  }
}

function isRepeated(
  row: SettledRow,
  { outcome, reference }: OutsideSettlement,
): row is SettledRow & { earlierOutcome: Settlement } {
  const { earlierOutcome: earlier, earlierReference } = row;
  const isSameWay = outcome === undefined || outcome === earlier;
  return earlier !== null && isSameWay && earlierReference === (reference ?? null);
}

function notSettled(
  { earlierOutcome: earlier, earlierReference: reference }: SettledRow,
  { orderNumber }: OutsideSettlement,
): DomainError {
  if (earlier === null) return new DomainError('INVALID_STATE', REFUSALS.settleRefunded);
  const how = reference === null ? `as ${earlier}` : `with reference ${reference}`;
  const message = `Order ${orderNumber} is settled outside already, ${how}`;
  return new DomainError('INVALID_STATE', message);
}

/** @returns false when no surplus capture of the order waits for its refund */
async function settleSurplus(
  { sql, actor }: SettleOutsideDeps,
  { orderNumber, reference, reason }: OutsideSettlement,
): Promise<boolean> {
  const waiting = await findUnprocessedSurplus(sql, orderNumber);
  for (const surplus of waiting) {
    const subject = paymentSubject(surplus);
    const details = { orderNumber, reason, ...(reference !== undefined && { reference }) };
    await sql`
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      VALUES (${actor.name}, ${actor.address}, 'surplus.settle', ${surplus.merchantId}, ${subject}, ${sql.json(details)})`;
    // The next attempt of the refund finds it finished and does not call the gateway.
    await finishSurplus(sql, surplus, { isSettled: true });
  }
  return waiting.length > 0;
}
