import { randomUUID } from 'node:crypto';
import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import type { FoundSettlement, MoveFundsResult } from '../../contracts/activities.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';
import { isBalanceJustRefused } from './balance.ts';
import type { GatewayTransfer } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import type { MoneyLease } from './money-lease.ts';
import { isMoneyFree, leaseColumns } from './money-lease.ts';
import type { Shard } from '../reconcile/shard.ts';
import { inShard } from '../reconcile/shard.ts';

/** An order's payment and the linked account that its money goes to. */
export interface FundsRow extends GatewayRef, PaymentRef {
  orderNumber: string;
  amountPaise: number;
  merchantId: string;
  merchantName: string;
  merchantStatus: string;
  /** The payment's account, whatever account the merchant has now. Null if the merchant had none at the capture. */
  linkedAccountId: string | null;
  /** The number of failed transfers that operators were told about. */
  transferFailures: number;
  /** True if the gateway's fee of its transfer is recorded. */
  hasTransferFee: boolean;
  /** True if a transfer of its payment may have been made. */
  mayBeTransferred: boolean;
}

/** @throws Error if the order has no recorded payment */
export async function findFunds(sql: Sql, orderNumber: string): Promise<FundsRow> {
  const [row] = await sql<FundsRow[]>`
    SELECT o.order_number, o.gateway, o.environment, o.amount_paise, o.gateway_payment_id,
      o.merchant_id, m.name AS merchant_name, m.status AS merchant_status,
      p.linked_account_id, p.transfer_failures,
      p.transfer_fee_paise IS NOT NULL AS has_transfer_fee,
      p.hold_started_at IS NOT NULL AS may_be_transferred
    FROM shared.orders o JOIN shared.merchants m USING (merchant_id)
    JOIN payments p ON p.gateway = o.gateway AND p.gateway_payment_id = o.gateway_payment_id
    WHERE o.order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no payment`);
  return row;
}

/**
 * Stores the merchant's present account with a payment of a merchant that had none at the capture.
 *
 * @returns the payment's account; null if the merchant still has none
 */
