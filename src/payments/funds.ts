import type { Logger } from 'pino';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { PaymentRef } from '../contracts/ids.ts';
import type { Settlement } from '../domain/index.ts';
import type { GatewayTransfer, PaymentGateway } from './gateway.ts';
import { GatewayRefused, GatewayUnavailable, moneyKey } from './gateway.ts';
import type { Gateways, OrderGateway } from './gateways.ts';
import { paymentSubject } from './gateways.ts';
import type { MoneyLease } from './money-lease.ts';
import { endMoneyLease, renewMoneyLease, withMoneyLease } from './money-lease.ts';
import type { FundsRow } from './queries.ts';
import * as queries from './queries.ts';
import { findSettlement } from './settle-outside.ts';
import { recordMissedRefunds, recordRefundsOf } from './reversals.ts';

export interface FundsDeps {
  sql: Sql;
  gateways: Gateways;
  log: Logger;
}

/** Nothing is wrong, it only takes longer: to be asked again. */
class NotYet extends Error {
  override readonly name = 'NotYet';
}

/** Some of an order's payment has left at the gateway, or may: an operator has to end the order. */
export class ReleaseBlocked extends Error {
  override readonly name = 'ReleaseBlocked';
}

/**
 * Records refunds of an order's payment that were made at the gateway and whose callbacks were lost:
 * before its release begins, in one call.
 *
 * @returns false when the gateway could not be asked
 */
export async function lookForRefunds(deps: FundsDeps, orderNumber: string): Promise<boolean> {
  try {
    await askForRefunds(deps, await fundsOf(deps.sql, orderNumber));
    return true;
  } catch (err) {
    if (!(err instanceof GatewayUnavailable) && !(err instanceof GatewayRefused)) throw err;
    deps.log.warn({ err, orderNumber }, 'Whether a payment was refunded at the gateway is unknown');
    return false;
  }
}

async function askForRefunds(deps: FundsDeps, funds: FundsRow): Promise<void> {
  const payment = await deps.gateways.forOrder(funds).fetchPayment(funds.gatewayPaymentId);
  await recordMissedRefunds(deps, funds, payment);
}

/**
 * Lets the merchant have an order's funds, unless an operator has settled the order. Safe to call
 * again until it returns.
 *
 * @returns how an operator has settled the order, of which nothing was moved then; else null
 * @param hasLooked the gateway was asked just now whether any of the payment was refunded
 * @throws ReleaseBlocked, NotYet while the merchant is suspended or the gateway is at it,
 *   MoneyLeaseTaken, GatewayUnavailable, GatewayRefused
 */
export async function releaseFunds(
  deps: FundsDeps,
  orderNumber: string,
  hasLooked = false,
): Promise<Settlement | null> {
  const funds = await fundsOf(deps.sql, orderNumber);
  if (funds.isSettled) return findSettlement(deps.sql, orderNumber);
  if (funds.merchantStatus !== 'APPROVED') {
    throw new NotYet(`Merchant ${funds.merchantId} is ${funds.merchantStatus}`);
  }
  return withMoneyLease(deps.sql, funds, async (lease) => {
    if (!hasLooked) await askForRefunds(deps, funds);
    await assertNotBlocked(deps.sql, orderNumber);
    const transfer = await transferWith(deps, funds, 'releaseFunds', lease);
    if (transfer.state !== 'released') throw new NotYet(`The transfer is ${transfer.state}`);
    return null;
  });
}

async function assertNotBlocked(sql: Sql, orderNumber: string): Promise<void> {
  const [reversal] = await queries.findBlockingReversals(sql, orderNumber);
  if (!reversal) return;
  const { kind, reversalId, state } = reversal;
  throw new ReleaseBlocked(`Not released: the ${kind} ${reversalId} at the gateway is ${state}`);
}

/**
 * Sets an order's funds aside for its merchant at the gateway, as soon as they are captured. What
 * the gateway refuses raises an alert, and is tried again an hour later. After an unknown
 * outcome the lease is left to run out: a request that is under way still may arrive at the gateway.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function holdFunds(deps: FundsDeps, orderNumber: string): Promise<void> {
  const { sql } = deps;
  const lease = await queries.claimHold(sql, orderNumber);
  if (lease === null) return;
  const funds = await fundsOf(sql, orderNumber);
  try {
    await transferWith(deps, funds, 'holdFunds', lease);
    await queries.markHeld(sql, lease);
    await clearAlert(sql, 'gateway_refused', orderNumber, 'gateway');
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    await raiseAlert(deps, {
      kind: 'gateway_refused',
      subject: orderNumber,
      message: 'The gateway refuses for good to set funds aside',
      fields: { orderNumber },
      error,
    });
    await queries.markHoldRefused(sql, lease);
  }
  await endMoneyLease(sql, lease);
}

/**
 * Gives an order's money back to its buyer, less what has gone back at the gateway itself, unless an
 * operator has settled the order. Safe to call again until it returns.
 *
 * @returns how an operator has settled the order, of which nothing was moved then; else null
 * @throws NotYet while the bank is at it, MoneyLeaseTaken, GatewayUnavailable, GatewayRefused
 */
