import { clearAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { databaseTime } from '../../db/client.ts';
import { forEachOrder } from '../../for-each-order.ts';
import { findOrderByNumber } from '../../orders/public.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import { recordCapture, recordSessionPayments } from '../captures/captures.ts';
import type { GatewaySession } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { findSession, findSessionAtGateway } from '../sessions/session-queries.ts';

const CONCURRENT_SESSIONS = 8;

/**
 * Finds the payments that a restored database has lost: it lists each gateway's sessions since a time, and the
 * payments of each session. A session that the database has lost, too, is first closed, because a later payment on
 * it would not be found. Idempotent. A session that fails is logged.
 *
 * @param sinceMs a time before the backup was made, in Unix milliseconds
 * @returns how many sessions the gateways listed, and how many of them could not be looked at
 * @throws GatewayUnavailable, GatewayRefused when a gateway does not list its sessions
 */
export async function recoverPayments(
  deps: CaptureDeps,
  sinceMs: number,
): Promise<{ listed: number; failed: number }> {
  let [listed, failed] = [0, 0];
  for (const { port, ...at } of deps.gateways.all) {
    const sessions = await port.listSessions(sinceMs);
    listed += sessions.length;
    const options = { log: deps.log, concurrency: CONCURRENT_SESSIONS };
    failed += await forEachOrder(sessions, (one) => recoverSession(deps, at, one), options);
  }
  return { listed, failed };
}

async function recoverSession(
  deps: CaptureDeps,
  at: GatewayRef,
  session: GatewaySession,
): Promise<void> {
  const isLost = session.state === 'open' && !(await isKnown(deps, at, session));
  const operation = isLost ? 'closeSession' : 'listSessionPayments';
  const { gatewaySessionId } = session;
  await recordSessionPayments(deps, { at, gatewaySessionId, operation });
}

/** True also for a session that is being opened, for which only the service's id is recorded. */
async function isKnown(
  { sql }: CaptureDeps,
  at: GatewayRef,
  { gatewaySessionId, orderNumber, sessionId }: GatewaySession,
): Promise<boolean> {
  const hasOwnIds = sessionId !== null && orderNumber !== null;
  const known =
    (await findSessionAtGateway(sql, at, gatewaySessionId)) ??
    (hasOwnIds ? await findSession(sql, orderNumber, sessionId) : undefined);
  return known !== undefined;
}

/**
 * Asks the gateway for a capture that a restored database may have lost, and records it as it was when its order
 * took it, without later refunds. The workflow of the order has it.
 *
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function recoverCapture(
  deps: CaptureDeps,
  orderNumber: string,
  ref: PaymentRef,
): Promise<void> {
  const { environment } = await findOrderByNumber(deps.sql, orderNumber);
  const at = { gateway: ref.gateway, environment };
  const askedAt = await databaseTime(deps.sql);
  const payment = await deps.gateways.forOrder(at).fetchPayment(ref.gatewayPaymentId);
  const taken = { ...payment, orderNumber, status: 'captured', refundedPaise: 0 } as const;
  await recordCapture(deps, { at, payment: taken, askedAt, wasTaken: true });
  const subject = paymentSubject(ref);
  await clearAlert(deps.sql, 'unfit_capture', subject, 'its order has taken the payment');
}
