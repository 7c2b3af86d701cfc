import { raiseAlert } from '../../alerts/alerts.ts';
import type { MoveFundsResult } from '../../contracts/activities.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { databaseTime } from '../../db/client.ts';
import type { OrderMailDeps, OutgoingOrderMail } from '../../orders/public.ts';
import { mailsOfSurplus, outgoingMails } from '../../orders/public.ts';
import type { RefundInput } from '../gateway/gateway.ts';
import type { RefundOrChargeback } from '../gateway/gateway-objects.ts';
import { GatewayRefused, moneyKey } from '../gateway/gateway.ts';
import type { GatewayDeps, GatewayRef } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { confirmCallbacks, findPaymentAt } from '../captures/capture-queries.ts';
import type { BookedRefund, SurplusRow } from './refund-queries.ts';
import {
  bookRefundFailed,
  findBookedRefund,
  findOrderToRefundAgain,
  findPaymentsOf,
  finishRefundAgain,
  claimSurplus,
  finishSurplus,
} from './refund-queries.ts';
import type { FundsRow } from './funds-queries.ts';
import { bookMovement, findFunds, findMoved, forgetRefunds } from './funds-queries.ts';
import type { Reversal } from '../reversals/reversal-queries.ts';
import { findBlockingReversals } from '../reversals/reversal-queries.ts';
import { isOurs, recordRefunds, recordRefundsOf } from '../reversals/reversals.ts';
import { NotYet } from './funds.ts';
import type { MoneyLease } from './money-lease.ts';
import { renewMoneyLease, withMoneyLease } from './money-lease.ts';

export interface SurplusDeps extends GatewayDeps {
  orderMails?: OrderMailDeps | undefined;
}

/**
 * Refunds an order's payment, minus what was reversed at the gateway itself, unless an operator has settled the
 * order. Idempotent: callers retry it until it returns.
 *
 * @throws NotYet while the bank processes the refund or a chargeback is open, MoneyLeaseTaken, GatewayUnavailable,
 * GatewayRefused
 */
export async function refundOrder(
  deps: GatewayDeps,
  orderNumber: string,
  reason: string,
): Promise<MoveFundsResult> {
  const funds = await findFunds(deps.sql, orderNumber);
  return withMoneyLease(deps.sql, funds, async (lease) => {
    const moved = await findMoved(deps.sql, orderNumber, 'refund');
    if (moved) return moved;
    let reversals = await findBlockingReversals(deps.sql, funds);
    if (reversals.length > 0) {
      if (await bookEarlierRefund(deps, funds, lease)) return { outcome: 'moved' };
      // That may have recorded more of them.
      reversals = await findBlockingReversals(deps.sql, funds);
    }
    const amountPaise = leftToRefund(reversals, funds);
    if (amountPaise <= 0) return { outcome: 'moved' };
    try {
      const { mayBeTransferred } = funds;
      await refundAtGateway(deps, funds, lease, { amountPaise, mayBeTransferred, reason });
      return { outcome: 'moved' };
    } catch (error) {
      if (!(error instanceof GatewayRefused)) throw error;
      // Part of it may have been refunded at the gateway without being recorded yet.
      if (!(await recordRefundsOf(deps, funds, funds.gatewayPaymentId))) throw error;
      throw new NotYet('Part of the payment was refunded at the gateway itself', { cause: error });
    }
  });
}

/**
 * The amount to refund, in paise.
 *
 * @throws NotYet while a refund made at the gateway itself or a chargeback is undecided
 */
function leftToRefund(reversals: readonly Reversal[], funds: FundsRow): number {
  const undecided = reversals.find(({ state }) => state === 'pending' || state === 'open');
  if (undecided) throw new NotYet(`The ${undecided.kind} ${undecided.reversalId} is undecided`);
  const gone = reversals.filter(({ state }) => state === 'processed' || state === 'lost');
  return gone.reduce((left, { amountPaise: paise }) => left - paise, funds.amountPaise);
}

/**
 * Refunds a capture that its order cannot take, once for each gateway payment. Refunds again if the service's refund
 * failed after it was made. Does nothing if there is nothing to refund.
 *
 * @returns the mails that it wrote, to be sent
 * @throws NotYet, MoneyLeaseTaken, GatewayUnavailable, GatewayRefused
 */
export async function refundSurplus(
  deps: SurplusDeps,
  payment: PaymentRef,
): Promise<OutgoingOrderMail[]> {
  const askedAt = await databaseTime(deps.sql);
  await lookAtRefunds(deps, payment);
  await confirmCallbacks(deps.sql, payment, { askedAt, ofRefunds: true });
  const surplus = await claimSurplus(deps.sql, payment);
  if (!surplus) await refundOrderAgain(deps, payment);
  return surplus?.processedAt === null ? refundCapture(deps, surplus) : [];
}

/**
 * Records what a restored database may not know of an order's payments, and moves no money: that the order cannot take a
 * capture, or that its refund has failed since. An operator who has sent the money back can settle it then.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable, GatewayRefused
 */
export async function recordRefundsOwed(deps: GatewayDeps, orderNumber: string): Promise<void> {
  for (const payment of await findPaymentsOf(deps.sql, orderNumber)) {
    await lookAtRefunds(deps, payment);
    await claimSurplus(deps.sql, payment);
  }
}

/**
 * Asks the gateway for the refunds of a payment. It records those that this service did not make, and reverses the
 * booking of this service's refund if it has failed.
 */
