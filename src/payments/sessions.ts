import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { raiseAlert } from '../alerts/alerts.ts';
import type { ClosingResult } from '../contracts/activities.ts';
import type { Sql } from '../db/client.ts';
import { DomainError, refusalOf } from '../domain/index.ts';
import { errorOf } from '../http/errors.ts';
import type { OrderRow } from '../orders/public.ts';
import { findOrderByNumber } from '../orders/public.ts';
import type { CaptureDeps } from './captures.ts';
import { recordCapture, recordSessionClosed } from './captures.ts';
import type { PaymentGateway } from './gateway.ts';
import { GatewayRefused, GatewayUnavailable } from './gateway.ts';
import { gatewaySubject } from './gateways.ts';
import type { SessionRow } from './queries.ts';
import * as queries from './queries.ts';

/** How often, and how many times, a request looks whether another one has opened the session. */
const OPENING_POLL_MS = 100;
const OPENING_POLLS = 45;

export interface SessionDeps extends CaptureDeps {
  sessionMs: number;
}

/**
 * Opens a payment session at the gateway, or finds the one that is open.
 *
 * @throws DomainError `INVALID_STATE` unless the order can be paid and has sessions left,
 *   `GATEWAY_UNAVAILABLE` when the gateway does not open it, `PAYMENTS_NOT_AVAILABLE` when there is
 *   no gateway, or no linked account of the merchant's in production
 */
export async function openSession(
  deps: SessionDeps,
  order: OrderRow,
): Promise<{ session: SessionRow; isNew: boolean }> {
  const { orderNumber } = order;
  for (let polls = 0; polls < OPENING_POLLS; polls += 1) {
    const sessionId = `ps_${ulid()}`;
    const reservation = await queries.reserveSession(
      deps.sql,
      orderNumber,
      sessionId,
      deps.sessionMs,
    );
    if (reservation === 'reserved') {
      return { session: await openAtGateway(deps, order, sessionId), isNew: true };
    }
    if (reservation === 'open') {
      const session = await queries.findOpenSession(deps.sql, orderNumber);
      if (session && !(await isClosedAtGateway(deps, session))) return { session, isNew: false };
      continue;
    }
    if (reservation === 'no_account') throw await noAccount(deps, order);
    if (reservation === 'limit') throw limitReached();
    if (reservation === 'refused') throw await cannotPay(deps.sql, orderNumber);
    await sleep(OPENING_POLL_MS);
  }
  throw errorOf('GATEWAY_UNAVAILABLE');
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
    if (!(await queries.markSessionOpen(deps.sql, sessionId, opened))) {
      await closeUnwanted(deps, gateway, opened.gatewaySessionId);
      throw await cannotPay(deps.sql, orderNumber);
    }
    return await sessionOf(deps.sql, orderNumber, sessionId);
  } catch (error) {
    await queries.endSession(deps.sql, sessionId, 'FAILED');
    if (!(error instanceof GatewayUnavailable) && !(error instanceof GatewayRefused)) throw error;
    deps.log.warn({ err: error, orderNumber }, 'No payment session could be opened');
    throw errorOf('GATEWAY_UNAVAILABLE');
  }
}

/**
 * Asks the gateway whether it has closed a session that we have as open, for example because its
 * time was over, for which there is no callback, and records that.
 *
 * @returns false also when the gateway does not answer: then the session stays what it was
 */
async function isClosedAtGateway(deps: SessionDeps, session: SessionRow): Promise<boolean> {
  const { gatewaySessionId } = session;
  if (session.state !== 'OPEN' || gatewaySessionId === null) return false;
  try {
    const found = await deps.gateways.forOrder(session).fetchSession(gatewaySessionId);
    if (found.state === 'open') return false;
    await recordSessionClosed(deps, session, gatewaySessionId);
    return true;
  } catch (err) {
    deps.log.warn({ err, gatewaySessionId }, 'Whether a payment session is still open is unknown');
    return false;
  }
}

