import type { Logger } from 'pino';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { addRequestFields } from '../http/request-context.ts';
import type { OrderRow } from '../orders/public.ts';
import { findOrder, signalOrder, writeRequest } from '../orders/public.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import type { GatewayPayment } from './gateway.ts';
import type { Gateways } from './gateways.ts';
import { gatewayOf } from './gateways.ts';
import * as queries from './queries.ts';
import { noteMissedRefunds } from './reversals.ts';

export interface CaptureDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  log: Logger;
  gateways: Gateways;
}

/**
 * Takes note of what a payment at the gateway came to: the book first, then the order's workflow.
 * Safe to call any number of times, in any order, for callbacks and reconciliation alike.
 *
 * @param gatewaySessionId which names the order even where the gateway lost our notes
 */
export async function notePayment(
  deps: CaptureDeps,
  environment: Environment,
  payment: GatewayPayment,
  gatewaySessionId: string | null,
): Promise<void> {
  const { gatewayPaymentId } = payment;
  const session = gatewaySessionId
    ? await queries.findSessionAtGateway(deps.sql, environment, gatewaySessionId)
    : undefined;
  const orderNumber = session?.orderNumber ?? payment.orderNumber;
  const order = orderNumber && (await findOrder(deps.sql, environment, orderNumber));
  if (!order) {
    return raiseAlert(deps, {
      kind: 'payment_without_order',
      subject: gatewayPaymentId,
      message: 'A payment names no order of ours',
      fields: { gatewayPaymentId, environment, ...(orderNumber && { orderNumber }) },
    });
  }
  addRequestFields({ orderNumber: order.orderNumber, merchantId: order.merchantId });
  if (payment.status === 'failed') return noteFailure(deps, order.orderNumber, payment);
  if (payment.status !== 'captured' && payment.status !== 'refunded') return;
  await noteCapture(deps, order, session?.sessionId ?? payment.sessionId, payment);
  // Of one that an order has taken; the gateway was asked, and has more to say than we know.
  if (order.gatewayPaymentId === gatewayPaymentId) {
    await noteMissedRefunds(deps, environment, payment);
  }
  const loose = await queries.findLooseCapture(deps.sql, gatewayPaymentId);
  if (loose) await applyCapture(deps, loose);
}

/**
 * Writes a capture down, and tells an operator of one that is in another currency, or refunded, at
 * least in part. The order is not told.
 *
 * @returns whether the order may become PAID by it
 */
export async function noteCapture(
  deps: Pick<CaptureDeps, 'sql' | 'log'>,
  { orderNumber, environment }: Pick<OrderRow, 'orderNumber' | 'environment'>,
  sessionId: string | null,
  payment: GatewayPayment,
): Promise<boolean> {
  const capture = { orderNumber, sessionId, environment, payment };
  const fits = await queries.writeCapture(deps.sql, capture);
  if (fits) return true;
  const loose = await queries.findLooseCapture(deps.sql, payment.gatewayPaymentId);
  if (loose && isUnfit(loose)) await alertUnfit(deps, loose);
  return false;
}

/** Not given back by us, because nobody can say how much of it is whose. */
function isUnfit({ isWhole, isSurplus }: queries.LooseCapture): boolean {
  return !isWhole && !isSurplus;
}

function alertUnfit(
  deps: Pick<CaptureDeps, 'sql' | 'log'>,
  capture: queries.LooseCapture,
): Promise<void> {
  const { gatewayPaymentId, orderNumber, currency } = capture;
  return raiseAlert(deps, {
    kind: 'unfit_capture',
    subject: gatewayPaymentId,
    message: 'A capture in another currency, or refunded at the gateway, does not pay its order',
    fields: {
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
 * Asks the gateway what was tried on a session, and takes note of each payment.
 *
 * @returns whether money was captured on it
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function noteSessionPayments(
  deps: CaptureDeps,
  environment: Environment,
  gatewaySessionId: string,
): Promise<boolean> {
  const gateway = gatewayOf(deps.gateways, environment);
  const payments = await gateway.listSessionPayments(gatewaySessionId);
  // The oldest first: a failure before a payment is told as it happened.
  for (const payment of payments.toReversed()) {
    await notePayment(deps, environment, payment, gatewaySessionId);
  }
  return payments.some(({ status }) => status === 'captured' || status === 'refunded');
}

/**
 * The gateway has closed a session: it cannot be paid any more, and the next one may open. One is
 * closed by being paid, too, and that callback may be lost or late: so the gateway is asked.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function noteSessionClosed(
  deps: CaptureDeps,
  environment: Environment,
  gatewaySessionId: string,
): Promise<void> {
  const session = await queries.findSessionAtGateway(deps.sql, environment, gatewaySessionId);
  // A code is closed by its payment, and one that is PAID needs no question.
  if (!session || session.state === 'PAID') return;
  if (await noteSessionPayments(deps, environment, gatewaySessionId)) return;
  await queries.endSession(deps.sql, session.sessionId, 'CLOSED');
}

/** Hands a capture in the book to its order, or back to the buyer if the order cannot take it. */
export async function applyCapture(
  deps: CaptureDeps,
  capture: queries.LooseCapture,
): Promise<void> {
  const { workflows } = deps;
  const { gatewayPaymentId, orderNumber } = capture;
  // Its order has heard of it, and must not again and again while the refund takes its time.
  if (capture.isSurplus) return workflows.refundSurplus(gatewayPaymentId);
  if (isUnfit(capture)) return alertUnfit(deps, capture);
  if (capture.amountPaise !== capture.orderAmountPaise) {
    await raiseAlert(deps, {
      kind: 'wrong_amount',
      subject: gatewayPaymentId,
      message: 'A capture has another amount than its order: it is given back',
      fields: { gatewayPaymentId, orderNumber },
    });
    await workflows.refundSurplus(gatewayPaymentId);
    // Another process may have given it back, and cleared the alert, before this one raised it.
    if (!(await queries.findLooseCapture(deps.sql, gatewayPaymentId))) {
      await clearAlert(deps.sql, 'wrong_amount', gatewayPaymentId, 'refund');
    }
    return;
  }
  const outcome = await signalOrder(deps, orderNumber, 'pay', { gatewayPaymentId });
  if (outcome === 'gone') await workflows.refundSurplus(gatewayPaymentId);
}

/** Written only when the order has been told, which counts it once however often it hears of it. */
async function noteFailure(
  deps: CaptureDeps,
  orderNumber: string,
  { gatewayPaymentId, failure }: GatewayPayment,
): Promise<void> {
  const { sql } = deps;
  if (await queries.isFailureKnown(sql, gatewayPaymentId)) return;
  const requestId = `failed:${gatewayPaymentId}`;
  const reason = failure?.description || failure?.code;
  if (reason) await writeRequest(sql, { orderNumber, requestId, body: { reason } });
  await signalOrder(deps, orderNumber, 'failPayment', { requestId });
  await queries.writeFailure(sql, gatewayPaymentId, orderNumber);
}
