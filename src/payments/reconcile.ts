import { forEachOrder } from '../for-each-order.ts';
import type { CaptureDeps } from './captures.ts';
import { applyCapture, recordGatewayPayment, recordSessionPayments } from './captures.ts';
import type { FundsDeps } from './funds.ts';
import { holdFunds } from './funds.ts';
import * as queries from './queries.ts';
import { recordMissedChargebacks } from './reversals.ts';
import type { Shard } from './shard.ts';
import { ALL_ORDERS } from './shard.ts';

/** A Signal under way gets this long before its capture counts as forgotten. */
const UNAPPLIED_AFTER_MS = 30_000;
const BATCH = 200;
/** Less than the activity's 2 minutes; what is left then comes first in the next run. */
const RUN_FOR_MS = 90_000;
/** Of that, kept for setting funds aside, however many sessions there are to ask about. */
const HOLD_FOR_MS = 30_000;
const CONCURRENT_CALLS = 8;

export type ReconcileDeps = CaptureDeps & FundsDeps;

/**
 * Finds what lost callbacks and dead processes hid: asks the gateway about sessions that are open
 * or recently over, hands unapplied captures to their orders or back, and sets funds aside.
 *
 * @param shard the orders that this run sees to; others see to the rest at the same time
 */
export async function reconcilePayments(
  deps: ReconcileDeps,
  shard: Shard = ALL_ORDERS,
): Promise<{ sessions: number; captures: number }> {
  const endsAtMs = performance.now() + RUN_FOR_MS;
  const sessions = await checkSessions(deps, shard, endsAtMs - HOLD_FOR_MS);
  const unapplied = await queries.findUnappliedCaptures(deps.sql, {
    olderThanMs: UNAPPLIED_AFTER_MS,
    limit: BATCH,
    shard,
  });
  await eachInTime(deps, unapplied, endsAtMs, (capture) => applyCapture(deps, capture));
  await holdAllFunds(deps, shard, endsAtMs);
  if (shard.index === 0) await recordMissedChargebacks(deps);
  return { sessions, captures: unapplied.length };
}

/** All sessions that are due, in batches: one whose check fails is due again in a later run. */
async function checkSessions(deps: ReconcileDeps, shard: Shard, endsAtMs: number): Promise<number> {
  for (let checked = 0; ;) {
    const sessions = await queries.takeSessionsToCheck(deps.sql, { limit: BATCH, shard });
    await eachInTime(deps, sessions, endsAtMs, async (session) => {
      await checkSession(deps, session);
      await queries.planNextCheck(deps.sql, session.sessionId);
    });
    checked += sessions.length;
    if (sessions.length < BATCH || performance.now() > endsAtMs) return checked;
  }
}

async function checkSession(deps: ReconcileDeps, session: queries.SessionToCheck): Promise<void> {
  const { gatewaySessionId } = session;
  if (!deps.gateways.find(session) || gatewaySessionId === null) return;
  if (await recordSessionPayments(deps, session, gatewaySessionId)) return;
  const isOver = session.isExpired || !session.isPayable;
  if (session.state === 'OPEN' && isOver) await closeAtGateway(deps, session, gatewaySessionId);
}

/** A QR code may outlive its session, and an order may have several: they must not be paid. */
async function closeAtGateway(
  deps: ReconcileDeps,
  session: queries.SessionRow,
  gatewaySessionId: string,
): Promise<void> {
  const closed = await deps.gateways.forOrder(session).closeSession(gatewaySessionId);
  if (closed.state === 'paid') {
    return recordGatewayPayment(deps, session, closed.payment, gatewaySessionId);
  }
  await queries.endSession(deps.sql, session.sessionId, 'CLOSED');
}

/** All that can be held, batch after batch: one that fails is left out of the rest of this run. */
async function holdAllFunds(deps: ReconcileDeps, shard: Shard, endsAtMs: number): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    const unheld = await queries.findUnheldPayments(deps.sql, {
      limit: BATCH,
      untriedForMs: performance.now() - startedAtMs,
      shard,
    });
    await eachInTime(deps, unheld, endsAtMs, ({ orderNumber }) => holdFunds(deps, orderNumber));
    if (unheld.length < BATCH || performance.now() > endsAtMs) return;
  }
}

/** Those for which no time is left come again: a gateway that never answers takes 10 s a call. */
function eachInTime<Item extends { orderNumber: string }>(
  { log }: ReconcileDeps,
  items: readonly Item[],
  endsAtMs: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const isOver = () => performance.now() > endsAtMs;
  const options = { log, concurrency: CONCURRENT_CALLS, isOver };
  return forEachOrder(items, ({ orderNumber }) => orderNumber, work, options);
}
