import type { AlertDeps, NewAlert } from '../../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import type { MoveFundsResult } from '../../contracts/activities.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { OrderMailDeps, OutgoingOrderMail } from '../../orders/public.ts';
import { mailsOfSurplus, outgoingMails } from '../../orders/public.ts';
import type { GatewayTransfer, PaymentGateway, RefundInput } from '../gateway/gateway.ts';
import {
  GatewayRefused,
  INSUFFICIENT_BALANCE,
  moneyKey,
  TransferFailed,
} from '../gateway/gateway.ts';
import type { GatewayDeps, OrderGateway } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { alertBalanceLow } from './balance.ts';
import type { MoneyLease } from './money-lease.ts';
import { endMoneyLease, renewMoneyLease, withMoneyLease } from './money-lease.ts';
import type { FundsRow, SurplusRow } from '../queries.ts';
import * as queries from '../queries.ts';
import { isOurs, recordRefundsOf } from '../reversals/reversals.ts';

export interface SurplusDeps extends GatewayDeps {
  orderMails?: OrderMailDeps | undefined;
}

const MOVED = { outcome: 'moved' } as const;

/** The operation has not finished. This is not an error: the caller retries it. */
class NotYet extends Error {
  override readonly name = 'NotYet';
}

/** Part of the payment was or may be reversed at the gateway, so an operator must settle the order. */
export class ReleaseBlocked extends Error {
  override readonly name = 'ReleaseBlocked';
}

export function alertReleaseBlocked(
  deps: AlertDeps,
  orderNumber: string,
  error?: Error,
): Promise<void> {
  return raiseAlert(deps, {
    kind: 'release_blocked',
    subject: orderNumber,
    message: 'Funds are not released: part of the payment was or may be reversed at the gateway',
    fields: { orderNumber },
    error,
  });
}

/**
 * Raises the alert that the gateway refuses an operation: one for each order or surplus payment, but only one for
 * everything that waits for the balance at the same gateway.
 *
 * @param subject an order number, or the subject of a payment
 * @param fields more facts for the alert about an operation that no activity makes
 */
export async function alertGatewayRefused(
  deps: AlertDeps,
  subject: string,
  error: GatewayRefused,
  fields: NewAlert['fields'] = {},
): Promise<void> {
  const isForBalance = error.code === INSUFFICIENT_BALANCE;
  await queries.writeBalanceRefused(deps.sql, subject, isForBalance);
  if (isForBalance) return alertBalanceLow(deps, error);
  const message = 'The gateway refuses permanently';
  await raiseAlert(deps, { kind: 'gateway_refused', subject, message, fields, error });
}

/**
 * Releases an order's funds to the merchant, unless an operator has settled the order. Idempotent: callers retry it
 * until it returns.
 *
 * @throws ReleaseBlocked, NotYet while the merchant is suspended or the transfer is in progress, MoneyLeaseTaken,
 * GatewayUnavailable, GatewayRefused
 */
export async function releaseFunds(
  deps: GatewayDeps,
  orderNumber: string,
): Promise<MoveFundsResult> {
  const funds = await fundsOf(deps.sql, orderNumber);
  return withMoneyLease(deps.sql, funds, async (lease) => {
    const moved = await queries.findMoved(deps.sql, orderNumber, 'release');
    if (moved) return moved;
    if (funds.merchantStatus !== 'APPROVED') {
      throw new NotYet(`Merchant ${funds.merchantId} is ${funds.merchantStatus}`);
    }
    await recordRefundsOf(deps, funds, funds.gatewayPaymentId);
    await assertNotBlocked(deps.sql, orderNumber);
    const transfer = await transferWith(deps, funds, 'releaseFunds', lease);
    if (transfer.state !== 'released') throw new NotYet(`The transfer is ${transfer.state}`);
    if (transfer.fee !== null && !funds.hasTransferFee) {
      await queries.writeLateFacts(deps.sql, funds, {
        utr: null,
        ofPayment: null,
        ofTransfer: transfer.fee,
      });
    }
    await queries.bookMovement(deps.sql, funds, 'release', transfer.transferId);
    return MOVED;
  });
}

async function assertNotBlocked(sql: Sql, orderNumber: string): Promise<void> {
  const [reversal] = await queries.findBlockingReversals(sql, orderNumber);
  if (!reversal) return;
  const { kind, reversalId, state } = reversal;
  throw new ReleaseBlocked(`Not released: the ${kind} ${reversalId} at the gateway is ${state}`);
}