async function lookAtRefunds(deps: GatewayDeps, payment: PaymentRef): Promise<void> {
  const at = await findPaymentAt(deps.sql, payment);
  if (!at) return;
  await withMoneyLease(deps.sql, payment, async () => {
    const refunds = await deps.gateways.forOrder(at).listRefunds(payment.gatewayPaymentId);
    await recordRefunds(deps, at, refunds);
    const booked = await findBookedRefund(deps.sql, payment);
    if (!booked || !hasFailed(booked, refunds.filter(isOurs))) return;
    // The alert is raised before the booking: if the process dies in between, the next try raises it again.
    await raiseAlert(deps, {
      kind: 'refund_failed',
      subject: paymentSubject(payment),
      message: 'A refund has failed at the gateway after it was made: it is made again',
      fields: { ...payment, orderNumber: booked.orderNumber },
    });
    await bookRefundFailed(deps.sql, payment);
  });
}

/** A list may lag behind: the refund that is booked must be in it. Its id is not known after a restore. */
function hasFailed({ movementId }: BookedRefund, ours: readonly RefundOrChargeback[]): boolean {
  const made =
    movementId === null ? ours : ours.filter(({ reversalId }) => reversalId === movementId);
  return made.length > 0 && made.every(({ state }) => state === 'failed');
}

/** Refunds the payment of an order whose refund has failed after it was booked. */
async function refundOrderAgain(deps: GatewayDeps, payment: PaymentRef): Promise<void> {
  const order = await findOrderToRefundAgain(deps.sql, payment);
  if (!order) return;
  await refundOrder(deps, order.orderNumber, order.reason);
  await finishRefundAgain(deps.sql, order.orderNumber);
}

async function refundCapture(deps: SurplusDeps, surplus: SurplusRow): Promise<OutgoingOrderMail[]> {
  const { gateway, gatewayPaymentId, reason, orderNumber } = surplus;
  const subject = paymentSubject(surplus);
  const fields = { gateway, gatewayPaymentId, orderNumber };
  await raiseAlert(deps, {
    kind: 'surplus_capture',
    subject,
    message: 'A capture that its order cannot take is refunded',
    fields: { ...fields, reason },
  });
  if (reason === 'wrong_amount') {
    const message = 'The amount of a capture differs from its order: the capture is refunded';
    await raiseAlert(deps, { kind: 'wrong_amount', subject, message, fields });
  }
  const refundedPaise = await withMoneyLease(deps.sql, surplus, async (lease) => {
    // An operator may have settled it before this process got the lease.
    const current = await claimSurplus(deps.sql, surplus);
    if (!current || current.settledPaise !== null) return 0;
    let { leftPaise: amountPaise } = current;
    if (amountPaise < current.amountPaise) {
      if (await bookEarlierRefund(deps, surplus, lease)) return current.amountPaise;
      amountPaise = (await claimSurplus(deps.sql, surplus))?.leftPaise ?? 0;
    }
    if (amountPaise <= 0) return 0;
    // Only an order's own payment is held.
    await refundAtGateway(deps, surplus, lease, { amountPaise, mayBeTransferred: false, reason });
    return amountPaise;
  });
  const refund = { gatewayPaymentId, amountPaise: refundedPaise, reason };
  const mails = refundedPaise > 0 ? await mailsOfSurplus(deps, orderNumber, refund) : [];
  return outgoingMails(mails, await finishSurplus(deps.sql, surplus, mails));
}

async function refundAtGateway(
  { sql, gateways }: GatewayDeps,
  order: GatewayRef,
  lease: MoneyLease,
  refunded: Pick<RefundInput, 'amountPaise' | 'mayBeTransferred' | 'reason'>,
): Promise<void> {
  const { gatewayPaymentId } = lease;
  const refund = await gateways.forOrder(order).refund({
    ...refunded,
    gatewayPaymentId,
    idempotencyKey: moneyKey(gatewayPaymentId, 'refund'),
    async beforeMoving() {
      await renewMoneyLease(sql, lease);
      // While a chargeback is open, the bank may take the money: with a refund, the buyer would get it twice.
      const reversals = await findBlockingReversals(sql, lease);
      const chargeback = reversals.find(({ state }) => state === 'open');
      if (chargeback) throw new NotYet(`The chargeback ${chargeback.reversalId} is open`);
    },
  });
  await bookRefund(sql, lease, refund);
}

/**
 * Books this service's refund if an earlier try has made it. Otherwise a later reversal would be subtracted from its
 * amount.
 *
 * @returns false if there is none
 * @throws NotYet while the bank processes it, and if the gateway does not have a recorded refund of others any more:
 *   its money has come back, and an operator settles the order
 */
async function bookEarlierRefund(
  deps: GatewayDeps,
  order: GatewayRef,
  lease: MoneyLease,
): Promise<boolean> {
  const refunds = await deps.gateways.forOrder(order).listRefunds(lease.gatewayPaymentId);
  const made = refunds.find((refund) => isOurs(refund) && refund.state !== 'failed');
  if (made) {
    await bookRefund(deps.sql, lease, made);
    return true;
  }
  // Not one that the list lacks, because a list may lag behind.
  const failed = refunds.filter((refund) => isOurs(refund) && refund.state === 'failed');
  await forgetRefunds(deps.sql, lease, failed);
  await recordRefunds(deps, order, refunds);
  const processed = new Set(
    refunds.filter(({ state }) => state === 'processed').map(({ reversalId }) => reversalId),
  );
  const recorded = await findBlockingReversals(deps.sql, lease);
  const lost = recorded.find((one) => one.state === 'processed' && !processed.has(one.reversalId));
  if (lost) throw new NotYet(`The gateway has not processed the refund ${lost.reversalId}`);
  return false;
}

async function bookRefund(sql: Sql, lease: MoneyLease, refund: RefundOrChargeback): Promise<void> {
  if (refund.state !== 'processed') throw new NotYet(`The refund is ${refund.state}`);
  const { reversalId: movementId, amountPaise } = refund;
  await bookMovement(sql, lease, 'refund', { movementId, amountPaise });
}
