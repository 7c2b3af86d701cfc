import { runAboutOrder } from '../http/request-context.ts';
import type { CaptureDeps } from './captures.ts';
import { applyCapture, notePayment, noteSessionClosed, noteSessionPayments } from './captures.ts';
import type { FundsDeps } from './funds.ts';
import { holdFunds } from './funds.ts';
import { gatewayOf } from './gateways.ts';
import * as queries from './queries.ts';
import { noteMissedChargebacks } from './reversals.ts';

/** How often a session is asked about, and for how long after it has expired. */
const CHECK_EVERY_MS = 60_000;
/** Only a second payment can come on a paid one: rare, and no order waits for it. */
const CHECK_PAID_EVERY_MS = 4 * 60_000;
const CHECK_FOR_MS = 60 * 60_000;
/** A Signal under way gets this long before its capture counts as forgotten. */
const LOOSE_AFTER_MS = 30_000;
const BATCH = 200;
/** Less than the activity's 2 minutes; what is left then comes first in the next run. */
const RUN_FOR_MS = 90_000;
/** Of that, kept for setting funds aside, however many sessions there are to ask about. */
const HOLD_FOR_MS = 30_000;
const CONCURRENT_CALLS = 8;

export type ReconcileDeps = CaptureDeps & FundsDeps;

/**
 * Finds what lost callbacks and dead processes hid: asks the gateway about sessions that are open
 * or recently over, hands loose captures to their orders or back, and sets funds aside.
 */
export async function reconcilePayments(
  deps: ReconcileDeps,
): Promise<{ sessions: number; captures: number }> {
  const endsAtMs = performance.now() + RUN_FOR_MS;
  const sessions = await checkSessions(deps, endsAtMs - HOLD_FOR_MS);
  const loose = await queries.findLooseCaptures(deps.sql, LOOSE_AFTER_MS, BATCH);
  await forEach(deps, loose, endsAtMs, (capture) => applyCapture(deps, capture));
  await holdAllFunds(deps, endsAtMs);
  await noteMissedChargebacks(deps);
  return { sessions, captures: loose.length };
}

/** All that are due, batch after batch: each is marked before it is asked about. */
async function checkSessions(deps: ReconcileDeps, endsAtMs: number): Promise<number> {
  for (let checked = 0; ;) {
    const sessions = await queries.takeSessionsToCheck(deps.sql, {
      limit: BATCH,
      everyMs: CHECK_EVERY_MS,
      paidEveryMs: CHECK_PAID_EVERY_MS,
      forMs: CHECK_FOR_MS,
    });
    await forEach(deps, sessions, endsAtMs, (session) => checkSession(deps, session));
    checked += sessions.length;
    if (sessions.length < BATCH || performance.now() > endsAtMs) return checked;
  }
}

async function checkSession(deps: ReconcileDeps, session: queries.SessionToCheck): Promise<void> {
  const { environment, gateway_session_id: gatewaySessionId } = session;
  if (!deps.gateways[environment] || gatewaySessionId === null) return;
  if (await noteSessionPayments(deps, environment, gatewaySessionId)) return;
  if (session.state !== 'OPEN') return;
  const isOver = session.is_expired || !session.is_payable;
  if (isOver) return closeAtGateway(deps, session, gatewaySessionId);
  const { state } = await gatewayOf(deps.gateways, environment).fetchSession(gatewaySessionId);
  if (state === 'closed') await noteSessionClosed(deps, environment, gatewaySessionId);
}

/** A QR code may outlive its session, and one order may have several: nobody shall pay them. */
async function closeAtGateway(
  deps: ReconcileDeps,
  { session_id: sessionId, environment }: queries.SessionRow,
  gatewaySessionId: string,
): Promise<void> {
  const closed = await gatewayOf(deps.gateways, environment).closeSession(gatewaySessionId);
  if (closed.state === 'paid') {
    return notePayment(deps, environment, closed.payment, gatewaySessionId);
  }
  await queries.endSession(deps.sql, sessionId, 'CLOSED');
}

/** All that can be held, batch after batch: one that fails is left out of the rest of this run. */
async function holdAllFunds(deps: ReconcileDeps, endsAtMs: number): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    const unheld = await queries.findUnheldPayments(deps.sql, {
      limit: BATCH,
      untriedForMs: performance.now() - startedAtMs,
    });
    await forEach(deps, unheld, endsAtMs, ({ order_number }) => holdFunds(deps, order_number));
    if (unheld.length < BATCH || performance.now() > endsAtMs) return;
  }
}

/**
 * A few at a time; one that fails is logged, and comes again with a later run, as do those for which
 * no time is left: a gateway that never answers takes 10 s for each call.
 */
async function forEach<Item extends { order_number: string }>(
  { log }: ReconcileDeps,
  items: readonly Item[],
  endsAtMs: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const takeTurns = async () => {
    for (const item of queue) {
      if (performance.now() > endsAtMs) return;
      await runAboutOrder(item.order_number, async () => {
        await work(item).catch((err: unknown) =>
          log.warn({ err }, 'Reconciliation: once more later'),
        );
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_CALLS }, takeTurns));
}
