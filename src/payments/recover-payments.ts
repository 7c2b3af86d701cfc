import type { Environment } from '../domain/index.ts';
import { forEachOrder } from '../for-each-order.ts';
import type { CaptureDeps } from './captures.ts';
import { noteSessionPayments } from './captures.ts';
import type { GatewaySession } from './gateway.ts';
import { gatewayOf } from './gateways.ts';
import * as queries from './queries.ts';

const CONCURRENT_SESSIONS = 8;

/**
 * Finds the payments that a restored database has lost: asks the gateway for all sessions since a
 * moment, and for the payments of each. A session that the database has lost, too, is closed first:
 * nobody would hear of it if it were paid later. Safe to repeat; one session that fails is logged.
 *
 * @param sinceMs before the backup was made, in Unix milliseconds
 * @returns how many sessions the gateway was asked about
 * @throws GatewayUnavailable, GatewayRefused when it does not list its sessions
 */
export async function recoverPayments(deps: CaptureDeps, sinceMs: number): Promise<number> {
  let asked = 0;
  for (const environment of ['sandbox', 'production'] as const) {
    const gateway = deps.gateways[environment];
    if (!gateway) continue;
    const sessions = await gateway.listSessions(sinceMs);
    asked += sessions.length;
    await forEachOrder(
      sessions,
      ({ orderNumber }) => orderNumber ?? '',
      (session) => recoverSession(deps, environment, session),
      { log: deps.log, concurrency: CONCURRENT_SESSIONS },
    );
  }
  return asked;
}

async function recoverSession(
  deps: CaptureDeps,
  environment: Environment,
  session: GatewaySession,
): Promise<void> {
  const { gatewaySessionId } = session;
  if (session.state === 'open' && !(await isKnown(deps, environment, session))) {
    await gatewayOf(deps.gateways, environment).closeSession(gatewaySessionId);
  }
  await noteSessionPayments(deps, environment, gatewaySessionId);
}

/** True also of one that is being opened right now, and has only our own name. */
async function isKnown(
  { sql }: CaptureDeps,
  environment: Environment,
  { gatewaySessionId, orderNumber, sessionId }: GatewaySession,
): Promise<boolean> {
  const isOurs = sessionId !== null && orderNumber !== null;
  const known =
    (await queries.findSessionAtGateway(sql, environment, gatewaySessionId)) ??
    (isOurs ? await queries.findSession(sql, orderNumber, sessionId) : undefined);
  return known !== undefined;
}