/**
 * Holds an order's funds for its merchant at the gateway, as soon as they are captured. A refusal raises an alert,
 * and the service tries again after an hour. After an unknown outcome the lease is kept until it expires, because
 * the request may still reach the gateway.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function holdFunds(deps: GatewayDeps, orderNumber: string): Promise<void> {
  const { sql } = deps;
  const lease = await queries.claimHold(sql, orderNumber);
  if (lease === null) return;
  const funds = await fundsOf(sql, orderNumber);
  try {
    const transfer = await transferWith(deps, funds, 'holdFunds', lease);
    // For a pending transfer, the next run asks for its state.
    if (transfer.state !== 'pending') {
      await queries.markHeld(sql, lease, transfer);
      await clearAlert(sql, 'gateway_refused', orderNumber, 'the funds are on hold');
    }
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    await alertGatewayRefused(deps, orderNumber, error, { orderNumber });
    await queries.markHoldRefused(sql, lease);
  }
  await endMoneyLease(sql, lease);
}

/**
 * Asks the gateway again about the hold of a payment, after a report about a transfer of it. The report itself is
 * not believed.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function lookAtHoldAgain(
  deps: GatewayDeps,
  { hasFailed, ...payment }: PaymentRef & { hasFailed: boolean },
): Promise<void> {
  const orderNumber = await queries.reopenHold(deps.sql, payment, hasFailed);
  if (orderNumber !== undefined) await holdFunds(deps, orderNumber);
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
  const funds = await fundsOf(deps.sql, orderNumber);
  return withMoneyLease(deps.sql, funds, async (lease) => {
    const moved = await queries.findMoved(deps.sql, orderNumber, 'refund');
    if (moved) return moved;
    const amountPaise = await leftToRefund(deps.sql, funds);
    if (amountPaise <= 0) return MOVED;
    try {
      const { mayBeTransferred } = funds;
      await refundPayment(deps, { order: funds, lease, amountPaise, mayBeTransferred, reason });
      return MOVED;
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
async function leftToRefund(sql: Sql, funds: FundsRow): Promise<number> {
  const reversals = await queries.findBlockingReversals(sql, funds.orderNumber);
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
  const askedAtMs = performance.now();
  await recordFailedRefund(deps, payment);
  await queries.confirmCallbacks(deps.sql, payment, { askedAtMs, ofFailedRefund: true });
  const surplus = await queries.claimSurplus(deps.sql, payment);
  if (!surplus) await refundOrderAgain(deps, payment);
  const mails = surplus?.processedAt === null ? await refundCapture(deps, surplus) : [];
  await clearAlert(deps.sql, 'refund_failed', paymentSubject(payment), 'the refund was made again');
  return mails;
}

/** Asks the gateway about a booked refund, and reverses the booking if the refund has failed. */
async function recordFailedRefund(deps: GatewayDeps, payment: PaymentRef): Promise<void> {
  const booked = await queries.findBookedRefund(deps.sql, payment);
  if (!booked) return;
  const { gatewayPaymentId } = payment;
  await withMoneyLease(deps.sql, payment, async () => {
    const refunds = await deps.gateways.forOrder(booked).listRefunds(gatewayPaymentId);
    const ours = refunds.filter(isOurs);
    if (ours.length === 0 || ours.some(({ state }) => state !== 'failed')) return;
    // The alert first: a process that dies between the two raises it again.
    await raiseAlert(deps, {
      kind: 'refund_failed',
      subject: paymentSubject(payment),
      message: 'A refund has failed at the gateway after it was made: it is made again',
      fields: { ...payment, orderNumber: booked.orderNumber },
    });
    await queries.bookRefundFailed(deps.sql, payment);
  });
}

/** Refunds the payment of an order whose refund has failed after it was booked. */
async function refundOrderAgain(deps: GatewayDeps, payment: PaymentRef): Promise<void> {
  const order = await queries.findOrderToRefundAgain(deps.sql, payment);
  if (!order) return;
  await refundOrder(deps, order.orderNumber, order.reason);
  await queries.finishRefundAgain(deps.sql, order.orderNumber);
}

async function refundCapture(deps: SurplusDeps, surplus: SurplusRow): Promise<OutgoingOrderMail[]> {
  const { gateway, gatewayPaymentId, reason, orderNumber } = surplus;
  const subject = paymentSubject(surplus);
  await raiseAlert(deps, {
    kind: 'surplus_capture',
    subject,
    message: 'A capture that its order cannot take is refunded',
    fields: { gateway, gatewayPaymentId, orderNumber, reason },
  });
  if (reason === 'wrong_amount') {
    await raiseAlert(deps, {
      kind: 'wrong_amount',
      subject,
      message: 'The amount of a capture differs from its order: the capture is refunded',
      fields: { gateway, gatewayPaymentId, orderNumber },
    });
  }
  const refundedPaise = await withMoneyLease(deps.sql, surplus, async (lease) => {
    // An operator may have settled it before this process got the lease.
    const current = await queries.claimSurplus(deps.sql, surplus);
    if (!current || current.settledPaise !== null || current.leftPaise <= 0) return 0;
    const { leftPaise: amountPaise } = current;
    // Only an order's own payment is held.
    const mayBeTransferred = false;
    await refundPayment(deps, { order: surplus, lease, amountPaise, mayBeTransferred, reason });
    return amountPaise;
  });
  const refund = { gatewayPaymentId, amountPaise: refundedPaise, reason };
  const mails = refundedPaise > 0 ? await mailsOfSurplus(deps, orderNumber, refund) : [];
  const written = await queries.finishSurplus(deps.sql, surplus, mails);
  await clearAlert(
    deps.sql,
    ['surplus_capture', 'wrong_amount'],
    subject,
    'the capture was refunded',
  );
  return outgoingMails(mails, written);
}

