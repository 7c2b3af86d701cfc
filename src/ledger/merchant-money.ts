import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';

/** Where the money of a merchant's orders is, in paise. */
export interface MerchantMoney {
  /** Held now: paid by buyers, neither released nor refunded. */
  heldPaise: number;
  /** Released to the merchant on these days. */
  releasedPaise: number;
  /** Returned to buyers on these days. Refunds of surplus captures are no merchant's money. */
  refundedPaise: number;
}

/**
 * Reads a merchant's sums from the ledger, in one statement: the sealed days, and the lines since then
 * one by one.
 *
 * @param days counted in Indian time; 1 is today
 */
export async function readMerchantMoney(
  sql: Sql,
  { merchantId, environment }: { merchantId: string; environment: Environment },
  days: number,
): Promise<MerchantMoney> {
  const [money] = await sql<
    [MerchantMoney]
  >`${merchantMoneyQuery(sql, { merchantId, environment }, days)}`;
  return money;
}

/** The statement of {@link readMerchantMoney}; exported because the benchmark runs EXPLAIN on it. */
export function merchantMoneyQuery(
  sql: Sql,
  { merchantId, environment }: { merchantId: string; environment: Environment },
  days: number,
) {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  return sql`
    WITH first AS MATERIALIZED (SELECT indian_day(service_now()) - ${days - 1}::integer AS day),
    sums AS (
      SELECT day, debit_account AS debit, credit_account AS credit, amount_paise AS paise
      FROM ledger_days WHERE ${own}
      UNION ALL
      SELECT indian_day(booked_at), debit_account, credit_account, amount_paise
      FROM unsealed_ledger_transfers WHERE ${own}
    )
    SELECT
      coalesce(sum(CASE WHEN credit = 'merchant_held' THEN paise
        WHEN debit = 'merchant_held' THEN -paise END), 0)::bigint AS held_paise,
      coalesce(sum(paise) FILTER (WHERE credit = 'merchant_available' AND sums.day >= first.day),
        0)::bigint AS released_paise,
      coalesce(sum(paise) FILTER (WHERE credit = 'refunds' AND debit <> 'surplus'
        AND sums.day >= first.day), 0)::bigint AS refunded_paise
    FROM sums, first`;
}
