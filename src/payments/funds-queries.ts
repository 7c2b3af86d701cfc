import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { HOLDING_STATUSES } from '../domain/index.ts';
import type { MoneyLease } from './money-lease.ts';
import { isMoneyFree, newMoneyToken, takenLease } from './money-lease.ts';
import type { Shard } from './shard.ts';
import { inShard } from './shard.ts';

/** How the money of an order can be moved: its payment, and who gets it. */
export interface FundsRow {
  orderNumber: string;
  environment: Environment;
  amountPaise: number;
  gatewayPaymentId: string;
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
    SELECT o.order_number, o.environment, o.amount_paise, o.gateway_payment_id, o.merchant_id,
      m.name AS merchant_name, m.email AS merchant_email, m.status AS merchant_status,
      m.linked_accounts->>(o.environment::text) AS linked_account_id,
      EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number)
        AS is_settled
    FROM orders o JOIN merchants m USING (merchant_id)
    JOIN payments p ON p.gateway_payment_id = o.gateway_payment_id
    WHERE o.order_number = ${orderNumber}`;
  return row;
}

/** Keeps the account that a merchant is paid out to. */
export async function saveLinkedAccount(
  sql: Sql,
  merchantId: string,
  environment: Environment,
  linkedAccountId: string,
): Promise<void> {
  await sql`
    UPDATE merchants SET linked_accounts = linked_accounts || ${sql.json({ [environment]: linkedAccountId })}
    WHERE merchant_id = ${merchantId}`;
}

/** True of a payment `p` that is all there, and that the gateway has not refused to hold within this hour. */
const mayBeHeld = (sql: Sql) => sql`
  (p.hold_refused_at IS NULL OR p.hold_refused_at < service_now() - interval '1 hour')
    AND NOT EXISTS (SELECT FROM gateway_reversals r
      WHERE r.gateway_payment_id = p.gateway_payment_id AND r.blocks_release)`;

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
    WHERE o.gateway_payment_id = p.gateway_payment_id AND p.held_at IS NULL AND o.busy IS NULL
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
  const [row] = await sql<{ gatewayPaymentId: string }[]>`
    WITH locked AS (
      SELECT gateway_payment_id FROM orders
      WHERE order_number = ${orderNumber} AND busy IS NULL
        AND status = ANY(${HOLDING_STATUSES})
      FOR UPDATE
    )
    UPDATE payments p SET hold_started_at = clock_timestamp(), ${takenLease(sql, token)}
    FROM locked l
    WHERE p.gateway_payment_id = l.gateway_payment_id AND p.held_at IS NULL
      AND ${mayBeHeld(sql)} AND ${isMoneyFree(sql)}
    RETURNING p.gateway_payment_id`;
  return row ? { gatewayPaymentId: row.gatewayPaymentId, token } : null;
}

export async function markHeld(sql: Sql, gatewayPaymentId: string): Promise<void> {
  await sql`
    UPDATE payments SET held_at = service_now() WHERE gateway_payment_id = ${gatewayPaymentId}`;
}

export async function markHoldRefused(sql: Sql, gatewayPaymentId: string): Promise<void> {
  await sql`
    UPDATE payments SET hold_refused_at = service_now()
    WHERE gateway_payment_id = ${gatewayPaymentId}`;
}
