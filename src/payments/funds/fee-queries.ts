import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';

/** The gateway's charges for a payment and for its transfer. Null if not known. */
export interface FeesOfPayment {
  feePaise: number | null;
  transferFeePaise: number | null;
}

/** What a gateway may report about a payment only after it was recorded. Null if not known. */
export interface LateFacts extends FeesOfPayment {
  utr: string | null;
}

/**
 * Records what the gateway reported about a payment after it was recorded, and books the fees. The first reported
 * values are kept.
 */
export async function writeLateFacts(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  facts: LateFacts,
): Promise<void> {
  await sql`SELECT write_late_facts(${gateway}, ${gatewayPaymentId}, ${jsonRow(sql, facts)})`;
}

/** The rates are computed from this many newest payments. */
const RATE_PAYMENTS = 1000;

/** SQL: the fee rates that the gateways have recently charged for payments and for transfers. */
export const feeRates = (sql: Sql) => sql`
  SELECT gateway, environment,
    sum(fee_paise) / nullif(sum(amount_paise) FILTER (WHERE fee_paise IS NOT NULL), 0) AS payment_rate,
    sum(transfer_fee_paise) / nullif(sum(amount_paise) FILTER (WHERE transfer_fee_paise IS NOT NULL), 0)
      AS transfer_rate
  FROM (SELECT * FROM payments ORDER BY captured_at DESC LIMIT ${RATE_PAYMENTS}) newest
  GROUP BY gateway, environment`;

/** The estimated fees at a gateway of the orders that are not final. */
export interface FeesToCome {
  gateway: string;
  environment: Environment;
  /** The amount of orders that wait for their payment. */
  unpaidPaise: number;
  /** The amount of paid orders whose money is not transferred yet. */
  untransferredPaise: number;
  /** The share of the amount, with tax. Null while no fee is known. */
  paymentRate: number | null;
  transferRate: number | null;
  /** The estimate if every order is paid. Null while a rate is not known. */
  costPaise: number | null;
}

/** Estimates the fees of all orders that are not final from the recent rates. */
export async function estimateFeesToCome(sql: Sql): Promise<FeesToCome[]> {
  // Most open orders are paid and transferred. Neither part reads them.
  return sql<FeesToCome[]>`
    WITH amounts AS (
      SELECT gateway, environment, amount_paise AS unpaid, 0 AS untransferred FROM shared.orders o
      WHERE NOT is_final(o.status) AND takes_payment(o.status)
      UNION ALL
      SELECT o.gateway, o.environment, 0, o.amount_paise
      FROM payments p JOIN shared.orders o ON o.order_number = p.order_number
        AND o.gateway = p.gateway AND o.gateway_payment_id = p.gateway_payment_id
      WHERE p.held_at IS NULL AND p.transfer_fee_paise IS NULL
        AND NOT is_final(o.status) AND NOT takes_payment(o.status)
    ), open_orders AS (
      SELECT gateway, environment, sum(unpaid) AS unpaid, sum(untransferred) AS untransferred
      FROM amounts GROUP BY gateway, environment
    )
    SELECT gateway, environment, unpaid::bigint AS unpaid_paise,
      untransferred::bigint AS untransferred_paise, payment_rate::float8, transfer_rate::float8,
      ceil(unpaid * (payment_rate + transfer_rate) + untransferred * transfer_rate)::bigint AS cost_paise
    FROM (SELECT gateway, environment, payment_rate, transfer_rate,
        coalesce(unpaid, 0) AS unpaid, coalesce(untransferred, 0) AS untransferred
      FROM open_orders FULL JOIN (${feeRates(sql)}) r USING (gateway, environment)) AS of_gateway
    ORDER BY environment, gateway`;
}
