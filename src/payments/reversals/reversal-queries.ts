import type { NewAlert } from '../../alerts/alerts.ts';
import { detailsOf } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import type { RefundOrChargeback } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';

/** A refund or chargeback made at the gateway itself: a row of `gateway_reversals`. */
export type Reversal = Omit<RefundOrChargeback, 'idempotencyKey'>;

export type ReversalResult =
  /** The reversal is new, or its state has changed. */
  | { outcome: 'recorded'; orderNumber: string }
  | { outcome: 'known'; orderNumber: string }
  | { outcome: 'came_back'; orderNumber: string }
  /** Its payment is not recorded. */
  | { outcome: 'unknown_payment' };

/** The source of a report: a callback, which may be old, or the gateway's API, which was asked. */
export type ReversalSource = 'callback' | 'gateway';

/** Raised about the order in the statement that records a new state: its process may die right after it. */
export type ReversalAlert = Pick<NewAlert, 'kind' | 'message' | 'fields'>;

/**
 * Records a reversal and the alert about it: see the SQL function `write_reversal`.
 *
 * @param askedAt when the gateway was asked; without it, now
 */
export async function writeReversal(
  sql: Sql,
  { gateway, environment }: GatewayRef,
  reversal: Reversal,
  source: ReversalSource,
  { alert, askedAt }: { alert?: ReversalAlert; askedAt?: string | undefined } = {},
): Promise<ReversalResult> {
  const raised = alert ? sql.json({ kind: alert.kind, details: detailsOf(alert) }) : null;
  const [row] = await sql<{ result: ReversalResult }[]>`
    SELECT write_reversal(${gateway}, ${environment}, ${jsonRow(sql, reversal)},
      CASE WHEN ${source === 'gateway'} THEN coalesce(${askedAt ?? null}::text::timestamptz, service_now()) END,
      ${raised}) AS result`;
  return row?.result ?? { outcome: 'unknown_payment' };
}

/** Finds the reversals that have taken a part of a payment, or may take it, oldest first. They block its release. */
export async function findBlockingReversals(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<Reversal[]> {
  return sql<Reversal[]>`
    SELECT reversal_id, gateway_payment_id, kind, amount_paise, state FROM gateway_reversals
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId} AND blocks_release
    ORDER BY recorded_at, reversal_id`;
}

/** A reversal that the gateway has not decided yet. */
type Undecided = GatewayRef & Pick<Reversal, 'reversalId' | 'gatewayPaymentId' | 'kind'>;

/**
 * Takes open chargebacks and pending refunds that were not checked for `everyMs`, because the callback that ends one
 * may have been lost.
 *
 * @returns at most `limit`, marked as checked
 */
export async function takeUndecided(
  sql: Sql,
  { limit, everyMs }: { limit: number; everyMs: number },
): Promise<Undecided[]> {
  return sql<Undecided[]>`
    UPDATE gateway_reversals r SET checked_at = service_now() FROM shared.orders o
    WHERE o.order_number = r.order_number AND (r.gateway, r.reversal_id) IN (
      SELECT gateway, reversal_id FROM gateway_reversals
      WHERE state IN ('open', 'pending') AND coalesce(checked_at, recorded_at)
        < (SELECT service_now()) - ${everyMs} * interval '1 millisecond'
      ORDER BY checked_at NULLS FIRST LIMIT ${limit}
      FOR UPDATE SKIP LOCKED)
    RETURNING r.reversal_id, r.gateway_payment_id, r.kind, r.gateway, o.environment`;
}

/** Books what has left of a restored order's payment, once the order has its steps again. */
export async function bookRestoredReversals(sql: Sql, orderNumber: string): Promise<void> {
  await sql`SELECT book_restored_reversals(${orderNumber})`;
}
