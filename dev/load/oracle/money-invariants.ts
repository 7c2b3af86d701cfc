import type { Sql } from '../../../src/db/client.ts';
import { moneyKey } from '../../../src/payments/gateway/gateway.ts';
import type { GatewayMoney, GatewayRefund } from '../simulator.ts';
import { isLost, type Allowed } from './service.ts';

/** A broken invariant, about an order. */
export interface BrokenInvariant {
  readonly subject: string;
  readonly fault: string;
}

/** What the service has of a payment. Times are Unix milliseconds by the database's clock. */
interface PaymentNow {
  gatewayPaymentId: string;
  orderNumber: string;
  status: string;
  isOwn: boolean;
  hasAlert: boolean;
  /** What operators have moved outside the gateway, with a reference. */
  outsidePaise: number;
  confirmedAtMs: number | null;
  /** When it made its order PAID. */
  paidAtMs: number | null;
  /** When the release or refund of this service was last booked. */
  movedAtMs: number | null;
  /** By the workflow's time, which is that of its task: the task may be delayed. */
  releaseStartedAtMs: number | null;
  /** When that step was written, which a restore makes later. */
  releaseRecordedAtMs: number | null;
}

interface ReversalNow {
  gatewayPaymentId: string;
  reversalId: string;
  kind: 'refund' | 'chargeback';
  state: string;
  recordedAtMs: number;
  endedAtMs: number | null;
}

/** The gateway gives its times in whole seconds. */
const ROUNDING_MS = 1000;

/**
 * The invariants of money at the gateway, of every payment, also of orders with an alert or a settlement:
 *
 * 1. What this service and operators have paid out, and what had left at the gateway before, is at most
 *    what was captured.
 * 2. No order has a final status beside a movement to the other side, without an alert.
 * 3. A payment made its order PAID only if nothing of it was refunded when the gateway was asked.
 * 4. No refund and no release begins while the service knows of an open chargeback of the payment.
 * 5. No dispute was refunded by its deadline over an answer that was received before.
 *
 * @param allowed what the service knew in lost times cannot be read any more: the end of a chargeback may
 *   have been recorded, and is recorded again later
 */
export async function brokenInvariants(
  sql: Sql,
  money: readonly GatewayMoney[],
  allowed: Allowed,
): Promise<BrokenInvariant[]> {
  const payments = new Map((await readPayments(sql)).map((row) => [row.gatewayPaymentId, row]));
  const reversals = Map.groupBy(await readReversals(sql), (row) => row.gatewayPaymentId);
  const ofPayments = money.flatMap((atGateway) => {
    const { paymentId } = atGateway;
    const known = payments.get(paymentId);
    if (!known) return [];
    const recorded = reversals.get(paymentId) ?? [];
    const taken = atGateway.chargebacks
      .filter(({ status }) => status === 'lost')
      .map(({ id, amount }) => ({ id, amount }));
    return [
      ...overpaid(atGateway, taken, known, recorded),
      ...opposite(atGateway, known),
      ...paidThoughRefunded(atGateway, known),
      ...movedWhileCharged(atGateway, known, recorded, allowed),
    ].map((fault) => ({ subject: known.orderNumber, fault: `${paymentId}: ${fault}` }));
  });
  return [...ofPayments, ...(await answersOverruled(sql))];
}

const isOurs = (paymentId: string) => (refund: GatewayRefund) =>
  refund.notes.idempotency_key === moneyKey(paymentId, 'refund');
const isLive = ({ status }: { status: string }) => status !== 'failed';
const sumOf = (items: readonly { amount: number }[]) =>
  items.reduce((sum, { amount }) => sum + amount, 0);

/** What was transferred to the merchant and neither held nor reversed. */
export const releasedPaise = ({ transfers }: GatewayMoney) =>
  transfers
    .filter((transfer) => isLive(transfer) && !transfer.on_hold)
    .reduce((sum, { amount, amount_reversed: reversed }) => sum + amount - reversed, 0);

function overpaid(
  atGateway: GatewayMoney,
  lost: readonly { id: string; amount: number }[],
  { movedAtMs, outsidePaise }: PaymentNow,
  recorded: readonly ReversalNow[],
): string[] {
  const { paymentId, amountPaise, refunds } = atGateway;
  const live = refunds.filter(isLive);
  const ours = live.filter(isOurs(paymentId));
  const oursPaise = sumOf(ours) + releasedPaise(atGateway) + outsidePaise;
  if (oursPaise === 0) return [];
  // What others take of a payment that was paid out before is not in the service's hands.
  const known = new Set(
    recorded
      .filter(({ recordedAtMs }) => movedAtMs === null || recordedAtMs < movedAtMs)
      .map(({ reversalId }) => reversalId),
  );
  const others = [...live.filter((one) => !ours.includes(one)), ...lost];
  const othersPaise = sumOf(others.filter(({ id }) => known.has(id)));
  if (oursPaise + othersPaise <= amountPaise) return [];
  return [`${oursPaise} paise were paid out and ${othersPaise} taken of ${amountPaise} captured`];
}