/**
 * With an open chargeback the bank may take the money of the payment. If it were also refunded, the buyer would get
 * it twice.
 */
async function assertNoOpenChargeback(sql: Sql, payment: PaymentRef): Promise<void> {
  const chargeback = await queries.findOpenChargeback(sql, payment);
  if (chargeback) throw new NotYet(`The chargeback ${chargeback.reversalId} is open`);
}

async function refundPayment(
  { sql, gateways }: GatewayDeps,
  refunded: Pick<RefundInput, 'amountPaise' | 'mayBeTransferred' | 'reason'> & {
    order: OrderGateway;
    lease: MoneyLease;
  },
): Promise<void> {
  const { order, lease, ...amountAndReason } = refunded;
  const { gatewayPaymentId } = lease;
  const refund = await gateways.forOrder(order).refund({
    ...amountAndReason,
    gatewayPaymentId,
    idempotencyKey: moneyKey(gatewayPaymentId, 'refund'),
    beforeMoving: async () => {
      await renewMoneyLease(sql, lease);
      await assertNoOpenChargeback(sql, lease);
    },
  });
  if (refund.state !== 'processed') throw new NotYet(`The refund is ${refund.state}`);
  await queries.bookMovement(sql, lease, 'refund', refund.reversalId);
}

async function transferWith(
  deps: GatewayDeps,
  funds: FundsRow,
  operation: 'holdFunds' | 'releaseFunds',
  lease: MoneyLease,
): Promise<GatewayTransfer> {
  const gateway = deps.gateways.forOrder(funds);
  const { gatewayPaymentId } = lease;
  const input = {
    gatewayPaymentId,
    amountPaise: funds.amountPaise,
    linkedAccountId: await linkedAccountOf(deps, gateway, funds, operation),
    idempotencyKey: moneyKey(gatewayPaymentId, 'transfer'),
    knownFailures: funds.transferFailures,
    beforeMoving: () => renewMoneyLease(deps.sql, lease),
  };
  try {
    return await gateway[operation](input);
  } catch (error) {
    if (error instanceof TransferFailed) {
      await queries.writeTransferFailures(deps.sql, lease, error.failures);
    }
    throw error;
  }
}

/**
 * The linked account of the payment, frozen when it was captured. A sandbox account is created when it is first
 * needed; in production an operator adds the real one.
 */
async function linkedAccountOf(
  { sql }: GatewayDeps,
  gateway: PaymentGateway,
  funds: FundsRow,
  operation: string,
): Promise<string> {
  const known = funds.linkedAccountId ?? (await queries.freezeLinkedAccount(sql, funds));
  if (known !== null) return known;
  if (funds.environment === 'production') {
    const remedy = `merchant ${funds.merchantId} has none: merchant approve --linked-account`;
    throw new GatewayRefused(operation, 'NO_LINKED_ACCOUNT', remedy);
  }
  const { linkedAccountId } = await gateway.createLinkedAccount(sandboxAccount(funds));
  await queries.saveLinkedAccount(sql, funds.merchantId, funds, linkedAccountId);
  return (await queries.freezeLinkedAccount(sql, funds)) ?? linkedAccountId;
}

function sandboxAccount(funds: FundsRow) {
  // The gateway accepts 4 to 200 characters.
  const name = `${funds.merchantName} (sandbox)`.slice(0, 200);
  return {
    email: `${funds.merchantId.toLowerCase()}@sandbox.example.com`,
    phone: '9000090000',
    legalBusinessName: name,
    contactName: name,
    businessType: 'proprietorship',
    category: 'ecommerce',
    subcategory: 'ecommerce_marketplace',
    registeredAddress: {
      street1: '1 Sandbox Road',
      street2: 'Test Nagar',
      city: 'Bengaluru',
      state: 'KARNATAKA',
      postalCode: '560001',
    },
  };
}

async function fundsOf(sql: Sql, orderNumber: string): Promise<FundsRow> {
  const funds = await queries.findFunds(sql, orderNumber);
  if (!funds) throw new Error(`Order ${orderNumber} has no payment`);
  return funds;
}
