import type { Sql } from '../../../src/db/client.ts';
import type { GatewayMoney } from '../simulator.ts';
import {
  isLive,
  isOurs,
  readPayments,
  releasedPaise,
  sumOf,
  type KnownPayment,
} from './payments.ts';
import { violation, type Violation } from './report.ts';
import type { Compared } from './compared.ts';
import { isLost, type Allowed } from './service.ts';

interface ReversalNow {
  gatewayPaymentId: string;
  reversalId: string;
  kind: 'refund' | 'chargeback';
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
 * What the service knew in lost times cannot be read any more: the end of a chargeback may have been recorded,
 * and is recorded again later.
 */
export async function brokenInvariants({ sql, money, allowed }: Compared): Promise<Violation[]> {
  const payments = await readPayments(sql);
  const reversals = Map.groupBy(await readReversals(sql), (row) => row.gatewayPaymentId);
  const ofPayments = money.flatMap((atGateway) => {
    const { paymentId } = atGateway;
    const known = payments.get(paymentId);
    if (!known) return [];
    const recorded = reversals.get(paymentId) ?? [];
    return [
      ...overpaid(atGateway, known, recorded),
      ...opposite(atGateway, known),
      ...paidThoughRefunded(atGateway, known),
      ...movedWhileCharged(atGateway, known, recorded, allowed),
    ].map((fault) => violation('invariant', known.orderNumber, `${paymentId}: ${fault}`));
  });
  return [...ofPayments, ...(await answersOverruled(sql))];
}

function overpaid(
  atGateway: GatewayMoney,
  { movedAtMs, outsidePaise }: KnownPayment,
  recorded: readonly ReversalNow[],
): string[] {
  const { paymentId, amountPaise, refunds, chargebacks } = atGateway;
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
  const lost = chargebacks.filter(({ status }) => status === 'lost');
  const others = [...live.filter((one) => !ours.includes(one)), ...lost];
  const othersPaise = sumOf(others.filter(({ id }) => known.has(id)));
  if (oursPaise + othersPaise <= amountPaise) return [];
  return [`${oursPaise} paise were paid out and ${othersPaise} taken of ${amountPaise} captured`];
}

function opposite(atGateway: GatewayMoney, { status, isOwn, hasAlert }: KnownPayment): string[] {
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
  { isOwn, confirmedAtMs, paidAtMs }: KnownPayment,
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
  { releaseStartedAtMs, releaseRecordedAtMs }: KnownPayment,
  recorded: readonly ReversalNow[],
  allowed: Allowed,
): string[] {
  const released = [releaseStartedAtMs, releaseRecordedAtMs].filter((ms) => ms !== null);
  const made = refunds.filter(isOurs(paymentId)).map(({ created_at: at }) => at * 1000);
  const time = (ms: number | null) => (ms === null ? 'now' : new Date(ms).toISOString());
  return recorded
    .filter(({ kind }) => kind === 'chargeback')
    .flatMap(({ recordedAtMs, endedAtMs, reversalId }) => {
      const isOpenAt = (ms: number) =>
        ms > recordedAtMs + ROUNDING_MS &&
        ms < (endedAtMs ?? Infinity) - ROUNDING_MS &&
        !isLost(allowed, ms, ROUNDING_MS);
      const at = made.find(isOpenAt) ?? (released.every(isOpenAt) ? released[0] : undefined);
      if (at === undefined) return [];
      const open = `${reversalId} was open, from ${time(recordedAtMs)} to ${time(endedAtMs)}`;
      return [`its money moved at ${time(at)} while ${open}`];
    });
}

async function readReversals(sql: Sql): Promise<ReversalNow[]> {
  return sql<ReversalNow[]>`
    SELECT gateway_payment_id, reversal_id, kind,
      floor(extract(epoch FROM recorded_at) * 1000)::double precision AS recorded_at_ms,
      floor(extract(epoch FROM ended_at) * 1000)::double precision AS ended_at_ms
    FROM gateway_reversals`;
}

async function answersOverruled(sql: Sql): Promise<Violation[]> {
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
  const fault = (name: string) =>
    `was refunded by its dispute's deadline, although ${name} was received before`;
  return rows.map(({ orderNumber, name }) => violation('invariant', orderNumber, fault(name)));
}
