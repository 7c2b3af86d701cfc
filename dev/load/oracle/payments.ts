import type { Sql } from '../../../src/db/client.ts';
import type { OrderStatus } from '../../../src/domain/index.ts';
import { moneyKey } from '../../../src/payments/gateway/gateway.ts';
import { lostPaise, type GatewayMoney, type GatewayRefund } from '../simulator.ts';

/** What the service has of a payment. Times are Unix milliseconds by the database's clock. */
export interface KnownPayment {
  readonly gatewayPaymentId: string;
  readonly orderNumber: string;
  readonly amountPaise: number;
  readonly status: OrderStatus;
  /** True if its order is paid with it; otherwise it is surplus. */
  readonly isOwn: boolean;
  readonly isHeld: boolean;
  /** False if some of it was refunded when the gateway was first asked: the ledger does not have it. */
  readonly isWhole: boolean;
  readonly hasAlert: boolean;
  /** What operators have moved outside the gateway, with a reference. */
  readonly outsidePaise: number;
  readonly confirmedAtMs: number | null;
  /** When it made its order PAID. */
  readonly paidAtMs: number | null;
  /** When the release or refund of this service was last booked. */
  readonly movedAtMs: number | null;
  /** By the workflow's time, which is that of its task: the task may be delayed. */
  readonly releaseStartedAtMs: number | null;
  /** When that step was written, which a restore makes later. */
  readonly releaseRecordedAtMs: number | null;
}

/** Every payment in the database, by its id at the gateway. */
export async function readPayments(sql: Sql): Promise<Map<string, KnownPayment>> {
  const at = (column: ReturnType<Sql>) =>
    sql`floor(extract(epoch FROM ${column}) * 1000)::double precision`;
  const rows = await sql<KnownPayment[]>`
    SELECT p.gateway_payment_id, p.order_number, p.amount_paise, o.status, p.is_whole,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id AS is_own,
      p.held_at IS NOT NULL AS is_held,
      EXISTS (SELECT FROM alerts a WHERE a.cleared_at IS NULL AND a.subject IN
        (p.order_number, gateway_subject(p.gateway, p.gateway_payment_id))) AS has_alert,
      (CASE WHEN x.reference IS NOT NULL THEN x.amount_paise ELSE 0 END
        + CASE WHEN s.reference IS NOT NULL THEN s.settled_paise ELSE 0 END)::bigint AS outside_paise,
      ${at(sql`p.confirmed_at`)} AS confirmed_at_ms, ${at(sql`paid.at`)} AS paid_at_ms,
      ${at(sql`moved.at`)} AS moved_at_ms, ${at(sql`started.at`)} AS release_started_at_ms,
      ${at(sql`started.recorded_at`)} AS release_recorded_at_ms
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s
      ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN outside_settlements x
      ON x.order_number = o.order_number AND o.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN order_steps paid ON paid.order_number = o.order_number
      AND paid.kind = 'PAYMENT_SUCCESS' AND o.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN order_steps started ON started.order_number = o.order_number
      AND started.kind = 'RELEASE_STARTED' AND o.gateway_payment_id = p.gateway_payment_id
    -- After a restore, a reversal may have been booked before the step was recorded again, which then has no
    -- line.
    LEFT JOIN LATERAL (SELECT max(m.at) AS at FROM (
        SELECT t.at FROM ledger_transfers t
        WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
          AND t.operation IN ('release', 'refund')
        UNION ALL
        SELECT step.at FROM order_steps step
        WHERE step.order_number = o.order_number AND o.gateway_payment_id = p.gateway_payment_id
          AND step.kind IN ('ORDER_COMPLETED', 'REFUND_PROCESSED')) m) moved ON true`;
  return new Map(rows.map((row) => [row.gatewayPaymentId, row]));
}

/** Whether the service has made this refund: those of the gateway's dashboard have no key. */
export const isOurs = (paymentId: string) => (refund: GatewayRefund) =>
  refund.notes.idempotency_key === moneyKey(paymentId, 'refund');

/** Whether it has not failed. */
export const isLive = ({ status }: { status: string }) => status !== 'failed';

/** The amounts together, in paise. */
export const sumOf = (items: readonly { amount: number }[]) =>
  items.reduce((sum, { amount }) => sum + amount, 0);

/** What was refunded, or taken by the buyer's bank. */
export const toBuyerPaise = (money: GatewayMoney) =>
  sumOf(money.refunds.filter(isLive)) + lostPaise(money);

/** What was transferred to the merchant and neither held nor reversed. */
export const releasedPaise = ({ transfers }: GatewayMoney) =>
  transfers
    .filter((transfer) => isLive(transfer) && !transfer.on_hold)
    .reduce((sum, { amount, amount_reversed: reversed }) => sum + amount - reversed, 0);
