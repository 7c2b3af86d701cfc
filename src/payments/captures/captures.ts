import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { addRequestFields } from '../../http/request-context.ts';
import type { OrderRow } from '../../orders/public.ts';
import {
  findCarriedOut,
  findOrder,
  findOrderByNumber,
  signalOrder,
  writeCommand,
} from '../../orders/public.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { GatewayPayment, GatewaySession } from '../gateway/gateway.ts';
import { GatewayUnavailable, isCaptured } from '../gateway/gateway.ts';
import { PILOT_ORDER_NUMBER } from '../gateway/gateway-pilot.ts';
import type { GatewayDeps, OrderGateway } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import * as queries from '../queries.ts';
import { recordRefundsOf } from '../reversals/reversals.ts';

export interface CaptureDeps extends GatewayDeps {
  workflows: OrderWorkflows;
}

/**
 * Records the result of a payment at the gateway, then notifies the order's workflow. It is idempotent and does not
 * depend on the order of reports, so callbacks and reconciliation both call it.
 *
 * @param gatewaySessionId identifies the order if the gateway does not return the order number
 * @param askedAt see `writeCapture`; null for a callback, which is not believed, so the gateway is asked
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordGatewayPayment(
  deps: CaptureDeps,
  at: OrderGateway,
  payment: GatewayPayment,
  gatewaySessionId: string | null,
  askedAt: string | null,
): Promise<void> {
  const { gateway, environment } = at;
  const { gatewayPaymentId, status } = payment;
  if (status !== 'failed' && !isCaptured(payment)) return;
  const ref = { gateway, gatewayPaymentId };
  const found = await findOrderOfPayment(deps, at, payment, gatewaySessionId);
  if (!found || found.orderNumber === PILOT_ORDER_NUMBER) {
    return deps.log.info({ ...ref, status }, 'A payment that is not of an order of this service');
  }
  const { orderNumber, sessionId } = found;
  const order = await findOrder(deps.sql, environment, orderNumber);
  // An order is paid through its own gateway only; payments at another do not count.
  if (!order || order.gateway !== gateway) {
    // A failed payment has taken nothing from the buyer.
    if (status === 'failed') return;
    return raiseAlert(deps, {
      kind: 'payment_without_order',
      subject: paymentSubject(ref),
      message: 'A payment names no order of its gateway',
      fields: { ...ref, environment, orderNumber },
    });
  }
  addRequestFields({ orderNumber: order.orderNumber, merchantId: order.merchantId });
  if (status === 'failed') return recordFailure(deps, order, payment);
  await queries.writeCapture(deps.sql, { ...order, sessionId, payment, askedAt });
  // No alert for a callback about a payment whose order is found.
  if (askedAt !== null) {
    await clearAlert(
      deps.sql,
      'payment_without_order',
      paymentSubject(ref),
      'the order of the payment was found',
    );
  }
  // The order has taken the payment. The gateway may report refunds that are not recorded.
  if (order.gatewayPaymentId === gatewayPaymentId && payment.refundedPaise > 0) {
    await recordRefundsOf(deps, at, gatewayPaymentId);
  }
  await applyRecorded(deps, ref);
}

interface PaymentOwner {
  orderNumber: string;
  sessionId: string | null;
}

/**
 * Finds the order of a payment by its session, or by the values that the gateway copied from the session. If it
 * copied none and the payment was captured, it asks the gateway for the payment's session.
 *
 * @returns undefined for a payment that was not made on a session of this service
 * @throws GatewayUnavailable, GatewayRefused
 */
