import { randomUUID } from 'node:crypto';
import type { PaymentRef } from '../contracts/ids.ts';
import type { Sql } from '../db/client.ts';

/** Longer than a request that moves money, its time-out and the look-up after it take together. */
const MONEY_LEASE_SECONDS = 60;

/** The right of one process to move the money of one payment. */
export interface MoneyLease extends Readonly<PaymentRef> {
  readonly token: string;
}

/** Another process is moving the money of this payment, or has taken over from this one. */
export class MoneyLeaseTaken extends Error {
  override readonly name = 'MoneyLeaseTaken';

  constructor({ gateway, gatewayPaymentId }: PaymentRef) {
    super(`Another process is moving the money of payment ${gatewayPaymentId} at ${gateway}`);
  }
}

export const newMoneyToken = (): string => randomUUID();

/** True of a payment `p` whose money no process is moving. In real time, whatever tests skip. */
export const isMoneyFree = (sql: Sql) => sql`
  (p.money_lease_ends_at IS NULL OR p.money_lease_ends_at < clock_timestamp())`;

/** What a statement that takes a lease sets. */
export const takenLease = (sql: Sql, token: string) => sql`
  money_lease_token = ${token},
  money_lease_ends_at = clock_timestamp() + ${MONEY_LEASE_SECONDS} * interval '1 second'`;

/**
 * Moves the money of a payment while no other process does. A gateway's transfers may
 * have no idempotency key, so two processes that look for one at the same time would both make it.
 *
 * @throws MoneyLeaseTaken, and what `move` throws
 */
export async function withMoneyLease<Result>(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  move: (lease: MoneyLease) => Promise<Result>,
): Promise<Result> {
  const lease = { gateway, gatewayPaymentId, token: newMoneyToken() };
  const taken = await sql`
    UPDATE payments p SET ${takenLease(sql, lease.token)}
    WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
      AND ${isMoneyFree(sql)} RETURNING 1`;
  if (taken.length === 0) throw new MoneyLeaseTaken(lease);
  try {
    return await move(lease);
  } finally {
    await endMoneyLease(sql, lease);
  }
}

/**
 * Makes sure, right before a request that moves money, that no other process has taken over: this
 * one may have stood still, or have waited long for the gateway, since it took its lease.
 *
 * @throws MoneyLeaseTaken
 */
export async function renewMoneyLease(sql: Sql, lease: MoneyLease): Promise<void> {
  const { gateway, gatewayPaymentId, token } = lease;
  const renewed = await sql`
    UPDATE payments SET ${takenLease(sql, token)}
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND money_lease_token = ${token} RETURNING 1`;
  if (renewed.length === 0) throw new MoneyLeaseTaken(lease);
}

export async function endMoneyLease(sql: Sql, lease: MoneyLease): Promise<void> {
  const { gateway, gatewayPaymentId, token } = lease;
  await sql`
    UPDATE payments SET money_lease_token = NULL, money_lease_ends_at = NULL
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND money_lease_token = ${token}`;
}
