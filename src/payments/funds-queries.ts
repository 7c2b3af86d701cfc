import type { Sql } from '../db/client.ts';
import type { PaymentRef } from '../contracts/ids.ts';
import { HOLDING_STATUSES } from '../domain/index.ts';
import type { OrderGateway } from './gateways.ts';
import type { MoneyLease } from './money-lease.ts';
import { isMoneyFree, newMoneyToken, takenLease } from './money-lease.ts';
import type { Shard } from './shard.ts';
import { inShard } from './shard.ts';

/** How the money of an order can be moved: its payment, and who gets it. */
export interface FundsRow extends OrderGateway, PaymentRef {
  orderNumber: string;
  amountPaise: number;
  merchantId: string;
  merchantName: string;
  merchantEmail: string;
  merchantStatus: string;
  linkedAccountId: string | null;
  /** An operator has written down where the money is. */
  isSettled: boolean;
}

export async function findFunds(sql: Sql, orderNumber: string): Promise<FundsRow | undefined> {
  const [row] = await sql<FundsRow[]>`
    SELECT o.order_number, o.gateway, o.environment, o.amount_paise, o.gateway_payment_id,
      o.merchant_id,
      m.name AS merchant_name, m.email AS merchant_email, m.status AS merchant_status,
      a.linked_account_id,
      EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number)
        AS is_settled
    FROM orders o JOIN merchants m USING (merchant_id)
    JOIN payments p ON p.gateway = o.gateway AND p.gateway_payment_id = o.gateway_payment_id
    LEFT JOIN linked_accounts a ON a.merchant_id = o.merchant_id
      AND a.environment = o.environment AND a.gateway = o.gateway
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/**
 * Keeps the account that a gateway pays a merchant out to.
 *
 * @returns the account that counts: an earlier one stays
 */
export async function saveLinkedAccount(
  sql: Sql,
  merchantId: string,
  { gateway, environment }: OrderGateway,
  linkedAccountId: string,
): Promise<string> {
  const [row] = await sql<{ linkedAccountId: string }[]>`
    INSERT INTO linked_accounts (merchant_id, environment, gateway, linked_account_id)
    VALUES (${merchantId}, ${environment}, ${gateway}, ${linkedAccountId})
    ON CONFLICT (merchant_id, environment, gateway)
      DO UPDATE SET linked_account_id = linked_accounts.linked_account_id
    RETURNING linked_account_id`;
  return row?.linkedAccountId ?? linkedAccountId;
}

/** True of a payment `p` that is all there, and that the gateway has not refused to hold within this hour. */
const mayBeHeld = (sql: Sql) => sql`
  (p.hold_refused_at IS NULL OR p.hold_refused_at < service_now() - interval '1 hour')
    AND NOT EXISTS (SELECT FROM gateway_reversals r
      WHERE r.gateway = p.gateway AND r.gateway_payment_id = p.gateway_payment_id
        AND r.blocks_release)`;

/**
 * Captures whose order holds the money, but the gateway does not yet; each gets its turn.
 *
 * @param untriedForMs leaves out those that were tried since then, and those that are being tried
 */
export async function findUnheldPayments(
  sql: Sql,
  { limit, untriedForMs, shard }: { limit: number; untriedForMs: number; shard: Shard },
): Promise<{ orderNumber: string }[]> {
  return sql<{ orderNumber: string }[]>`
    SELECT o.order_number FROM payments p
    JOIN orders o USING (order_number)
    WHERE o.gateway = p.gateway AND o.gateway_payment_id = p.gateway_payment_id
      AND p.held_at IS NULL AND o.pending_operation IS NULL
      AND o.status = ANY(${HOLDING_STATUSES}) AND ${mayBeHeld(sql)} AND ${isMoneyFree(sql)}
      AND (p.hold_started_at IS NULL
        OR p.hold_started_at < clock_timestamp() - ${untriedForMs} * interval '1 millisecond')
      AND ${inShard(sql, sql`o.order_number`, shard)}
    ORDER BY p.hold_started_at NULLS FIRST LIMIT ${limit}`;
}

/**
 * Takes an order's funds for holding them at the gateway. Locks the order's row, so that it comes
 * either before settling starts, which then waits for it, or not at all.
 *
 * @returns null when they are held, being held, being settled, or were refused just now
 */
export async function claimHold(sql: Sql, orderNumber: string): Promise<MoneyLease | null> {
  const token = newMoneyToken();
  const [row] = await sql<PaymentRef[]>`
    WITH locked AS (
      SELECT gateway, gateway_payment_id FROM orders
      WHERE order_number = ${orderNumber} AND pending_operation IS NULL
        AND status = ANY(${HOLDING_STATUSES})
      FOR UPDATE
    )
    UPDATE payments p SET hold_started_at = clock_timestamp(), ${takenLease(sql, token)}
    FROM locked l
    WHERE p.gateway = l.gateway AND p.gateway_payment_id = l.gateway_payment_id
      AND p.held_at IS NULL
      AND ${mayBeHeld(sql)} AND ${isMoneyFree(sql)}
    RETURNING p.gateway, p.gateway_payment_id`;
  return row ? { ...row, token } : null;
}

export async function markHeld(sql: Sql, { gateway, gatewayPaymentId }: PaymentRef): Promise<void> {
  await sql`
    UPDATE payments SET held_at = service_now()
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}`;
}

export async function markHoldRefused(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<void> {
  await sql`
    UPDATE payments SET hold_refused_at = service_now()
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}`;
}