async function findOrderOfPayment(
  deps: CaptureDeps,
  at: OrderGateway,
  payment: GatewayPayment,
  gatewaySessionId: string | null,
): Promise<PaymentOwner | undefined> {
  if (gatewaySessionId !== null) {
    const session = await queries.findSessionAtGateway(deps.sql, at, gatewaySessionId);
    if (session) return session;
  }
  const { gatewayPaymentId, orderNumber, sessionId } = payment;
  if (orderNumber !== null) return { orderNumber, sessionId };
  if (!isCaptured(payment)) return undefined;
  const asked = await deps.gateways.forOrder(at).fetchSessionOfPayment(gatewayPaymentId);
  if (!asked) return undefined;
  const known = await queries.findSessionAtGateway(deps.sql, at, asked.gatewaySessionId);
  if (known) return known;
  return asked.orderNumber === null
    ? undefined
    : { orderNumber: asked.orderNumber, sessionId: asked.sessionId };
}

/**
 * Applies a recorded capture, unless its order has taken it or another process is applying it.
 *
 * @throws GatewayUnavailable, GatewayRefused if the gateway has to be asked
 */
export async function applyRecorded(deps: CaptureDeps, payment: PaymentRef): Promise<void> {
  const capture = await queries.takeUnappliedCapture(deps.sql, payment);
  if (capture) await (capture.isConfirmed ? applyCapture : askAndApply)(deps, capture);
}

/**
 * Asks the gateway for the present state of a recorded capture, and applies it. It may have been refunded since it
 * was reported.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function askAndApply(
  deps: CaptureDeps,
  capture: queries.UnappliedCapture,
): Promise<void> {
  await fetchCapture(deps, capture);
  const asked = await queries.findUnappliedCapture(deps.sql, capture);
  if (asked) await applyCapture(deps, asked);
}

/** Asks the gateway for a payment whose capture is recorded, and records its present state. */
async function fetchCapture(
  deps: CaptureDeps,
  order: OrderGateway & { orderNumber: string; gatewayPaymentId: string },
): Promise<queries.CaptureOutcome> {
  const { gatewayPaymentId } = order;
  const askedAt = await queries.readClock(deps.sql);
  const payment = await deps.gateways.forOrder(order).fetchPayment(gatewayPaymentId);
  if (!isCaptured(payment)) {
    throw new Error(`The payment ${gatewayPaymentId} was captured, but is ${payment.status} now`);
  }
  return queries.writeCapture(deps.sql, { ...order, sessionId: null, payment, askedAt });
}

