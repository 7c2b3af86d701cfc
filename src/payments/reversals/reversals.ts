import type { AlertDeps } from '../../alerts/alerts.ts';
import { reportAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { databaseTime } from '../../db/client.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { RefundOrChargeback } from '../gateway/gateway-objects.ts';
import { moneyKey } from '../gateway/gateway.ts';
import type { GatewayDeps, GatewayRef } from '../gateway/gateways.ts';
import { findBookedRefund } from '../funds/refund-queries.ts';
import type { ReversalAlert, ReversalResult, ReversalSource } from './reversal-queries.ts';
import { takeUndecided, writeReversal } from './reversal-queries.ts';

/**
 * Records a chargeback or a refund made at the gateway, unless this service made the refund. It is idempotent and
 * does not depend on the order of reports. A callback is the source only of a chargeback that is open.
 *
 * @param askedAt when the gateway was asked: see {@link databaseTime}. Without it, now: a refund never opens again
 * @returns `ours` when this service made it, `unknown_payment` when its payment is not recorded
 */
export async function recordReversal(
  deps: AlertDeps,
  at: GatewayRef,
  found: RefundOrChargeback,
  source: ReversalSource,
  askedAt?: string,
): Promise<'ours' | ReversalResult['outcome']> {
  if (isOurs(found)) return 'ours';
  const { idempotencyKey: _, ...reversal } = found;
  const { reversalId, gatewayPaymentId, kind, state, amountPaise } = reversal;
  const isOver = state === 'won' || state === 'failed';
  const fields = { gateway: at.gateway, gatewayPaymentId, reversalId, state, amountPaise };
  const alertKind = kind === 'refund' ? 'refunded_at_gateway' : 'charged_back';
  const message = isOver ? CAME_BACK : MESSAGES[state];
  const alert: ReversalAlert = { kind: alertKind, message, fields };
  const result = await writeReversal(deps.sql, at, reversal, source, { alert, askedAt });
  if (result.outcome === 'unknown_payment' || result.outcome === 'known') return result.outcome;
  const { orderNumber } = result;
  const logged = { orderNumber, ...fields };
  if (!isOver || result.outcome === 'came_back')
    reportAlert(deps, { ...alert, subject: orderNumber, fields: logged });
  else deps.log.info(logged, 'A reversal at the gateway ended without taking money');
  return result.outcome;
}

/** True if this service made the refund. */
export const isOurs = ({ idempotencyKey, gatewayPaymentId }: RefundOrChargeback): boolean =>
  idempotencyKey === moneyKey(gatewayPaymentId, 'refund');

const MESSAGES = {
  pending: 'A refund that this service has not made is in progress at the gateway',
  processed: 'A payment was refunded at the gateway itself',
  open: "The buyer's bank has opened a chargeback of a payment",
  lost: "The buyer's bank has taken the money of a payment: the chargeback is lost",
} as const satisfies Partial<Record<RefundOrChargeback['state'], string>>;

const CAME_BACK =
  'A refund or chargeback that had taken the money is reported as ended without it, and the ledger keeps it: propose a settlement, or, of an order that has ended, pay the difference outside and clear the alert';

/**
 * Records every refund of a payment that this service did not make. Its callback may have been lost.
 *
 * @returns whether any refund is new or has a new state
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordRefundsOf(
  deps: GatewayDeps,
  at: GatewayRef,
  gatewayPaymentId: string,
): Promise<boolean> {
  return recordRefunds(deps, at, await deps.gateways.forOrder(at).listRefunds(gatewayPaymentId));
}

/** The same for refunds that were already fetched, newest first. */
export async function recordRefunds(
  deps: AlertDeps,
  at: GatewayRef,
  refunds: readonly RefundOrChargeback[],
): Promise<boolean> {
  let isChanged = false;
  for (const refund of refunds.toReversed()) {
    isChanged = (await recordReversal(deps, at, refund, 'gateway')) === 'recorded' || isChanged;
  }
  return isChanged;
}

/**
 * Starts the refund's workflow if a refund by this service that is booked in the ledger is reported as failed. The
 * workflow asks the gateway, and refunds again. A refund that is not booked yet needs no start: the call that makes
 * it reads the failure itself.
 */
export async function refundAgainIfBooked(
  { sql, workflows }: { sql: Sql; workflows: OrderWorkflows },
  payment: PaymentRef,
): Promise<void> {
  if (await findBookedRefund(sql, payment)) await workflows.startSurplusRefund(payment);
}

/** The interval between two checks of a reversal that the gateway has not decided, and the most checks in one run. */
const UNDECIDED_EVERY_MS = 3_600_000;
const UNDECIDED_PER_RUN = 50;

/**
 * Records chargebacks and ends of refunds whose callbacks were lost. It fetches each gateway's newest chargebacks in
 * one call, and each reversal that is recorded as open or pending. A failure is logged and does not stop the rest.
 */
export async function recordMissedReversals(deps: GatewayDeps): Promise<void> {
  for (const { port, ...at } of deps.gateways.all) {
    await loggingFailure(deps, async () => {
      const askedAt = await databaseTime(deps.sql);
      for (const chargeback of await port.listNewestChargebacks()) {
        await recordReversal(deps, at, chargeback, 'gateway', askedAt);
      }
    });
  }
  const undecided = { limit: UNDECIDED_PER_RUN, everyMs: UNDECIDED_EVERY_MS };
  for (const { reversalId, gatewayPaymentId, kind, ...at } of await takeUndecided(
    deps.sql,
    undecided,
  )) {
    await loggingFailure(deps, async () => {
      if (kind === 'refund') await recordRefundsOf(deps, at, gatewayPaymentId);
      else await recordChargebackNow(deps, at, reversalId);
    });
  }
}

/** Records the present state of a chargeback at the gateway. @throws GatewayUnavailable, GatewayRefused */
export async function recordChargebackNow(
  deps: GatewayDeps,
  at: GatewayRef,
  reversalId: string,
): Promise<void> {
  const askedAt = await databaseTime(deps.sql);
  const chargeback = await deps.gateways.forOrder(at).fetchChargeback(reversalId);
  await recordReversal(deps, at, chargeback, 'gateway', askedAt);
}

async function loggingFailure({ log }: GatewayDeps, work: () => Promise<void>): Promise<void> {
  await work().catch((err: unknown) => {
    log.warn({ err }, 'Refunds and chargebacks could not be checked: the next run retries');
  });
}
