import type { Logger } from 'pino';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { GatewayChargeback, GatewayRefund } from './gateway.ts';
import { moneyKey } from './gateway.ts';
import type { Gateways, OrderGateway } from './gateways.ts';
import type { Reversal } from './queries.ts';
import * as queries from './queries.ts';

/** What finding reversals at the gateway needs. */
export interface ReversalDeps {
  sql: Sql;
  gateways: Gateways;
  log: Logger;
}

/** Recording a reversal does not call the gateway. */
type RecordReversalDeps = Pick<ReversalDeps, 'sql' | 'log'>;

/**
 * Records a refund made at the gateway, unless this service has made it. Idempotent and independent
 * of order, for callbacks and for refunds that the service fetches.
 *
 * @returns `ours` when this service has made it, `unknown_payment` when its payment is not recorded
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

/** Records a chargeback, in the same way as {@link recordRefund}. */
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
  const result = await queries.writeReversal(deps.sql, at, reversal);
  if (result.outcome !== 'recorded') return result.outcome;
  const { reversalId, gatewayPaymentId, kind, state } = reversal;
  const fields = {
    orderNumber: result.orderNumber,
    gateway: at.gateway,
    gatewayPaymentId,
    reversalId,
    state,
    amountPaise: reversal.amountPaise,
  };
  if (state === 'won' || state === 'failed') {
    await clearUnlessBlocked(deps.sql, result.orderNumber);
    deps.log.info(fields, 'A reversal at the gateway ended without taking money');
  } else {
    await raiseAlert(deps, {
      kind: kind === 'refund' ? 'refunded_at_gateway' : 'charged_back',
      subject: result.orderNumber,
      message: MESSAGES[state],
      fields,
    });
  }
  return 'recorded';
}

const MESSAGES = {
  pending: 'A refund that this service has not made is in progress at the gateway',
  processed: 'A payment was refunded at the gateway itself',
  open: "The buyer's bank has opened a chargeback of a payment",
  lost: "The buyer's bank has taken the money of a payment: the chargeback is lost",
} as const satisfies Partial<Record<Reversal['state'], string>>;

async function clearUnlessBlocked(sql: Sql, orderNumber: string): Promise<void> {
  if ((await queries.findBlockingReversals(sql, orderNumber)).length > 0) return;
  for (const kind of ['refunded_at_gateway', 'charged_back', 'release_blocked'] as const) {
    await clearAlert(sql, kind, orderNumber, 'gateway');
  }
}

/**
 * Records every refund of a payment that this service has not made.
 *
 * @returns whether any refund is new or has a new state
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordRefundsOf(
  deps: ReversalDeps,
  at: OrderGateway,
  gatewayPaymentId: string,
): Promise<boolean> {
  const refunds = await deps.gateways.forOrder(at).listRefunds(gatewayPaymentId);
  let isChanged = false;
  for (const refund of refunds.toReversed()) {
    isChanged = (await recordRefund(deps, at, refund)) === 'recorded' || isChanged;
  }
  return isChanged;
}

/**
 * Records refunds of a payment whose callbacks were lost, if the gateway reports a larger refunded
 * amount than is recorded.
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

/** The interval between two checks of an open chargeback, and the most checks in one run. */
const CHARGEBACK_EVERY_MS = 3_600_000;
const CHARGEBACKS_PER_RUN = 50;

/**
 * Records chargebacks whose callbacks were lost: fetches each gateway's newest ones in one call, and
 * each that is recorded as open. A failure is logged and does not stop the rest.
 */
export async function recordMissedChargebacks(deps: ReversalDeps): Promise<void> {
  for (const { port, ...at } of deps.gateways.all) {
    await loggingFailure(deps, async () => {
      for (const chargeback of await port.listNewestChargebacks()) {
        await recordChargeback(deps, at, chargeback);
      }
    });
  }
  const open = { limit: CHARGEBACKS_PER_RUN, everyMs: CHARGEBACK_EVERY_MS };
  for (const { reversalId, ...at } of await queries.takeOpenChargebacks(deps.sql, open)) {
    await loggingFailure(deps, async () => {
      const chargeback = await deps.gateways.forOrder(at).fetchChargeback(reversalId);
      await recordChargeback(deps, at, chargeback);
    });
  }
}

async function loggingFailure({ log }: ReversalDeps, work: () => Promise<void>): Promise<void> {
  await work().catch((err: unknown) => {
    log.warn({ err }, 'Chargebacks could not be checked: the next run retries');
  });
}
