import type { Fragment } from 'postgres';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside, jsonRow } from '../../db/client.ts';
import type { Settlement } from '../../domain/index.ts';
import { phasesThatTake, SETTLE_COMMANDS } from '../../domain/index.ts';
import { requestFields } from '../../http/request-context.ts';

/** The database's figures of a payment, in paise. */
export interface SettlementFigures {
  /** The amount that is neither released nor returned. */
  restPaise: number;
  /** Refunds made at the gateway itself that have not failed. */
  refundedPaise: number;
  /** Chargebacks that are lost or undecided. */
  chargedBackPaise: number;
}

/** A settlement to record, with the figures that were checked. */
export interface NewSettlement extends SettlementFigures {
  outcome: Settlement;
  reference: string | null;
  reason: string;
  /** True if the refunds and transfers at the gateway were read. */
  isChecked: boolean;
}

export type SettlementResult =
  | 'recorded'
  /** Another settlement is recorded. */
  | 'settled'
  /** The order has no money to settle. */
  | 'refused'
  /** The surplus capture is refunded. */
  | 'refunded'
  /** The figures have changed since they were read. */
  | 'changed'
  /** A settlement of another order has the reference. */
  | 'reference_taken';

/** Reads the captured amount of a payment, and the figures for its settlement. */
export async function findSettlementFigures(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<SettlementFigures & { capturedPaise: number }> {
  const [row] = await sql<(SettlementFigures & { capturedPaise: number })[]>`
    SELECT p.amount_paise AS captured_paise, f.*
    FROM payments p, settlement_figures(p.gateway, p.gateway_payment_id) f
    WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}`;
  if (!row) throw new Error(`Payment ${gatewayPaymentId} at ${gateway} has no row`);
  return row;
}

/** True if a settlement of another order has the reference of the bank transfer. */
export async function isReferenceTaken(
  sql: Sql,
  orderNumber: string,
  reference: string | null = null,
): Promise<boolean> {
  const [row] = await sql<[{ isTaken: boolean }]>`
    SELECT is_reference_taken(${reference}, ${orderNumber}) AS is_taken`;
  return row.isTaken;
}

/** Who settles, and what the statement also writes when the settlement is recorded. */
export interface SettlementBy {
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** Runs the statement of a settlement. @param written calls the SQL function that records it */
async function recordedBy(
  sql: Sql,
  written: Fragment,
  alongside: Alongside | undefined,
): Promise<SettlementResult> {
  const [row] = await sql<[{ result: SettlementResult }]>`
    WITH written AS MATERIALIZED (SELECT ${written} AS result),
    recorded AS (SELECT FROM written WHERE result = 'recorded')
    ${alongsideQuery(sql, alongside, 'recorded')}
    SELECT result FROM written ${andAlongside(sql, alongside)}`;
  return row.result;
}

/** Records the settlement of an order, with its command, under the money lease of its payment. */
export async function writeSettlement(
  sql: Sql,
  { actor, alongside }: SettlementBy,
  orderNumber: string,
  settlement: NewSettlement,
): Promise<SettlementResult> {
  const phases = phasesThatTake(SETTLE_COMMANDS[settlement.outcome]);
  const by = { ...actor, requestId: requestFields().requestId ?? null };
  const written = sql`write_settlement(${orderNumber}, ${jsonRow(sql, settlement)},
    ${jsonRow(sql, by)}, ${phases}::text[])`;
  return recordedBy(sql, written, alongside);
}

/** A surplus capture, as a settlement finds it. */
export interface SurplusCapture extends PaymentRef {
  amountPaise: number;
  /** True until it is refunded or settled. */
  isWaiting: boolean;
  isSettled: boolean;
  /** The reference of its settlement. */
  reference: string | null;
}

/** Lists the surplus captures of an order, oldest first. */
export async function listSurplus(sql: Sql, orderNumber: string): Promise<SurplusCapture[]> {
  return sql<SurplusCapture[]>`
    SELECT gateway, gateway_payment_id, amount_paise, processed_at IS NULL AND settled_paise IS NULL AS is_waiting,
      settled_paise IS NOT NULL AS is_settled, reference
    FROM surplus_refunds WHERE order_number = ${orderNumber} ORDER BY started_at, gateway_payment_id`;
}

/** Records the settlement of a surplus capture in the same way. */
export async function writeSurplusSettlement(
  sql: Sql,
  { actor, alongside }: SettlementBy,
  { gateway, gatewayPaymentId }: PaymentRef,
  settlement: NewSettlement,
): Promise<SettlementResult> {
  const written = sql`write_surplus_settlement(${gateway}, ${gatewayPaymentId},
    ${jsonRow(sql, settlement)}, ${jsonRow(sql, actor)})`;
  return recordedBy(sql, written, alongside);
}
