import type { Sql } from '../db/client.ts';
import type { MoneyOwner } from './statement.ts';
import { heldChange } from './statement.ts';

/** A merchant's money on one day, in paise. */
export interface MoneyDay {
  /** The day of the booking in Indian time, such as 2026-11-22. */
  day: string;
  paidPaise: number;
  releasedPaise: number;
  /** Returned to buyers, also by the gateway or the bank, minus the refunds that failed. */
  refundedPaise: number;
  heldChangePaise: number;
}

/**
 * Reads a merchant's money from the ledger, in one statement: the sums of sealed days, and the lines that came
 * later.
 *
 * @returns every day that has lines, the oldest first
 */
export async function readMoneyDays(
  sql: Sql,
  { merchantId, environment }: MoneyOwner,
): Promise<MoneyDay[]> {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}
    AND is_merchants_money(debit_account, credit_account)`;
  // The platform pays a reversal whose money a refund or transfer has taken, too. It takes that back if the refund fails.
  // After a transfer it takes it back at once.
  const toBuyer = sql`CASE WHEN t.credit_account IN ('refunds', 'platform_losses') THEN t.amount_paise
    WHEN t.debit_account IN ('refunds', 'platform_losses') THEN -t.amount_paise END`;
  return sql<MoneyDay[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day,
      coalesce(sum(amount_paise) FILTER (WHERE debit_account = 'gateway_clearing'), 0)::bigint
        AS paid_paise,
      coalesce(sum(amount_paise) FILTER (WHERE credit_account = 'merchant_available'), 0)::bigint
        AS released_paise,
      coalesce(sum(${toBuyer}), 0)::bigint AS refunded_paise,
      sum(${heldChange(sql)})::bigint AS held_change_paise
    FROM (
      SELECT day, debit_account, credit_account, amount_paise FROM ledger_days WHERE ${own}
      UNION ALL
      SELECT indian_day(booked_at), debit_account, credit_account, amount_paise
      FROM unsealed_ledger_transfers WHERE ${own}
    ) t
    GROUP BY day ORDER BY day`;
}
