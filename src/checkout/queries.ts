import type { Sql } from '../db/client.ts';
import type { StepKind, UnappliedCapture } from '../domain/index.ts';
import { BUYER_DISPUTES } from '../domain/index.ts';
import type { DisputeLimit, DisputeRecord, OrderRow, SurplusReason } from '../orders/public.ts';
import { readDisputes } from '../orders/public.ts';
import type { Language } from '../pages/language.ts';
import type { SessionState } from '../payments/public.ts';
import { isExpired } from '../payments/public.ts';

/** The steps of an order that its buyer may see. */
export type ProgressKind = Extract<
  StepKind,
  | 'PAYMENT_SUCCESS'
  | 'DELIVERY_CONFIRMED'
  | 'DISPUTE_RAISED'
  | 'EVIDENCE_SUBMITTED'
  | 'DISPUTE_RESOLVED'
  | 'ORDER_COMPLETED'
  | 'REFUND_STARTED'
  | 'REFUND_PROCESSED'
>;
const PROGRESS_KINDS = [
  'PAYMENT_SUCCESS',
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
  'EVIDENCE_SUBMITTED',
  'DISPUTE_RESOLVED',
  'ORDER_COMPLETED',
  'REFUND_STARTED',
  'REFUND_PROCESSED',
] as const satisfies readonly ProgressKind[];

/**
 * The page shows the latest ones: an operator may raise any number of disputes, and a sandbox order can be paid
 * again.
 */
const MOST_STEPS = 50;
const MOST_SURPLUS = 20;

export interface CheckoutSession {
  sessionId: string;
  state: SessionState;
  upiIntent: string | null;
  pageUrl: string | null;
  /** ISO 8601, like all times in JSON columns. */
  expiresAt: string;
  isExpired: boolean;
}

/** A recorded step. Its time is ISO 8601. */
export interface CheckoutStep {
  kind: ProgressKind;
  at: string;
  trackingId: string | null;
  /** True for the start of a refund that an operator made for the merchant. */
  isForMerchant: boolean;
  /** Set at the end of a dispute that an operator decided for the merchant. */
  decidedFor: 'merchant' | null;
}

/** A payment that the order cannot take, which is refunded to the buyer in full. */
export interface CheckoutSurplus {
  sessionId: string | null;
  amountPaise: number;
  reason: SurplusReason;
  processedAt: string | null;
}

export interface CheckoutSettlement {
  /**
   * The bank transfer's reference; null if no money was moved, because the gateway had refunded it.
   */
  reference: string | null;
  reason: string;
}

export interface Checkout {
  order: OrderRow;
  merchantName: string;
  /** The address for questions about the order. */
  merchantEmail: string;
  /** Whether the merchant is active and ready, and its gateway configured. */
  takesPayments: boolean;
  session: CheckoutSession | null;
  /** A capture that the order has not applied. */
  unapplied: UnappliedCapture | null;
  /** The kind of the latest step; PAYMENT_FAILED after a failed payment attempt. */
  lastStep: StepKind | null;
  steps: CheckoutStep[];
  surplus: CheckoutSurplus[];
  /** Oldest first. */
  disputes: DisputeRecord[];
  /** Set if a settlement outside the gateway ended the order. */
  settlement: CheckoutSettlement | null;
  /** Why the buyer can raise no other dispute. Null if no limit is reached. */
  disputeLimit: DisputeLimit | null;
  /** The database's clock, which decides deadlines. */
  now: Date;
}

type CheckoutRow = OrderRow & Omit<Checkout, 'order' | 'disputes'>;

/**
 * The payments that order `o` cannot take. Their rows in `surplus_refunds` are written by the workflow that refunds
 * them, and may come later.
 */
const surplusOf = (sql: Sql) => sql`
  (SELECT coalesce(jsonb_agg(jsonb_build_object('sessionId', p.session_id,
      'amountPaise', p.amount_paise, 'processedAt', r.processed_at,
      'reason', coalesce(r.reason, surplus_reason(o.status, p.amount_paise = o.amount_paise)))
      ORDER BY p.captured_at), '[]')
    FROM (SELECT * FROM shared.payments WHERE order_number = o.order_number
      ORDER BY captured_at DESC LIMIT ${MOST_SURPLUS}) AS p
    LEFT JOIN shared.surplus_refunds r USING (gateway, gateway_payment_id)
    WHERE r.order_number IS NOT NULL OR (p.is_whole
      AND p.gateway = o.gateway AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
      AND surplus_reason(o.status, p.amount_paise = o.amount_paise) IS NOT NULL))`;

