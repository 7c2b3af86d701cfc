import type { Logger } from 'pino';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { PaymentRef } from '../contracts/ids.ts';
import { addRequestFields } from '../http/request-context.ts';
import type { OrderRow } from '../orders/public.ts';
import { findOrder, signalOrder, writeCommand } from '../orders/public.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import type { GatewayPayment } from './gateway.ts';
import type { Gateways, OrderGateway } from './gateways.ts';
import { paymentSubject } from './gateways.ts';
import * as queries from './queries.ts';
import { recordMissedRefunds } from './reversals.ts';

/** What recording a payment and notifying its order needs. */
export interface CaptureDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  log: Logger;
  gateways: Gateways;
}

/**
 * Records the result of a payment at the gateway in the database, then notifies the order's
 * workflow. Idempotent and independent of order, for callbacks and for reconciliation.
 *
 * @param gatewaySessionId identifies the order if the gateway does not return the order number
 * @throws GatewayUnavailable, GatewayRefused when it checks for refunds of a payment already taken
 */
export async function recordGatewayPayment(
  deps: CaptureDeps,
  at: OrderGateway,
  payment: GatewayPayment,
  gatewaySessionId: string | null,
): Promise<void> {
  const { gateway, environment } = at;
  const { gatewayPaymentId } = payment;
  const ref = { gateway, gatewayPaymentId };
  const session = gatewaySessionId
    ? await queries.findSessionAtGateway(deps.sql, at, gatewaySessionId)
    : undefined;
  const orderNumber = session?.orderNumber ?? payment.orderNumber;
  const order = orderNumber && (await findOrder(deps.sql, environment, orderNumber));
  // An order is paid through its own gateway only: another gateway's payments do not count.
  if (!order || order.gateway !== gateway) {
    return raiseAlert(deps, {
      kind: 'payment_without_order',
      subject: paymentSubject(ref),
      message: 'A payment names no order of its gateway',
      fields: { ...ref, environment, ...(orderNumber && { orderNumber }) },
    });
  }
  addRequestFields({ orderNumber: order.orderNumber, merchantId: order.merchantId });
  if (payment.status === 'failed') return recordFailure(deps, order, payment);
  if (payment.status !== 'captured' && payment.status !== 'refunded') return;
  await recordCapture(deps, order, session?.sessionId ?? payment.sessionId, payment);
  // The order has taken the payment: the gateway may report refunds that are not recorded.
  if (order.gatewayPaymentId === gatewayPaymentId) {
    await recordMissedRefunds(deps, at, payment);
  }
  const unapplied = await queries.takeUnappliedCapture(deps.sql, ref);
  if (unapplied) await applyCapture(deps, unapplied);
}

/**
 * Records a capture. Raises an alert if it is in another currency, or refunded at least in part.
 * The order is not notified.
 *
 * @returns whether the order may become PAID by it
 */
export async function recordCapture(
  deps: Pick<CaptureDeps, 'sql' | 'log'>,
  { orderNumber, gateway, environment }: Pick<OrderRow, 'orderNumber' | keyof OrderGateway>,
  sessionId: string | null,
  payment: GatewayPayment,
): Promise<boolean> {
  const capture = { orderNumber, sessionId, gateway, environment, payment };
  const fits = await queries.writeCapture(deps.sql, capture);
  if (fits) return true;
  const unapplied = await queries.findUnappliedCapture(deps.sql, { ...payment, gateway });
  if (unapplied && isUnfit(unapplied)) await alertUnfit(deps, unapplied);
  return false;
}

/** The service does not refund it, because it does not know which part belongs to whom. */
function isUnfit({ isWhole, isSurplus }: queries.UnappliedCapture): boolean {
  return !isWhole && !isSurplus;
}

function alertUnfit(
  deps: Pick<CaptureDeps, 'sql' | 'log'>,
  capture: queries.UnappliedCapture,
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber, currency } = capture;
  return raiseAlert(deps, {
    kind: 'unfit_capture',
    subject: paymentSubject(capture),
    message: 'A capture in another currency, or refunded at the gateway, does not pay its order',
    fields: {
      gateway,
      gatewayPaymentId,
      orderNumber,
      status: capture.gatewayStatus,
      currency,
      amountPaise: capture.amountPaise,
      refundedPaise: capture.refundedPaise,
    },
  });
}

/**
 * Fetches the payments of a session from the gateway and records each of them.
 *
 * @returns whether money was captured on it
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordSessionPayments(
  deps: CaptureDeps,
  at: OrderGateway,
  gatewaySessionId: string,
): Promise<boolean> {
  const payments = await deps.gateways.forOrder(at).listSessionPayments(gatewaySessionId);
  // Oldest first: a failure before a payment is recorded in its order.
  for (const payment of payments.toReversed()) {
    await recordGatewayPayment(deps, at, payment, gatewaySessionId);
  }
  return payments.some(({ status }) => status === 'captured' || status === 'refunded');
}

/**
 * Records that the gateway has closed a session: it can no longer be paid, and the next one may
 * open. A payment closes a session too, and its callback may be lost or late: so this function
 * fetches the session's payments first.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordSessionClosed(
  deps: CaptureDeps,
  at: OrderGateway,
  gatewaySessionId: string,
): Promise<void> {
  const session = await queries.findSessionAtGateway(deps.sql, at, gatewaySessionId);
  // Its payment is recorded already.
  if (!session || session.state === 'PAID') return;
  if (await recordSessionPayments(deps, at, gatewaySessionId)) return;
  await queries.endSession(deps.sql, session.sessionId, 'CLOSED');
}

/** Notifies an order of a recorded capture, or refunds it if the order cannot take it. */
export async function applyCapture(
  deps: CaptureDeps,
  capture: queries.UnappliedCapture,
): Promise<void> {
  const { workflows } = deps;
  const { gateway, gatewayPaymentId, orderNumber } = capture;
  const ref: PaymentRef = { gateway, gatewayPaymentId };
  // The order was notified before, and is not notified again while the refund is in progress.
  if (capture.isSurplus) return workflows.refundSurplus(ref);
  if (isUnfit(capture)) return alertUnfit(deps, capture);
  if (capture.amountPaise !== capture.orderAmountPaise) {
    await raiseAlert(deps, {
      kind: 'wrong_amount',
      subject: paymentSubject(ref),
      message: 'The amount of a capture differs from its order: the capture is refunded',
      fields: { ...ref, orderNumber },
    });
    await workflows.refundSurplus(ref);
    // Another process may have refunded it and cleared the alert before this process raised it.
    if (!(await queries.findUnappliedCapture(deps.sql, ref))) {
      await clearAlert(deps.sql, 'wrong_amount', paymentSubject(ref), 'refund');
    }
    return;
  }
  const outcome = await signalOrder(deps, orderNumber, 'pay', ref);
  if (outcome === 'gone') await workflows.refundSurplus(ref);
}

/** Records the failure after notifying the order, which counts a repeated notification once. */
async function recordFailure(
  deps: CaptureDeps,
  { orderNumber, gateway }: Pick<OrderRow, 'orderNumber' | 'gateway'>,
  { gatewayPaymentId, failure }: GatewayPayment,
): Promise<void> {
  const { sql } = deps;
  const ref = { gateway, gatewayPaymentId };
  if (await queries.isFailureKnown(sql, ref)) return;
  const commandId = `failed:${gatewayPaymentId}`;
  const reason = failure?.description || failure?.code;
  if (reason) await writeCommand(sql, { orderNumber, commandId, body: { reason } });
  await signalOrder(deps, orderNumber, 'failPayment', { commandId });
  await queries.writeFailure(sql, ref, orderNumber);
}
