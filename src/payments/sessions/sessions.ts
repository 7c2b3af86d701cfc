import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { ClosingResult } from '../../contracts/activities.ts';
import type { Sql } from '../../db/client.ts';
import { databaseTime } from '../../db/client.ts';
import { DomainError, REFUSALS, refusalOf, transitionOf, UNAPPLIED } from '../../domain/index.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { OrderRow } from '../../orders/public.ts';
import { findOrderByNumber, findUnappliedState } from '../../orders/public.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import { recordCapture, recordSessionClosed } from '../captures/captures.ts';
import { GatewayRefused, GatewayUnavailable } from '../gateway/gateway.ts';
import { isCaptured } from '../gateway/gateway-objects.ts';
import { gatewaySubject } from '../gateway/gateways.ts';
import type { SessionRow } from './session-queries.ts';
import {
  claimRefresh,
  endSession,
  findOpenSession,
  findSession,
  markSessionOpen,
  reserveSession,
} from './session-queries.ts';

/** The interval and number of polls while another request opens the session. */
const OPENING_POLL_MS = 100;
const OPENING_POLLS = 45;

export interface SessionDeps extends CaptureDeps {
  sessionMs: number;
}

/**
 * Opens a payment session at the gateway, or returns the open one.
 *
 * @throws DomainError `INVALID_STATE` if the order cannot be paid or has no sessions left, `MERCHANT_NOT_ACTIVE`
 * when the merchant was suspended since its request began, `GATEWAY_UNAVAILABLE` when the gateway does not open it,
 * `PAYMENTS_NOT_AVAILABLE` when no gateway is configured, or the merchant has no linked account in production
 */
export async function openSession(
  deps: SessionDeps,
  order: OrderRow,
): Promise<{ session: SessionRow; isNew: boolean }> {
  const { orderNumber } = order;
  for (let polls = 0; polls < OPENING_POLLS; polls += 1) {
    const sessionId = `ps_${ulid()}`;
    const reservation = await reserveSession(deps.sql, orderNumber, sessionId, deps.sessionMs);
    if (reservation === 'reserved') {
      return { session: await openAtGateway(deps, order, sessionId), isNew: true };
    }
    if (reservation === 'open') {
      const session = await findOpenSession(deps.sql, orderNumber);
      if (session && !(await isClosedAtGateway(deps, session))) return { session, isNew: false };
      continue;
    }
    if (reservation === 'not_active') throw errorOf('MERCHANT_NOT_ACTIVE');
    if (reservation === 'not_ready') throw await notReady(deps, order);
    if (reservation === 'limit') {
      throw new DomainError('INVALID_STATE', 'Cannot open another payment session for this order');
    }
    if (reservation === 'refused') throw await cannotPay(deps.sql, orderNumber);
    await sleep(OPENING_POLL_MS);
  }
  throw errorOf('GATEWAY_UNAVAILABLE');
}

/** Checks whether the order's gateway is configured in its environment. If it is not, it raises an alert. */
export async function hasGateway(deps: SessionDeps, order: OrderRow): Promise<boolean> {
  if (deps.gateways.find(order)) return true;
  await noGateway(deps, order);
  return false;
}

async function openAtGateway(
  deps: SessionDeps,
  order: OrderRow,
  sessionId: string,
): Promise<SessionRow> {
  const { orderNumber, amountPaise } = order;
  try {
    const reserved = await sessionOf(deps.sql, orderNumber, sessionId);
    const gateway = deps.gateways.find(order);
    if (!gateway) throw await noGateway(deps, order);
    const opened = await gateway.openSession({
      orderNumber,
      sessionId,
      amountPaise,
      expiresAtMs: reserved.expiresAt.getTime(),
      description: `Order ${orderNumber}`,
    });
    if (!(await markSessionOpen(deps.sql, sessionId, opened))) {
      // The order was cancelled or paid in the meantime. No buyer has the session, so a failure does no harm.
      const { gatewaySessionId } = opened;
      await gateway.closeSession(gatewaySessionId).catch((err: unknown) => {
        deps.log.warn({ err, gatewaySessionId }, 'An unwanted payment session stays open');
      });
      throw await cannotPay(deps.sql, orderNumber);
    }
    return await sessionOf(deps.sql, orderNumber, sessionId);
  } catch (error) {
    await endSession(deps.sql, sessionId, 'FAILED');
    if (!(error instanceof GatewayUnavailable) && !(error instanceof GatewayRefused)) throw error;
    if (error instanceof GatewayRefused) await alertSessionRefused(deps, order, error);
    deps.log.warn({ err: error, orderNumber }, 'No payment session could be opened');
    throw errorOf('GATEWAY_UNAVAILABLE');
  }
}

/**
 * Raises one alert for a gateway, because it would refuse every session. Reconciliation clears it after a session
 * has opened.
 */
function alertSessionRefused(deps: SessionDeps, order: OrderRow, error: Error): Promise<void> {
  const { gateway, environment, orderNumber } = order;
  return raiseAlert(deps, {
    kind: 'session_refused',
    subject: gatewaySubject(gateway, environment),
    message: 'The gateway permanently refuses to open payment sessions: no order can be paid',
    fields: { gateway, environment, orderNumber },
    error,
  });
}