/**
 * Records a capture that the gateway's API has returned. It asks once more if a callback has reported the capture in
 * the meantime.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordAnswer(
  deps: CaptureDeps,
  order: OrderGateway & { orderNumber: string },
  answer: { sessionId: string; payment: GatewayPayment; askedAt: string },
): Promise<queries.CaptureOutcome> {
  const { gatewayPaymentId } = answer.payment;
  const outcome = await queries.writeCapture(deps.sql, { ...order, ...answer });
  if (outcome !== 'unconfirmed') return outcome;
  return fetchCapture(deps, { ...order, gatewayPaymentId });
}

/**
 * Asks the gateway for a capture that a restored database may have lost, and records it as it was when its order
 * took it, without later refunds.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recoverCapture(
  deps: CaptureDeps,
  orderNumber: string,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<void> {
  const order = { ...(await findOrderByNumber(deps.sql, orderNumber)), gateway };
  const askedAt = await queries.readClock(deps.sql);
  const payment = await deps.gateways.forOrder(order).fetchPayment(gatewayPaymentId);
  const taken = { ...payment, status: 'captured', refundedPaise: 0 } as const;
  const { sessionId } = payment;
  const capture = { ...order, sessionId, payment: taken, askedAt, wasTaken: true };
  await queries.writeCapture(deps.sql, capture);
  await clearAlert(
    deps.sql,
    'unfit_capture',
    paymentSubject({ gateway, gatewayPaymentId }),
    'its order has taken the payment',
  );
}

/** The service does not refund such a capture, because it does not know which part belongs to whom. */
function alertUnfit(deps: CaptureDeps, capture: queries.UnappliedCapture): Promise<void> {
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

/** The operations of the port that return a session's payments. */
type SessionOperation = 'listSessionPayments' | 'closeSession';

/**
 * Fetches the payments of a session from the gateway and records each of them.
 *
 * @returns whether money was captured, or at least authorised, which may still be captured; `none` if the session
 * has no payment, not even a failed one
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recordSessionPayments(
  deps: CaptureDeps,
  at: OrderGateway,
  gatewaySessionId: string,
  operation: SessionOperation = 'listSessionPayments',
): Promise<'captured' | 'authorized' | 'unpaid' | 'none'> {
  const askedAt = await queries.readClock(deps.sql);
  const payments = await deps.gateways.forOrder(at)[operation](gatewaySessionId);
  // Oldest first, so that a failure before a payment is recorded before it.
  for (const payment of payments.toReversed()) {
    await recordGatewayPayment(deps, at, payment, gatewaySessionId, askedAt);
  }
  if (payments.some(isCaptured)) return 'captured';
  if (payments.some(({ status }) => status === 'authorized')) return 'authorized';
  return payments.length > 0 ? 'unpaid' : 'none';
}

/**
 * Records that a session is closed at the gateway, or closes it there, so that it cannot be paid and the next one
 * may open. A payment also closes a session, and its callback may be lost or late, so this function first asks for
 * the session's payments.
 *
 * @param closed whether the gateway says that the session is paid
 * @throws GatewayUnavailable, also if the session is paid but its payment is not listed yet; GatewayRefused
 */
export async function recordSessionClosed(
  deps: CaptureDeps,
  at: OrderGateway,
  { gatewaySessionId, isPaid }: Pick<GatewaySession, 'gatewaySessionId' | 'isPaid'>,
  operation?: SessionOperation,
): Promise<void> {
  const session = await queries.findSessionAtGateway(deps.sql, at, gatewaySessionId);
  // Its payment is recorded already.
  if (!session || session.state === 'PAID') return;
  const paid = await recordSessionPayments(deps, at, gatewaySessionId, operation);
  if (paid === 'captured') return;
  // Otherwise the buyer would be offered another session, and might pay twice.
  if (paid === 'none' && isPaid) {
    throw new GatewayUnavailable(
      'listSessionPayments',
      'the payment of a paid session is not listed yet',
    );
  }
  await queries.endSession(deps.sql, session.sessionId, 'CLOSED');
}

/**
 * Notifies an order of a recorded capture, or refunds it if the order cannot take it. Raises an alert if it is in
 * another currency or at least partly refunded.
 */
export async function applyCapture(
  deps: CaptureDeps,
  capture: queries.UnappliedCapture,
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber, isWhole, isSurplus } = capture;
  const ref: PaymentRef = { gateway, gatewayPaymentId };
  if (!isWhole && !isSurplus) return capture.isAlerted ? undefined : alertUnfit(deps, capture);
  // The order is not notified of a wrong amount, nor while the refund is in progress.
  const isRefunded = isSurplus || capture.amountPaise !== capture.orderAmountPaise;
  if (isRefunded || (await signalOrder(deps, orderNumber, 'pay', ref)) === 'gone') {
    await deps.workflows.refundSurplus(ref);
  }
}

/** Notifies the order of a failed payment until its step is recorded, which happens once. */
async function recordFailure(
  deps: CaptureDeps,
  { orderNumber, status }: Pick<OrderRow, 'orderNumber' | 'status'>,
  { gatewayPaymentId, failure }: GatewayPayment,
): Promise<void> {
  const name = 'failPayment';
  const command = { orderNumber, commandId: `failed:${gatewayPaymentId}` };
  const reason = failure?.description || failure?.code;
  // Also without a reason, because the erasure of an order finds the payment's id in its commands.
  const body = reason ? { reason } : {};
  const origin = { actor: { name: 'gateway', address: null }, reason: reason ?? '' };
  await writeCommand(deps.sql, { ...command, name, body, origin });
  if (status !== 'ACCEPTED' || (await findCarriedOut(deps.sql, command))) return;
  await signalOrder(deps, orderNumber, name, { commandId: command.commandId });
}
