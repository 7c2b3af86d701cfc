import { forEachOrder } from '../for-each-order.ts';
import type { CaptureDeps } from './captures.ts';
import { recordSessionPayments } from './captures.ts';
import type { GatewaySession } from './gateway.ts';
import type { OrderGateway } from './gateways.ts';
import * as queries from './queries.ts';

const CONCURRENT_SESSIONS = 8;

/**
 * Finds the payments that a restored database has lost: asks each gateway for all sessions since a
 * moment, and for the payments of each. A session that the database has lost, too, is closed first:
 * a later payment on it would not be found. Safe to repeat; one session that fails is logged.
 *
 * @param sinceMs before the backup was made, in Unix milliseconds
 * @returns how many sessions the gateway was asked about
 * @throws GatewayUnavailable, GatewayRefused when it does not list its sessions
 */
export async function recoverPayments(deps: CaptureDeps, sinceMs: number): Promise<number> {
  let asked = 0;
  for (const { port, ...at } of deps.gateways.all) {
    const sessions = await port.listSessions(sinceMs);
    asked += sessions.length;
    await forEachOrder(
      sessions,
      ({ orderNumber }) => orderNumber ?? '',
      (session) => recoverSession(deps, at, session),
      { log: deps.log, concurrency: CONCURRENT_SESSIONS },
    );
  }
  return asked;
}

async function recoverSession(
  deps: CaptureDeps,
  at: OrderGateway,
  session: GatewaySession,
): Promise<void> {
  const { gatewaySessionId } = session;
  if (session.state === 'open' && !(await isKnown(deps, at, session))) {
    await deps.gateways.forOrder(at).closeSession(gatewaySessionId);
  }
  await recordSessionPayments(deps, at, gatewaySessionId);
}

/** True also of one that is being opened, and has only the service's id. */
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
