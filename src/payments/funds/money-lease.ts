import { randomUUID } from 'node:crypto';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { GatewayUnavailable } from '../gateway/gateway.ts';

/** Longer than a request that moves money and the look-ups after it, including their time-outs. */
const MONEY_LEASE_SECONDS = 60;

/** Allows one process to move the money of one payment. */
export interface MoneyLease extends Readonly<PaymentRef> {
  /** Random. Statements that renew or end the lease must match it. */
  readonly token: string;
  /** True once a request that moves money may have been sent. */
  hasAsked?: boolean;
}

/** Another process is moving the money of this payment, or has taken over the lease. */
export class MoneyLeaseTaken extends Error {
  override readonly name = 'MoneyLeaseTaken';

  constructor({ gateway, gatewayPaymentId }: PaymentRef) {
    super(`Another process is moving the money of payment ${gatewayPaymentId} at ${gateway}`);
  }
}

/** SQL: payment `p` has no lease. It uses real time, even when tests skip time. */
export const isMoneyFree = (sql: Sql) => sql`
  (p.money_lease_ends_at IS NULL OR p.money_lease_ends_at < clock_timestamp())`;

/** SQL: the assignments that take or renew a lease. */
export const leaseColumns = (sql: Sql, token: string) => sql`
  money_lease_token = ${token},
  money_lease_ends_at = clock_timestamp() + ${MONEY_LEASE_SECONDS} * interval '1 second'`;

/**
 * Moves the money of a payment while no other process does. A gateway's transfers may have no idempotency key, so
 * two processes that find no transfer at the same time would both make one. A request whose outcome is unknown may still
 * reach the gateway. The service's next try looks for what was made, and need not wait; an operator's settlement waits
 * for as long as a lease, and so does everybody after such a request of a settlement.
 *
 * @throws MoneyLeaseTaken, and what `move` throws
 */
export async function withMoneyLease<Result>(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  move: (lease: MoneyLease) => Promise<Result>,
  { isSettlement = false } = {},
): Promise<Result> {
  const lease: MoneyLease = { gateway, gatewayPaymentId, token: randomUUID() };
  const taken = await sql`
    UPDATE payments p SET ${leaseColumns(sql, lease.token)}
    WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
      AND ${isMoneyFree(sql)}
      AND (NOT ${isSettlement} OR coalesce(p.money_unknown_until < clock_timestamp(), true))
    RETURNING 1`;
  if (taken.length === 0) throw new MoneyLeaseTaken(lease);
  try {
    const result = await move(lease);
    await endMoneyLease(sql, lease);
    return result;
  } catch (error) {
    const isUnknown = lease.hasAsked === true && hasUnknownOutcome(error);
    if (!isUnknown || !isSettlement) await endMoneyLease(sql, lease, { isUnknown });
    throw error;
  }
}

/**
 * Checks, directly before a request that moves money, that this process still has the lease, and extends it. The
 * process may have been suspended, or have waited long for the gateway.
 *
 * @throws MoneyLeaseTaken
 */
export async function renewMoneyLease(sql: Sql, lease: MoneyLease): Promise<void> {
  const { gateway, gatewayPaymentId, token } = lease;
  lease.hasAsked = true;
  const renewed = await sql`
    UPDATE payments SET ${leaseColumns(sql, token)}
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND money_lease_token = ${token} RETURNING 1`;
  if (renewed.length === 0) throw new MoneyLeaseTaken(lease);
}

const hasUnknownOutcome = (error: unknown): boolean =>
  error instanceof GatewayUnavailable ||
  (error instanceof Error && error.cause instanceof GatewayUnavailable);

/**
 * Ends a lease. Does nothing if another process has taken over.
 *
 * @param outcome.isUnknown its latest request may still reach the gateway
 */
export async function endMoneyLease(
  sql: Sql,
  lease: MoneyLease,
  { isUnknown = false } = {},
): Promise<void> {
  const { gateway, gatewayPaymentId, token } = lease;
  await sql`
    UPDATE payments SET money_lease_token = NULL, money_lease_ends_at = NULL,
      money_unknown_until = CASE WHEN ${isUnknown} THEN money_lease_ends_at ELSE money_unknown_until END
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND money_lease_token = ${token}`;
}