/**
 * Reads the order of a payment link in one statement, so that everything is of one moment. Its disputes are read
 * after it; if they are newer than the page, the page's version is old and the browser soon reloads it.
 *
 * @param token the unguessable part of the link
 * @returns undefined for an unknown token, and for an order whose buyer's data was erased
 */
export async function findCheckout(sql: Sql, token: string): Promise<Checkout | undefined> {
  const [row] = await sql<CheckoutRow[]>`
    SELECT o.*, m.name AS merchant_name, m.email AS merchant_email, service_now() AS now,
      m.status = 'APPROVED' AND is_merchant_ready(o.merchant_id, o.environment, o.gateway)
        AS takes_payments,
      dispute_limit_of(o.order_number, ${BUYER_DISPUTES}) AS dispute_limit,
      unapplied_capture_of(o.order_number) AS unapplied,
      (SELECT jsonb_build_object('sessionId', s.session_id,
          -- The whole payment was refunded since, or is still being examined.
          'state', CASE WHEN s.state = 'PAID' AND EXISTS (SELECT FROM shared.payments p
            WHERE p.order_number = s.order_number AND p.session_id = s.session_id AND NOT p.is_whole) THEN 'CLOSED' ELSE s.state END,
          'upiIntent', s.upi_intent, 'pageUrl', s.page_url, 'expiresAt', s.expires_at,
          'isExpired', ${isExpired(sql)})
        FROM shared.payment_sessions s WHERE s.order_number = o.order_number
        ORDER BY s.session_id IS NOT DISTINCT FROM o.open_session_id DESC, s.session_id DESC
        LIMIT 1) AS session,
      (SELECT t.kind FROM shared.order_steps t WHERE t.order_number = o.order_number
        ORDER BY t.step_number DESC LIMIT 1) AS last_step,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('kind', t.kind, 'at', t.at,
          'trackingId', t.details->>'trackingId', 'decidedFor', t.details->>'for', 'isForMerchant', EXISTS (
            SELECT FROM shared.order_commands c WHERE t.kind = 'REFUND_STARTED'
              AND (c.order_number, c.command_id, c.name) = (t.order_number, t.command_id, 'refund')
              AND c.actor ~ '^(operator|cli):')) ORDER BY t.step_number), '[]')
        FROM (SELECT * FROM shared.order_steps s WHERE s.order_number = o.order_number
          AND s.kind = ANY (${PROGRESS_KINDS})
          ORDER BY s.step_number DESC LIMIT ${MOST_STEPS}) AS t) AS steps,
      ${surplusOf(sql)} AS surplus,
      (SELECT jsonb_build_object('reference', x.reference, 'reason', x.reason)
        FROM shared.outside_settlements x JOIN shared.order_steps t USING (order_number)
        WHERE x.order_number = o.order_number
          AND t.kind IN ('ORDER_COMPLETED', 'REFUND_PROCESSED')
          AND t.command_id IS NOT NULL) AS settlement
    FROM orders_with_dispute o JOIN shared.merchants m USING (merchant_id)
    WHERE o.payment_token = ${token} AND o.erased_at IS NULL`;
  if (!row) return undefined;
  const { merchantName, merchantEmail, takesPayments, session, lastStep, steps, ...rest } = row;
  const { surplus, unapplied, settlement, disputeLimit, now, ...order } = rest;
  return {
    order,
    merchantName,
    merchantEmail,
    takesPayments,
    session,
    unapplied,
    lastStep,
    steps,
    surplus,
    disputes: order.disputeCount === 0 ? [] : await readDisputes(sql, order.orderNumber),
    settlement,
    disputeLimit,
    now,
  };
}

/**
 * Stores the language in which the buyer reads the page, before a payment or a dispute. Mails to the buyer are
 * written in it. The row is written only if the language differs.
 */
export async function keepBuyerLanguage(
  sql: Sql,
  { orderNumber, buyerLanguage }: OrderRow,
  language: Language,
): Promise<void> {
  if (language === buyerLanguage) return;
  await sql`UPDATE orders SET buyer_language = ${language} WHERE order_number = ${orderNumber}`;
}
