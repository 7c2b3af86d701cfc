import type { AlertDeps, NewAlert } from '../../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { MoveFundsResult } from '../../contracts/activities.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { PaymentGateway } from '../gateway/gateway.ts';
import type { GatewayTransfer } from '../gateway/gateway-objects.ts';
import {
  GatewayRefused,
  INSUFFICIENT_BALANCE,
  moneyKey,
  TransferFailed,
} from '../gateway/gateway.ts';
import type { GatewayDeps } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { alertBalanceLow, writeBalanceRefused } from './balance.ts';
import type { MoneyLease } from './money-lease.ts';
import { endMoneyLease, renewMoneyLease, withMoneyLease } from './money-lease.ts';
import { writeLateFacts } from './fee-queries.ts';
import type { FundsRow } from './funds-queries.ts';
import {
  bookMovement,
  claimHold,
  findFunds,
  findMoved,
  findReleased,
  freezeLinkedAccount,
  markHeld,
  markHoldRefused,
  reopenHold,
  saveLinkedAccount,
  writeTransferFailures,
} from './funds-queries.ts';
import type { Reversal } from '../reversals/reversal-queries.ts';
import { findBlockingReversals } from '../reversals/reversal-queries.ts';
import { recordRefundsOf } from '../reversals/reversals.ts';

/** Thrown while the operation is unfinished; the activity is retried. */
export class NotYet extends Error {
  override readonly name = 'NotYet';
}

/** Part of the payment was or may be reversed at the gateway, so an operator must settle the order. */
export class ReleaseBlocked extends Error {
  override readonly name = 'ReleaseBlocked';

  constructor({ kind, reversalId, state }: Reversal) {
    super(`Not released: the ${kind} ${reversalId} at the gateway is ${state}`);
  }
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
 * @param fields further fields of the alert
 */
export async function alertGatewayRefused(
  deps: AlertDeps,
  subject: string,
  error: GatewayRefused,
  fields: NewAlert['fields'] = {},
): Promise<void> {
  const isForBalance = error.code === INSUFFICIENT_BALANCE;
  await writeBalanceRefused(deps.sql, subject, isForBalance);
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
  const funds = await findFunds(deps.sql, orderNumber);
  return withMoneyLease(deps.sql, funds, async (lease) => {
    const moved = await findMoved(deps.sql, orderNumber, 'release');
    if (moved) return moved;
    const transfer = await transferWith(deps, funds, 'releaseFunds', lease, async () => {
      await recordRefundsOf(deps, funds, funds.gatewayPaymentId);
      const [reversal] = await findBlockingReversals(deps.sql, funds);
      if (reversal) throw new ReleaseBlocked(reversal);
      // The merchant may have been suspended while the gateway was asked.
      const { merchantId, merchantStatus: status } = await findFunds(deps.sql, orderNumber);
      if (status !== 'APPROVED') throw new NotYet(`Merchant ${merchantId} is ${status}`);
    });
    if (transfer.state !== 'released') throw new NotYet(`The transfer is ${transfer.state}`);
    if (transfer.feePaise !== null && !funds.hasTransferFee) {
      const facts = { utr: null, feePaise: null, transferFeePaise: transfer.feePaise };
      await writeLateFacts(deps.sql, funds, facts);
    }
    const { transferId: movementId } = transfer;
    await bookMovement(deps.sql, funds, 'release', { movementId, amountPaise: funds.amountPaise });
    return { outcome: 'moved' };
  });
}

/**
 * Holds an order's captured funds for its merchant at the gateway. Reconciliation calls it within about a minute. A
 * refusal raises an alert, and the service tries again after an hour. After an unknown outcome the lease is kept until
 * it expires, because the request may still reach the gateway.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function holdFunds(deps: GatewayDeps, orderNumber: string): Promise<void> {
  const { sql } = deps;
  const lease = await claimHold(sql, orderNumber);
  if (lease === null) return;
  const funds = await findFunds(sql, orderNumber);
  try {
    const transfer = await transferWith(deps, funds, 'holdFunds', lease);
    // For a pending transfer, the next run asks for its state.
    if (transfer.state !== 'pending') {
      await markHeld(sql, lease, transfer);
      await clearAlert(sql, 'gateway_refused', orderNumber, 'the funds are on hold');
    }
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    await alertGatewayRefused(deps, orderNumber, error, { orderNumber });
    await markHoldRefused(sql, lease);
  }
  await endMoneyLease(sql, lease);
}

/**
 * Asks the gateway again about the hold of a payment, after a report about a transfer of it. It uses the gateway's
 * answer, not the report.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function recheckHold(
  deps: GatewayDeps,
  { hasFailed, ...payment }: PaymentRef & { hasFailed: boolean },
): Promise<void> {
  const orderNumber = await reopenHold(deps.sql, payment, hasFailed);
  if (orderNumber !== undefined) await holdFunds(deps, orderNumber);
}

/**
 * Asks the gateway again about the hold of a payment, after a callback about a transfer of it. A transfer that was
 * released and has failed since is alerted: the ledger has its money as the merchant's.
 *
 * @throws MoneyLeaseTaken, GatewayUnavailable
 */
export async function recheckTransfer(
  deps: GatewayDeps,
  { hasFailed, transferId, ...payment }: PaymentRef & { hasFailed: boolean; transferId: string },
): Promise<void> {
  await recheckHold(deps, { ...payment, hasFailed });
  // A late report may be about an earlier transfer.
  const orderNumber = hasFailed ? await findReleased(deps.sql, payment, transferId) : undefined;
  if (orderNumber === undefined) return;
  await raiseAlert(deps, {
    kind: 'gateway_differs',
    subject: paymentSubject(payment),
    message: 'The gateway says that a transfer has failed after the release of its payment',
    fields: { ...payment, orderNumber },
  });
}

/** @param assertAllowed is called before money moves, not if an earlier try has moved it */
async function transferWith(
  deps: GatewayDeps,
  funds: FundsRow,
  operation: 'holdFunds' | 'releaseFunds',
  lease: MoneyLease,
  assertAllowed = async (): Promise<void> => {},
): Promise<GatewayTransfer> {
  const gateway = deps.gateways.forOrder(funds);
  const { gatewayPaymentId } = lease;
  const input = {
    gatewayPaymentId,
    amountPaise: funds.amountPaise,
    linkedAccountId: await linkedAccountOf(deps, gateway, funds, operation),
    idempotencyKey: moneyKey(gatewayPaymentId, 'transfer'),
    knownFailures: funds.transferFailures,
    async beforeMoving() {
      await assertAllowed();
      await renewMoneyLease(deps.sql, lease);
    },
  };
  try {
    return await gateway[operation](input);
  } catch (error) {
    if (error instanceof TransferFailed) {
      await writeTransferFailures(deps.sql, lease, error.failures);
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
  const known = funds.linkedAccountId ?? (await freezeLinkedAccount(sql, funds));
  if (known !== null) return known;
  if (funds.environment === 'production') {
    const remedy = `merchant ${funds.merchantId} has none: merchant approve --linked-account`;
    throw new GatewayRefused(operation, 'NO_LINKED_ACCOUNT', remedy);
  }
  const { linkedAccountId } = await gateway.createLinkedAccount({
    email: `${funds.merchantId.toLowerCase()}@sandbox.example.com`,
    // The gateway accepts 4 to 200 characters.
    name: `${funds.merchantName} (sandbox)`.slice(0, 200),
  });
  await saveLinkedAccount(sql, funds.merchantId, funds, linkedAccountId);
  return (await freezeLinkedAccount(sql, funds)) ?? linkedAccountId;
}