/** Showing a session asks the gateway about it, at most this often. */
const LOOK_EVERY_MS = 2000;
/** Past this the session is shown as it was, and the gateway's answer is recorded when it comes. */
const LOOK_WITHIN_MS = 1500;

/**
 * A session for showing it: one that the gateway has closed is not shown as open.
 *
 * @returns undefined when the order has no such session
 */
export async function refreshSession(
  deps: SessionDeps,
  orderNumber: string,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const session = await queries.findSession(deps.sql, orderNumber, sessionId);
  if (!session || !isOpen(session)) return session;
  if (!(await queries.claimLook(deps.sql, sessionId, LOOK_EVERY_MS))) return session;
  const asking = isClosedAtGateway(deps, session);
  await Promise.race([asking, sleep(LOOK_WITHIN_MS, undefined, { ref: false })]);
  return queries.findSession(deps.sql, orderNumber, sessionId);
}

/** True while it can be paid. The gateway may learn only later that it no longer can. */
export function isOpen({ state, endedAt, isExpired }: SessionRow): boolean {
  return (state === 'OPEN' || state === 'OPENING') && endedAt === null && !isExpired;
}

/** The order was cancelled while this was opening. No buyer has seen it, so the close may fail. */
async function closeUnwanted(
  { log }: SessionDeps,
  gateway: PaymentGateway,
  gatewaySessionId: string,
): Promise<void> {
  await gateway.closeSession(gatewaySessionId).catch((err: unknown) => {
    log.warn({ err, gatewaySessionId }, 'An unwanted payment session stays open');
  });
}

async function sessionOf(sql: Sql, orderNumber: string, sessionId: string): Promise<SessionRow> {
  const session = await queries.findSession(sql, orderNumber, sessionId);
  if (!session) throw new Error(`Session ${sessionId} is not recorded`);
  return session;
}

/**
 * Closes an order's open session at the gateway, so that it can be cancelled.
 *
 * @throws GatewayUnavailable when the gateway does not say what became of it
 */
export async function closeOpenSession(deps: SessionDeps, order: OrderRow): Promise<ClosingResult> {
  const session = await queries.findOpenSession(deps.sql, order.orderNumber);
  if (!session) return { outcome: 'closed' };
  // Being opened: no buyer has seen it, and the request that opens it finds it ended and closes it.
  if (session.gatewaySessionId === null) {
    await queries.endSession(deps.sql, session.sessionId, 'FAILED');
    return { outcome: 'closed' };
  }
  const gateway = deps.gateways.forOrder(order);
  const closed = await gateway.closeSession(session.gatewaySessionId);
  if (closed.state === 'paid') {
    const { payment } = closed;
    const fits = await recordCapture(deps, order, session.sessionId, payment);
    // The order cannot take any other payment: reconciliation refunds one of another amount.
    const { gatewayPaymentId } = payment;
    if (fits) return { outcome: 'paid', payment: { gateway: order.gateway, gatewayPaymentId } };
  }
  await queries.endSession(deps.sql, session.sessionId, 'CLOSED');
  return { outcome: 'closed' };
}

/** Without the account a buyer would pay what could not be paid out. */
async function noAccount(deps: SessionDeps, order: OrderRow): Promise<DomainError> {
  const { orderNumber, merchantId } = order;
  await raiseAlert(deps, {
    kind: 'no_linked_account',
    subject: merchantId,
    message: 'A merchant without a linked account cannot be paid in production',
    fields: { orderNumber, merchantId },
  });
  return errorOf('PAYMENTS_NOT_AVAILABLE');
}

/** A retry would not help, so the response does not suggest one. */
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

/** Read afresh, because the order may have moved on or have become busy since. */
async function cannotPay(sql: Sql, orderNumber: string): Promise<DomainError> {
  return refusalOf(await findOrderByNumber(sql, orderNumber), 'pay');
}

function limitReached(): DomainError {
  return new DomainError('INVALID_STATE', 'Cannot open another payment session for this order');
}
