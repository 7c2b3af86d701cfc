import type { AlertKind } from '../../alerts/kinds.ts';
import type { Sql } from '../../db/client.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';
import type { TransferPayout } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import type { SettledMoney } from '../settlement/settlement-rule.ts';

export interface PaymentFigures extends GatewayRef, PaymentRef {
  /** The database's time of the reading. */
  readAt: string;
  orderNumber: string;
  currency: string;
  amountPaise: number;
  /** By this service or at the gateway itself. */
  refundedPaise: number;
  releasedPaise: number;
  /** The refunds and chargebacks made at the gateway itself. */
  reversedPaise: number;
  heldPaise: number;
  /** True if the service has recorded the hold, and the order's status still requires it. */
  isHeld: boolean;
  /** True while a release or refund is in progress. The gateway's figures may then be ahead of the ledger's. */
  isMoving: boolean;
  /** An operator's settlement outside the gateway. Null if there is none. */
  settled: Omit<SettledMoney, 'capturedPaise'> | null;
  lostPaise: number;
  /** Null if it is not recorded. */
  utr: string | null;
  /** The gateway's fees for the payment and for its transfer. Null if not recorded. */
  feePaise: number | null;
  transferFeePaise: number | null;
  /** The account of its transfers. Null if it was never recorded. */
  linkedAccountId: string | null;
  /** The released transfer whose payout is not recorded, if there is one. */
  transferWithoutPayout: string | null;
}

const PAGE_SIZE = 200;
/** The alerts of the comparison, which clears them once both sides agree. */
const DIFFERS: readonly AlertKind[] = ['gateway_differs', 'transfer_recipient_differs'];
/** Orders that became final earlier are not compared. */
const CHANGED_WITHIN_DAYS = 7;
/**
 * How long the gateway is asked about a transfer without a known payout, if the environment has payouts. Banks have
 * holidays.
 */
const PAYOUT_WITHIN_DAYS = 30;

/**
 * Lists one page of the payments to compare: those of orders that are not final or changed in the last seven days,
 * those that were released in the last thirty days and have no known payout, and those that differed the last time.
 *
 * @param after the last payment of the previous page
 */
export async function listFiguresToCompare(sql: Sql, after: PaymentRef): Promise<PaymentFigures[]> {
  return sql<PaymentFigures[]>`
    ${figures(sql)}
    WHERE (p.gateway, p.gateway_payment_id) > (${after.gateway}, ${after.gatewayPaymentId})
      AND p.is_whole
      AND (NOT is_final(o.status)
        OR o.updated_at > service_now() - ${CHANGED_WITHIN_DAYS} * interval '1 day'
        OR s.started_at > service_now() - ${CHANGED_WITHIN_DAYS} * interval '1 day'
        OR EXISTS (SELECT FROM shared.alerts a
          WHERE a.kind = ANY (${DIFFERS}) AND a.cleared_at IS NULL
            AND a.subject = gateway_subject(p.gateway, p.gateway_payment_id))
        OR (o.updated_at > service_now() - ${PAYOUT_WITHIN_DAYS} * interval '1 day'
          AND EXISTS (SELECT FROM transfer_payouts y WHERE y.environment = o.environment)
          AND EXISTS (SELECT FROM shared.ledger_transfers t
            WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
              AND t.operation = 'release' AND t.movement_id IS NOT NULL
              AND NOT EXISTS (SELECT FROM transfer_payouts y WHERE y.release_id = t.transfer_id))))
    ORDER BY p.gateway, p.gateway_payment_id LIMIT ${PAGE_SIZE}`;
}

export async function findFigures(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<PaymentFigures | undefined> {
  const [row] = await sql<PaymentFigures[]>`
    ${figures(sql)} WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}`;
  return row;
}

/** Records the payout that settled a released transfer. The first recorded payout is kept. */
export async function writePayout(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  { transferId, payoutId, utr }: TransferPayout & { utr: string },
): Promise<void> {
  await sql`
    INSERT INTO transfer_payouts
      (release_id, order_number, merchant_id, environment, payout_id, utr)
    SELECT transfer_id, order_number, merchant_id, environment, ${payoutId}, ${utr}
    FROM shared.ledger_transfers
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND operation = 'release' AND movement_id = ${transferId}
    ON CONFLICT (release_id) DO NOTHING`;
}

const figures = (sql: Sql) => sql`
    SELECT p.gateway, p.gateway_payment_id, p.order_number, p.environment, p.currency,
      statement_timestamp()::text AS read_at, p.amount_paise, p.utr, p.fee_paise, p.transfer_fee_paise, p.linked_account_id,
      coalesce(l.refunded, 0)::bigint + r.refunded::bigint AS refunded_paise,
      coalesce(l.released, 0)::bigint AS released_paise, l.transfer_without_payout,
      r.reversed::bigint AS reversed_paise,
      balance_of(p.gateway, p.gateway_payment_id, 'merchant_held') AS held_paise,
      p.held_at IS NOT NULL AND o.status = ANY(${HOLDING_STATUSES}) AS is_held,
      o.pending_operation IS NOT NULL OR (s.started_at IS NOT NULL AND s.processed_at IS NULL)
        OR has_failed_refund(o.status, o.refund_processed_at) AS is_moving,
      (r.reversed - r.refunded)::bigint AS lost_paise,
      CASE WHEN x.order_number IS NOT NULL THEN jsonb_build_object('outcome', x.outcome,
          'restPaise', x.amount_paise, 'hasReference', x.reference IS NOT NULL)
        WHEN s.settled_paise IS NOT NULL THEN jsonb_build_object('outcome', 'refunded',
          'restPaise', s.settled_paise, 'hasReference', s.reference IS NOT NULL) END AS settled
    FROM payments p JOIN shared.orders o USING (order_number)
    LEFT JOIN surplus_refunds s
      ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN outside_settlements x ON x.order_number = o.order_number
      AND o.gateway = p.gateway AND o.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN LATERAL (
      SELECT sum(CASE operation WHEN 'refund' THEN amount_paise WHEN 'refund_failed' THEN -amount_paise
          END) AS refunded,
        sum(amount_paise) FILTER (WHERE operation = 'release') AS released,
        max(movement_id) FILTER (WHERE operation = 'release' AND y.release_id IS NULL)
          AS transfer_without_payout
      FROM shared.ledger_transfers t LEFT JOIN transfer_payouts y ON y.release_id = t.transfer_id
      WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id) l ON true
    LEFT JOIN LATERAL (
      SELECT coalesce(sum(amount_paise) FILTER (WHERE kind = 'refund'), 0) AS refunded,
        coalesce(sum(amount_paise), 0) AS reversed
      FROM gateway_reversals v
      WHERE v.gateway = p.gateway AND v.gateway_payment_id = p.gateway_payment_id
        AND v.has_left) r ON true`;
