import type { Logger } from 'pino';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { GatewayChargeback, GatewayRefund } from './gateway.ts';
import { moneyKey } from './gateway.ts';
import type { Gateways, OrderGateway } from './gateways.ts';
import type { Reversal } from './queries.ts';
import * as queries from './queries.ts';

export interface ReversalDeps {
  sql: Sql;
  gateways: Gateways;
  log: Logger;
}

/** What is noted of a reversal needs no gateway. */
type RecordReversalDeps = Pick<ReversalDeps, 'sql' | 'log'>;

/**
 * Records a refund at the gateway, unless this service has made it. Idempotent, in any order, for
 * callbacks and for every caller that asks the gateway.
 *
 * @returns `unknown_payment` when its payment is not recorded
 */
export function recordRefund(
  deps: RecordReversalDeps,
  at: OrderGateway,
  refund: GatewayRefund,
): Promise<'ours' | queries.ReversalResult['outcome']> {
  const { gatewayPaymentId } = refund;
  if (refund.idempotencyKey === moneyKey(gatewayPaymentId, 'refund')) {
    return Promise.resolve('ours');
  }
  return recordReversal(deps, at, {
    reversalId: refund.gatewayRefundId,
    gatewayPaymentId,
    kind: 'refund',
    amountPaise: refund.amountPaise,
    state: refund.status,
  });
}

/** Records a chargeback, in the same way. */
export function recordChargeback(
  deps: RecordReversalDeps,
  at: OrderGateway,
  chargeback: GatewayChargeback,
): Promise<queries.ReversalResult['outcome']> {
  return recordReversal(deps, at, {
    reversalId: chargeback.gatewayChargebackId,
    gatewayPaymentId: chargeback.gatewayPaymentId,
    kind: 'chargeback',
    amountPaise: chargeback.amountPaise,
    state: chargeback.state,
  });
}

async function recordReversal(
  deps: RecordReversalDeps,
  at: OrderGateway,
  reversal: Reversal,
): Promise<queries.ReversalResult['outcome']> {
  const note = await queries.writeReversal(deps.sql, at, reversal);
  if (note.outcome !== 'noted') return note.outcome;
  const { reversalId, gatewayPaymentId, kind, state } = reversal;
  const fields = {
    orderNumber: note.orderNumber,
    gateway: at.gateway,
    gatewayPaymentId,
    reversalId,
    state,
    amountPaise: reversal.amountPaise,
  };
  if (state === 'won' || state === 'failed') {
    await clearIfNothingStands(deps.sql, note.orderNumber);
    deps.log.info(fields, 'A reversal at the gateway came to nothing');
  } else {
    await raiseAlert(deps, {
      kind: kind === 'refund' ? 'refunded_at_gateway' : 'charged_back',
      subject: note.orderNumber,
      message: MESSAGES[state],
      fields,
    });
  }
  return 'noted';
}

const MESSAGES = {
  pending: 'A refund that this service has not made is under way at the gateway',
  processed: 'Somebody has refunded a payment at the gateway',
  open: "The buyer's bank asks for the money of a payment back",
  lost: "The buyer's bank has taken the money of a payment back",
} as const satisfies Partial<Record<Reversal['state'], string>>;

async function clearIfNothingStands(sql: Sql, orderNumber: string): Promise<void> {
  if ((await queries.findBlockingReversals(sql, orderNumber)).length > 0) return;
  for (const kind of ['refunded_at_gateway', 'charged_back', 'release_blocked'] as const) {
    await clearAlert(sql, kind, orderNumber, 'gateway');
  }
}

/**
 * Records every refund of a payment that this service has not made.
 *
 * @returns whether any was news
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordRefundsOf(
  deps: ReversalDeps,
  at: OrderGateway,
  gatewayPaymentId: string,
): Promise<boolean> {
  const refunds = await deps.gateways.forOrder(at).listRefunds(gatewayPaymentId);
  let isNews = false;
  for (const refund of refunds.toReversed()) {
    isNews = (await recordRefund(deps, at, refund)) === 'noted' || isNews;
  }
  return isNews;
}

/**
 * Looks for refunds of a payment whose callbacks were lost, where the gateway says that more of it
 * was refunded than is recorded.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordMissedRefunds(
  deps: ReversalDeps,
  at: OrderGateway,
  payment: { gatewayPaymentId: string; refundedPaise: number },
): Promise<void> {
  const { gatewayPaymentId, refundedPaise } = payment;
  if (refundedPaise === 0) return;
  const ref = { gateway: at.gateway, gatewayPaymentId };
  if (refundedPaise <= (await queries.knownRefundedPaise(deps.sql, ref))) return;
  await recordRefundsOf(deps, at, gatewayPaymentId);
}

/** How often the gateway is asked about a chargeback that is open, and about how many at a time. */
const CHARGEBACK_EVERY_MS = 3_600_000;
const CHARGEBACKS_AT_A_TIME = 50;

/**
 * Finds chargebacks whose callbacks were lost: each gateway is asked for its newest ones, in one call,
 * and about each that is recorded as open. One failure does not stop the rest.
 */
export async function recordMissedChargebacks(deps: ReversalDeps): Promise<void> {
  for (const { port, ...at } of deps.gateways.all) {
    await orLater(deps, async () => {
      for (const chargeback of await port.listNewestChargebacks()) {
        await recordChargeback(deps, at, chargeback);
      }
    });
  }
  const open = { limit: CHARGEBACKS_AT_A_TIME, everyMs: CHARGEBACK_EVERY_MS };
  for (const { reversalId, ...at } of await queries.takeOpenChargebacks(deps.sql, open)) {
    await orLater(deps, async () => {
      const chargeback = await deps.gateways.forOrder(at).fetchChargeback(reversalId);
      await recordChargeback(deps, at, chargeback);
    });
  }
}

async function orLater({ log }: ReversalDeps, work: () => Promise<void>): Promise<void> {
  await work().catch((err: unknown) => log.warn({ err }, 'Chargebacks: once more later'));
}