/**
 * Asks the gateway whether it has closed a session that is recorded as open, and records that. A session that
 * expires at the gateway causes no callback.
 *
 * @returns false also when the gateway does not respond; the recorded state then stays
 */
async function isClosedAtGateway(deps: SessionDeps, session: SessionRow): Promise<boolean> {
  const { gatewaySessionId } = session;
  if (session.state !== 'OPEN' || gatewaySessionId === null) return false;
  try {
    const found = await deps.gateways.forOrder(session).fetchSession(gatewaySessionId);
    if (found.state === 'open') return false;
    await recordSessionClosed(deps, { at: session, ...found });
    return true;
  } catch (err) {
    deps.log.warn({ err, gatewaySessionId }, 'Could not check whether a payment session is open');
    return false;
  }
}

/** A request for a session makes the service check it at the gateway, at most this often. */
const REFRESH_EVERY_MS = 2000;
/** After this time the recorded session is returned, and the check continues. */
const REFRESH_TIMEOUT_MS = 1500;

/**
 * Returns a session after it was checked at the gateway, so that a closed one is not shown as open.
 *
 * @returns undefined when the order has no such session
 */
export async function refreshSession(
  deps: SessionDeps,
  orderNumber: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const session = await findSession(deps.sql, orderNumber, sessionId);
  if (!session || !isOpen(session)) return session;
  if (!(await claimRefresh(deps.sql, sessionId, REFRESH_EVERY_MS))) return session;
  const check = isClosedAtGateway(deps, session);
  await Promise.race([check, sleep(REFRESH_TIMEOUT_MS, undefined, { ref: false })]);
  return findSession(deps.sql, orderNumber, sessionId);
}

/** True while a session can be paid. The service may close it at the gateway only later. */
export function isOpen({ state, endedAt, isExpired }: SessionRow): boolean {
  return (state === 'OPEN' || state === 'OPENING') && endedAt === null && !isExpired;
}

async function sessionOf(sql: Sql, orderNumber: string, sessionId: string): Promise<SessionRow> {
  const session = await findSession(sql, orderNumber, sessionId);
  if (!session) throw new Error(`Session ${sessionId} is not recorded`);
  return session;
}

/**
 * Closes an order's open session at the gateway, so that the order can be cancelled.
 *
 * @throws GatewayUnavailable, GatewayRefused when the gateway does not report that it is closed
 */
export async function closeOpenSession(deps: SessionDeps, order: OrderRow): Promise<ClosingResult> {
  const session = await findOpenSession(deps.sql, order.orderNumber);
  if (!session) return { outcome: 'closed' };
  // Still opening: no buyer has it. The request that opens it finds it ended, and closes it.
  if (session.gatewaySessionId === null) {
    const hasEnded = await endSession(deps.sql, session.sessionId, 'FAILED');
    if (hasEnded || session.state === 'PAID') return { outcome: 'closed' };
    // It has opened, or was paid, since it was read.
    return closeOpenSession(deps, order);
  }
  const { gatewaySessionId } = session;
  const askedAt = await databaseTime(deps.sql);
  const payments = await deps.gateways.forOrder(order).closeSession(gatewaySessionId);
  for (const payment of payments.filter(isCaptured)) {
    // One that fits is returned: the order's workflow, which has asked, then makes the order PAID.
    const recorded = await recordCapture(deps, { at: order, payment, gatewaySessionId, askedAt });
    const { gatewayPaymentId } = payment;
    if (recorded?.fits) {
      return { outcome: 'paid', payment: { gateway: order.gateway, gatewayPaymentId } };
    }
  }
  await endSession(deps.sql, session.sessionId, 'CLOSED');
  return { outcome: 'closed' };
}

/** Without an account that receives transfers, the payment could not be released to the merchant. */
async function notReady(deps: SessionDeps, order: OrderRow): Promise<DomainError> {
  const { orderNumber, merchantId } = order;
  await raiseAlert(deps, {
    kind: 'no_linked_account',
    subject: merchantId,
    message:
      'A merchant without a linked account that receives transfers cannot be paid in production',
    fields: { orderNumber, merchantId },
  });
  return errorOf('PAYMENTS_NOT_AVAILABLE');
}

/** The response suggests no retry, because a retry would not help. */
async function noGateway(deps: SessionDeps, order: OrderRow): Promise<DomainError> {
  const { orderNumber, merchantId, gateway, environment } = order;
  const settings = `${environment}_${gateway}_*`.toUpperCase();
  await raiseAlert(deps, {
    kind: 'no_gateway',
    subject: gatewaySubject(gateway, environment),
    message: `No UPI gateway is configured for ${environment}: the settings ${settings}`,
    fields: { gateway, environment, orderNumber, merchantId },
  });
  return errorOf('PAYMENTS_NOT_AVAILABLE');
}

/** Reads the order again, because its status, pending operation or payment may have changed. */
async function cannotPay(sql: Sql, orderNumber: string): Promise<DomainError> {
  const order = await findOrderByNumber(sql, orderNumber);
  const refusal = refusalOf(order, 'pay');
  const unapplied = await findUnappliedState(sql, orderNumber);
  if (!transitionOf(order, 'pay') || unapplied === null) return refusal;
  return new DomainError('INVALID_STATE', `${REFUSALS.pay}; ${UNAPPLIED[unapplied]}`);
}
