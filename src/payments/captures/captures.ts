import { raiseAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { databaseTime } from '../../db/client.ts';
import { statusesThatTake } from '../../domain/index.ts';
import { addRequestFields } from '../../http/request-context.ts';
import { findCarriedOut, signalOrder, writeCommand } from '../../orders/public.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { GatewaySession } from '../gateway/gateway-objects.ts';
import { GatewayUnavailable, PILOT_ORDER_NUMBER } from '../gateway/gateway.ts';
import { isCaptured, isDeclined } from '../gateway/gateway-objects.ts';
import type { GatewayDeps, GatewayRef } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import type { PaymentAt, RecordedCapture, ReturnedPayment } from './capture-queries.ts';
import { confirmCallbacks, findOrderOfPayment, writeCapture } from './capture-queries.ts';
import { endSession, findSessionAtGateway } from '../sessions/session-queries.ts';
import { recordRefundsOf } from '../reversals/reversals.ts';

export interface CaptureDeps extends GatewayDeps {
  workflows: OrderWorkflows;
}

/**
 * Asks the gateway for a payment that was reported as captured, and records it. It may have been refunded since.
 *
 * @throws GatewayUnavailable, GatewayRefused; Error if it is not captured
 */
export async function confirmPayment(
  deps: CaptureDeps,
  reported: PaymentAt & Pick<ReturnedPayment, 'gatewaySessionId' | 'askedAt'>,
): Promise<void> {
  const { gateway, environment, gatewayPaymentId, gatewaySessionId } = reported;
  const at = { gateway, environment };
  const { askedAt = await databaseTime(deps.sql) } = reported;
  const payment = await deps.gateways.forOrder(at).fetchPayment(gatewayPaymentId);
  if (!isCaptured(payment)) {
    throw new Error(`The payment ${gatewayPaymentId} was captured, but is ${payment.status} now`);
  }
  await recordPayment(deps, { at, payment, gatewaySessionId, askedAt });
}

/**
 * Records a payment, and notifies the order's workflow of it. It is idempotent and does not depend on the order of
 * reports, so every source calls it, or `recordCapture` if it notifies the order itself.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordPayment(deps: CaptureDeps, report: ReturnedPayment): Promise<void> {
  const { at, payment } = report;
  if (payment.status === 'failed') await recordFailure(deps, report);
  if (!isCaptured(payment)) return;
  const recorded = await recordCapture(deps, report);
  if (recorded?.next !== 'notify') return;
  const ref: PaymentRef = { gateway: at.gateway, gatewayPaymentId: payment.gatewayPaymentId };
  const notified = await signalOrder(deps, recorded.orderNumber, 'pay', ref);
  if (notified === 'gone') await deps.workflows.startSurplusRefund(ref);
}

/**
 * Records a captured payment, and refunds one of another amount, or raises an alert. It notifies no order.
 *
 * @returns undefined if it is not of an order of this service
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordCapture(
  deps: CaptureDeps,
  report: ReturnedPayment,
): Promise<RecordedCapture | undefined> {
  const { at, payment } = report;
  const recorded = await writeToItsOrder(deps, report);
  if (!recorded) return undefined;
  const { orderNumber, merchantId, next } = recorded;
  addRequestFields({ orderNumber, merchantId });
  const { gatewayPaymentId, currency, amountPaise, refundedPaise, status } = payment;
  // The callbacks of its refunds may have been lost.
  if (refundedPaise > 0) await recordRefundsOf(deps, at, gatewayPaymentId);
  const ref: PaymentRef = { gateway: at.gateway, gatewayPaymentId };
  if (next === 'refund') await deps.workflows.startSurplusRefund(ref);
  if (next === 'alert') {
    // The service does not refund such a capture, because it does not know which part belongs to whom.
    await raiseAlert(deps, {
      kind: 'unfit_capture',
      subject: paymentSubject(ref),
      message: 'A capture in another currency, or refunded at the gateway, does not pay its order',
      fields: { ...ref, orderNumber, status, currency, amountPaise, refundedPaise },
    });
  }
  return recorded;
}

/** If the payment names no order, as when it has no notes, this asks the gateway for the payment's session. */
async function writeToItsOrder(
  deps: CaptureDeps,
  report: ReturnedPayment,
): Promise<RecordedCapture | undefined> {
  const { at, payment } = report;
  const recorded = await writeCapture(deps.sql, report);
  if (recorded) return recorded;
  if (payment.orderNumber !== null) return endWithoutOrder(deps, report);
  const gateway = deps.gateways.forOrder(at);
  const session = await gateway.fetchSessionOfPayment(payment.gatewayPaymentId);
  if (!session) return endWithoutOrder(deps, report);
  const { gatewaySessionId, orderNumber, sessionId } = session;
  const found = { ...report, gatewaySessionId, payment: { ...payment, orderNumber, sessionId } };
  return (await writeCapture(deps.sql, found)) ?? endWithoutOrder(deps, found);
}

/** An order is paid through its own gateway only; payments at another do not count. */
async function endWithoutOrder(
  deps: CaptureDeps,
  { at: { gateway, environment }, payment, askedAt }: ReturnedPayment,
): Promise<undefined> {
  const { gatewayPaymentId, orderNumber, status } = payment;
  const ref: PaymentRef = { gateway, gatewayPaymentId };
  await confirmCallbacks(deps.sql, ref, { askedAt });
  if (orderNumber === null || orderNumber === PILOT_ORDER_NUMBER) {
    deps.log.info({ ...ref, status }, 'A payment that is not of an order of this service');
    return;
  }
  await raiseAlert(deps, {
    kind: 'payment_without_order',
    subject: paymentSubject(ref),
    message: 'A payment names no order of its gateway',
    fields: { ...ref, environment, orderNumber },
  });
}

/** Notifies the order of a failed payment, unless its step is already recorded. */
async function recordFailure(deps: CaptureDeps, report: ReturnedPayment): Promise<void> {
  const { gatewayPaymentId, failure } = report.payment;
  // A failed payment has taken nothing from the buyer: without an order there is nothing to do.
  const order = await findOrderOfPayment(deps.sql, report);
  if (!order) return;
  const { orderNumber, merchantId } = order;
  addRequestFields({ orderNumber, merchantId });
  const name = 'failPayment';
  const command = { orderNumber, commandId: `failed:${gatewayPaymentId}` };
  const reason = failure?.description || failure?.code;
  // Written also without a reason, because the erasure of an order finds the payment's id in its commands.
  const body = reason ? { reason } : {};
  const origin = { actor: { name: 'gateway', address: null }, reason: reason ?? '' };
  const isTaken = statusesThatTake(name).includes(order.status);
  const state = isTaken ? 'WAITING' : 'DONE';
  await writeCommand(deps.sql, { ...command, name, body, origin, state });
  if (!isTaken || (await findCarriedOut(deps.sql, command))) return;
  await signalOrder(deps, orderNumber, name, { commandId: command.commandId });
}

/** A session at its gateway, and the operation of the port that returns its payments. */
interface SessionToRecord {
  at: GatewayRef;
  gatewaySessionId: string;
  operation?: 'listSessionPayments' | 'closeSession';
}

/**
 * Fetches the payments of a session from the gateway and records each of them.
 *
 * @returns `captured` if a payment is captured; `authorized` if one may still be captured; `none` if the session has
 * no payment but declined ones
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordSessionPayments(
  deps: CaptureDeps,
  { at, gatewaySessionId, operation = 'listSessionPayments' }: SessionToRecord,
): Promise<'captured' | 'authorized' | 'unpaid' | 'none'> {
  const askedAt = await databaseTime(deps.sql);
  const payments = await deps.gateways.forOrder(at)[operation](gatewaySessionId);
  // Oldest first, so that a failure before a payment is recorded before it.
  for (const payment of payments.toReversed()) {
    await recordPayment(deps, { at, payment, gatewaySessionId, askedAt });
  }
  if (payments.some(isCaptured)) return 'captured';
  if (payments.some(({ status }) => status === 'authorized')) return 'authorized';
  return payments.every(isDeclined) ? 'none' : 'unpaid';
}

/**
 * Records that a session is closed at the gateway, or closes it there, so that it cannot be paid and the next one
 * may open. A payment also closes a session, and its callback may be lost or late, so this function first asks for
 * the session's payments.
 *
 * @param closed.isPaid whether the gateway says that the session is paid
 * @throws GatewayUnavailable, also if the session is paid but its payment is not listed yet; GatewayRefused
 */
export async function recordSessionClosed(
  deps: CaptureDeps,
  closed: SessionToRecord & Pick<GatewaySession, 'isPaid'>,
): Promise<void> {
  const { at, gatewaySessionId, isPaid } = closed;
  const paid = await recordSessionPayments(deps, closed);
  if (paid === 'captured') return;
  // Otherwise the buyer would be offered another session, and might pay twice.
  if (paid === 'none' && isPaid) {
    throw new GatewayUnavailable(
      'listSessionPayments',
      'the payment of a paid session is not listed yet',
    );
  }
  const session = await findSessionAtGateway(deps.sql, at, gatewaySessionId);
  if (session) await endSession(deps.sql, session.sessionId, 'CLOSED');
}