function opposite(atGateway: GatewayMoney, { status, isOwn, hasAlert }: PaymentNow): string[] {
  if (!isOwn || hasAlert) return [];
  const refundedPaise = sumOf(atGateway.refunds.filter(isLive));
  if (status === 'COMPLETED' && refundedPaise > 0) {
    return [`the order is COMPLETED, ${refundedPaise} paise are refunded, and no alert says so`];
  }
  if (status === 'REFUNDED' && releasedPaise(atGateway) > 0) {
    return ['the order is REFUNDED, the merchant has a transfer, and no alert says so'];
  }
  return [];
}

function paidThoughRefunded(
  { refunds }: GatewayMoney,
  { isOwn, confirmedAtMs, paidAtMs }: PaymentNow,
): string[] {
  if (!isOwn) return [];
  if (confirmedAtMs === null) return ['its order is PAID, and the gateway was not asked'];
  // A payment that was recovered after a restore was asked for once more.
  const askedAtMs = Math.min(confirmedAtMs, paidAtMs ?? confirmedAtMs);
  const before = refunds
    .filter(isLive)
    .some(({ created_at: seconds }) => seconds * 1000 + ROUNDING_MS < askedAtMs);
  return before ? ['some of it was refunded before it made its order PAID'] : [];
}

function movedWhileCharged(
  { paymentId, refunds }: GatewayMoney,
  { releaseStartedAtMs, releaseRecordedAtMs }: PaymentNow,
  recorded: readonly ReversalNow[],
  allowed: Allowed,
): string[] {
  const released = [releaseStartedAtMs, releaseRecordedAtMs].filter((ms) => ms !== null);
  return recorded
    .filter(({ kind }) => kind === 'chargeback')
    .flatMap(({ recordedAtMs, endedAtMs, reversalId }) => {
      const isOpenAt = (ms: number) =>
        ms > recordedAtMs + ROUNDING_MS &&
        ms < (endedAtMs ?? Infinity) - ROUNDING_MS &&
        !isLost(allowed, ms, ROUNDING_MS);
      const made = refunds.filter(isOurs(paymentId)).map(({ created_at: at }) => at * 1000);
      const at = made.find(isOpenAt) ?? (released.every(isOpenAt) ? released[0] : undefined);
      const time = (ms: number | null) => (ms === null ? 'now' : new Date(ms).toISOString());
      return at === undefined
        ? []
        : [
            `its money moved at ${time(at)} while ${reversalId} was open, from ${time(recordedAtMs)} to ${time(endedAtMs)}`,
          ];
    });
}

async function readPayments(sql: Sql): Promise<PaymentNow[]> {
  const at = (column: ReturnType<Sql>) =>
    sql`floor(extract(epoch FROM ${column}) * 1000)::double precision`;
  return sql<PaymentNow[]>`
    SELECT p.gateway_payment_id, p.order_number, o.status,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id AS is_own,
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
}

async function readReversals(sql: Sql): Promise<ReversalNow[]> {
  return sql<ReversalNow[]>`
    SELECT gateway_payment_id, reversal_id, kind, state,
      floor(extract(epoch FROM recorded_at) * 1000)::double precision AS recorded_at_ms,
      floor(extract(epoch FROM ended_at) * 1000)::double precision AS ended_at_ms
    FROM gateway_reversals`;
}

async function answersOverruled(sql: Sql): Promise<BrokenInvariant[]> {
  const rows = await sql<{ orderNumber: string; name: string }[]>`
    SELECT c.order_number, c.name FROM order_steps s
    JOIN order_commands c ON c.order_number = s.order_number
    WHERE s.kind = 'REFUND_STARTED'
      AND s.step->'pendingOperation'->>'reason' = 'dispute_not_resolved_in_time'
      AND c.state = 'WAITING' AND c.name IN ('resolve', 'accept')
      AND c.received_at < to_timestamp((s.step->'deadline'->>'atMs')::double precision / 1000)
      AND c.received_at >= (SELECT max(r.at) FROM order_steps r
        WHERE r.order_number = s.order_number AND r.kind = 'DISPUTE_RAISED'
          AND r.step_number < s.step_number)
      -- An acceptance is refused while a chargeback is open.
      AND NOT EXISTS (SELECT FROM gateway_reversals v WHERE v.order_number = s.order_number)`;
  return rows.map(({ orderNumber: subject, name }) => ({
    subject,
    fault: `was refunded by its dispute's deadline, although ${name} was received before`,
  }));
}
