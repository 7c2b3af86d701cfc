import { forEachOrder } from '../../for-each-order.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import { recordSessionPayments } from '../captures/captures.ts';
import type { GatewaySession } from '../gateway/gateway.ts';
import type { OrderGateway } from '../gateway/gateways.ts';
import * as queries from '../queries.ts';

const CONCURRENT_SESSIONS = 8;

/**
 * Finds the payments that a restored database has lost: it lists each gateway's sessions since a time, and the
 * payments of each session. A session that the database has lost, too, is first closed, because a later payment on
 * it would not be found. Idempotent. A session that fails is logged.
 *
 * @param sinceMs a time before the backup was made, in Unix milliseconds
 * @returns how many sessions the gateways listed
 * @throws GatewayUnavailable, GatewayRefused when a gateway does not list its sessions
 */
export async function recoverPayments(deps: CaptureDeps, sinceMs: number): Promise<number> {
  let listed = 0;
  for (const { port, ...at } of deps.gateways.all) {
    const sessions = await port.listSessions(sinceMs);
    listed += sessions.length;
    await forEachOrder(
      sessions,
      ({ orderNumber }) => orderNumber ?? '',
      (session) => recoverSession(deps, at, session),
      { log: deps.log, concurrency: CONCURRENT_SESSIONS },
    );
  }
  return listed;
}

async function recoverSession(
  deps: CaptureDeps,
  at: OrderGateway,
  session: GatewaySession,
): Promise<void> {
  const isLost = session.state === 'open' && !(await isKnown(deps, at, session));
  const operation = isLost ? 'closeSession' : 'listSessionPayments';
  await recordSessionPayments(deps, at, session.gatewaySessionId, operation);
}

/** True also for a session that is being opened, for which only the service's id is recorded. */
async function isKnown(
  { sql }: CaptureDeps,
  at: OrderGateway,
  { gatewaySessionId, orderNumber, sessionId }: GatewaySession,
): Promise<boolean> {
  const isOurs = sessionId !== null && orderNumber !== null;
  const known =
    (await queries.findSessionAtGateway(sql, at, gatewaySessionId)) ??
    (isOurs ? await queries.findSession(sql, orderNumber, sessionId) : undefined);
  return known !== undefined;
}