export async function refundOrder(
  deps: FundsDeps,
  orderNumber: string,
  reason: string,
): Promise<Settlement | null> {
  const funds = await fundsOf(deps.sql, orderNumber);
  if (funds.isSettled) return findSettlement(deps.sql, orderNumber);
  return withMoneyLease(deps.sql, funds, async (lease) => {
    const leftPaise = await leftToRefund(deps.sql, funds);
    if (leftPaise <= 0) return null;
    try {
      await refundPayment(deps, { order: funds, lease, amountPaise: leftPaise, reason });
      return null;
    } catch (error) {
      if (!(error instanceof GatewayRefused)) throw error;
      // Some of it may have been refunded at the gateway, which is not recorded yet.
      if (!(await recordRefundsOf(deps, funds, funds.gatewayPaymentId))) throw error;
      throw new NotYet('Some of it was refunded at the gateway itself', { cause: error });
    }
  });
}

/** In paise. @throws NotYet while a refund that this service has not made is under way */
async function leftToRefund(sql: Sql, funds: FundsRow): Promise<number> {
  const reversals = await queries.findBlockingReversals(sql, funds.orderNumber);
  if (reversals.some(({ state }) => state === 'pending')) {
    throw new NotYet('A refund made at the gateway itself is under way');
  }
  const gone = reversals.filter(({ state }) => state === 'processed' || state === 'lost');
  return gone.reduce((left, { amountPaise: paise }) => left - paise, funds.amountPaise);
}

/**
 * Refunds a capture that its order cannot take, once for each gateway payment.
 *
 * @throws NotYet, MoneyLeaseTaken, GatewayUnavailable, GatewayRefused
 */
export async function refundSurplus(deps: FundsDeps, payment: PaymentRef): Promise<void> {
  const surplus = await queries.claimSurplus(deps.sql, payment);
  if (!surplus || surplus.processedAt !== null) return;
  const { gateway, gatewayPaymentId, leftPaise, reason, orderNumber } = surplus;
  const subject = paymentSubject(surplus);
  await raiseAlert(deps, {
    kind: 'surplus_capture',
    subject,
    message: 'A capture that its order cannot take is refunded',
    fields: { gateway, gatewayPaymentId, orderNumber, reason },
  });
  if (leftPaise > 0) {
    await withMoneyLease(deps.sql, surplus, (lease) =>
      refundPayment(deps, { order: surplus, lease, amountPaise: leftPaise, reason }),
    );
  }
  await queries.finishSurplus(deps.sql, surplus);
  for (const kind of ['surplus_capture', 'wrong_amount'] as const) {
    await clearAlert(deps.sql, kind, subject, 'refund');
  }
}

async function refundPayment(
  { sql, gateways }: FundsDeps,
  refunded: { order: OrderGateway; lease: MoneyLease; amountPaise: number; reason: string },
): Promise<void> {
  const { order, lease, amountPaise, reason } = refunded;
  const { gatewayPaymentId } = lease;
  const refund = await gateways.forOrder(order).refund({
    gatewayPaymentId,
    amountPaise,
    idempotencyKey: moneyKey(gatewayPaymentId, 'refund'),
    beforeMoving: () => renewMoneyLease(sql, lease),
    reason,
  });
  if (refund.status !== 'processed') throw new NotYet(`The refund is ${refund.status}`);
}

async function transferWith(
  deps: FundsDeps,
  funds: FundsRow,
  operation: 'holdFunds' | 'releaseFunds',
  lease: MoneyLease,
): Promise<GatewayTransfer> {
  const gateway = deps.gateways.forOrder(funds);
  const { gatewayPaymentId } = lease;
  return gateway[operation]({
    gatewayPaymentId,
    amountPaise: funds.amountPaise,
    linkedAccountId: await linkedAccountOf(deps, gateway, funds, operation),
    idempotencyKey: moneyKey(gatewayPaymentId, 'transfer'),
    beforeMoving: () => renewMoneyLease(deps.sql, lease),
  });
}

/** The sandbox creates an account when it is first needed; production needs a real one. */
async function linkedAccountOf(
  { sql }: FundsDeps,
  gateway: PaymentGateway,
  funds: FundsRow,
  operation: string,
): Promise<string> {
  if (funds.linkedAccountId !== null) return funds.linkedAccountId;
  if (funds.environment === 'production') {
    const remedy = `merchant ${funds.merchantId} has none: merchant approve --linked-account`;
    throw new GatewayRefused(operation, 'NO_LINKED_ACCOUNT', remedy);
  }
  const { linkedAccountId } = await gateway.createLinkedAccount(sandboxAccount(funds));
  return queries.saveLinkedAccount(sql, funds.merchantId, funds, linkedAccountId);
}

function sandboxAccount(funds: FundsRow) {
  // The gateway wants at least 4 characters, and at most 200.
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