export async function freezeLinkedAccount(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<string | null> {
  const [row] = await sql<{ linkedAccountId: string | null }[]>`
    UPDATE payments p SET linked_account_id = coalesce(p.linked_account_id, (
      SELECT a.linked_account_id
      FROM shared.orders o, active_linked_account(o.merchant_id, o.environment, o.gateway) a
      WHERE o.order_number = p.order_number))
    WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
    RETURNING p.linked_account_id`;
  return row?.linkedAccountId ?? null;
}

/** Records the account that a gateway has made for a merchant, unless the merchant has one. */
export async function saveLinkedAccount(
  sql: Sql,
  merchantId: string,
  { gateway, environment }: GatewayRef,
  linkedAccountId: string,
): Promise<void> {
  const account = { gateway, linkedAccountId, state: 'unknown', transfersFrom: new Date(0) };
  await sql`
    SELECT set_linked_account(${merchantId}, ${environment},
      ${jsonRow(sql, { ...account, checkAgainMs: 0 })}, 0, NULL)
    WHERE NOT EXISTS (SELECT FROM active_linked_account(${merchantId}, ${environment}, ${gateway}))`;
}

/** SQL: payment `p` has no reversals, and no refusal of its hold within the last hour except because of the balance. */
const mayBeHeld = (sql: Sql) => sql`
  (p.hold_refused_at IS NULL OR p.hold_refused_at < service_now() - interval '1 hour'
    OR (p.balance_refused_at IS NOT NULL AND NOT ${isBalanceJustRefused(sql)}))
    AND NOT is_reversed(p.gateway, p.gateway_payment_id)`;

/**
 * Finds payments of orders whose funds should be held at the gateway but are not, those tried longest ago first.
 *
 * @param untriedForMs excludes payments that were tried within this time or are being tried
 */
export async function findUnheldPayments(
  sql: Sql,
  { limit, untriedForMs, shard }: { limit: number; untriedForMs: number; shard: Shard },
): Promise<{ orderNumber: string }[]> {
  return sql<{ orderNumber: string }[]>`
    SELECT o.order_number FROM payments p
    JOIN shared.orders o USING (order_number)
    WHERE o.gateway = p.gateway AND o.gateway_payment_id = p.gateway_payment_id
      AND p.held_at IS NULL AND o.pending_operation IS NULL
      AND o.status = ANY(${HOLDING_STATUSES}) AND ${mayBeHeld(sql)} AND ${isMoneyFree(sql)}
      AND (p.hold_started_at IS NULL
        OR p.hold_started_at < clock_timestamp() - ${untriedForMs} * interval '1 millisecond')
      AND ${inShard(sql, sql`o.order_number`, shard)}
    ORDER BY p.hold_started_at NULLS FIRST LIMIT ${limit}`;
}

/**
 * Takes the money lease of an order's payment to hold its funds at the gateway. It locks the order's row: a release
 * or refund that starts afterwards waits for the lease, and after one has started no hold is claimed.
 *
 * @returns null when the funds are held or being moved, their release or refund has started, or the gateway refused
 * within the last hour
 */
export async function claimHold(sql: Sql, orderNumber: string): Promise<MoneyLease | null> {
  const token = randomUUID();
  const [row] = await sql<PaymentRef[]>`
    WITH locked AS (
      SELECT gateway, gateway_payment_id FROM shared.orders
      WHERE order_number = ${orderNumber} AND pending_operation IS NULL
        AND status = ANY(${HOLDING_STATUSES})
      FOR NO KEY UPDATE
    )
    UPDATE payments p SET hold_started_at = clock_timestamp(), ${leaseColumns(sql, token)}
    FROM locked l
    WHERE p.gateway = l.gateway AND p.gateway_payment_id = l.gateway_payment_id
      AND p.held_at IS NULL
      AND ${mayBeHeld(sql)} AND ${isMoneyFree(sql)}
    RETURNING p.gateway, p.gateway_payment_id`;
  return row ? { ...row, token } : null;
}

/** Records that the gateway holds the funds, and their transfer. */
export async function markHeld(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  { transferId, feePaise }: GatewayTransfer,
): Promise<void> {
  await sql`
    WITH locked AS MATERIALIZED (SELECT lock_order_of(${gateway}, ${gatewayPaymentId})), held AS (
      UPDATE payments p
      SET held_at = service_now(), gateway_transfer_id = ${transferId}, balance_refused_at = NULL,
        transfer_fee_paise = coalesce(transfer_fee_paise, ${feePaise})
      FROM locked WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      RETURNING p
    )
    SELECT book_fees(p) FROM held`;
}

/** Books the gateway's transfer or refund that has moved a payment's money: see the SQL function `book_movement`. */
export async function bookMovement(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  operation: 'release' | 'refund',
  { movementId, amountPaise }: { movementId: string; amountPaise: number },
): Promise<void> {
  await sql`
    SELECT book_movement(${gateway}, ${gatewayPaymentId}, ${operation}, ${movementId}, ${amountPaise})`;
}

/** Records that refunds of a payment by this service have failed: none of them is to be booked. */
export async function forgetRefunds(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  failed: readonly { reversalId: string }[],
): Promise<void> {
  await sql`
    UPDATE payments SET gateway_refund_paise = NULL
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND gateway_refund_id = ANY (${failed.map(({ reversalId }) => reversalId)})`;
}

/**
 * Reads how the release or refund of an order has ended, of which its workflow may not know yet.
 *
 * @returns undefined if the money has not moved, or the refund has failed, and no operator has settled the order
 */
export async function findMoved(
  sql: Sql,
  orderNumber: string,
  operation: 'release' | 'refund',
): Promise<MoveFundsResult | undefined> {
  const [row] = await sql<{ isMoved: boolean | null; settlement: FoundSettlement | null }[]>`
    SELECT last_movement_of(o.gateway, o.gateway_payment_id) = ${operation} AS is_moved,
      settlement_of(o.order_number) AS settlement
    FROM shared.orders o WHERE o.order_number = ${orderNumber}`;
  if (row?.settlement) return { outcome: 'settled', settlement: row.settlement };
  return row?.isMoved === true ? { outcome: 'moved' } : undefined;
}

/** Records that the gateway refused the hold. The service tries again after an hour, or sooner if it lacks balance. */
export async function markHoldRefused(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<void> {
  await sql`
    UPDATE payments SET hold_refused_at = service_now()
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}`;
}

/** Records the number of failed transfers of a payment. Its funds are then not held. */
export async function writeTransferFailures(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  failures: number,
): Promise<void> {
  await sql`
    UPDATE payments SET transfer_failures = greatest(transfer_failures, ${failures}), held_at = NULL
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}`;
}

/**
 * Lets the hold of a payment be checked again, because the gateway reports a transfer of it.
 *
 * @returns the order whose funds should be held; undefined if they are held and no transfer has failed, if no order
 * holds the payment, or if it may not be held now
 */
export async function reopenHold(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  hasFailed: boolean,
): Promise<string | undefined> {
  const [row] = await sql<{ orderNumber: string }[]>`
    UPDATE payments p SET held_at = NULL
    FROM shared.orders o
    WHERE o.order_number = p.order_number AND p.gateway = ${gateway}
      AND p.gateway_payment_id = ${gatewayPaymentId}
      AND o.gateway_payment_id = p.gateway_payment_id AND (${hasFailed} OR p.held_at IS NULL)
      AND o.status = ANY(${HOLDING_STATUSES}) AND o.pending_operation IS NULL
      AND ${mayBeHeld(sql)}
    RETURNING p.order_number`;
  return row?.orderNumber;
}

/** Finds the order to whose merchant a payment was released with this transfer. */
export async function findReleased(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  transferId: string,
): Promise<string | undefined> {
  const [row] = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM payments
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND gateway_transfer_id = ${transferId}
      AND last_movement_of(gateway, gateway_payment_id) = 'release'`;
  return row?.orderNumber;
}

/** True if an order's funds should be held, and the gateway refused or failed to hold them. */
export async function isHoldRefused(sql: Sql, orderNumber: string): Promise<boolean> {
  const rows = await sql`
    SELECT FROM shared.orders o JOIN payments p USING (gateway, gateway_payment_id)
    WHERE o.order_number = ${orderNumber} AND o.status = ANY(${HOLDING_STATUSES})
      AND p.held_at IS NULL AND p.hold_refused_at IS NOT NULL`;
  return rows.length > 0;
}
