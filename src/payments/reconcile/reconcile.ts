import { forEachOrder } from '../../for-each-order.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import { clearResolvedAlerts, raiseAlert } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import {
  confirmPayment,
  recordSessionClosed,
  recordSessionPayments,
} from '../captures/captures.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { alertBalanceLow, clearBalanceLow } from '../funds/balance.ts';
import { holdFunds } from '../funds/funds.ts';
import { checkLinkedAccounts } from '../funds/linked-accounts.ts';
import { findPaymentsToConfirm, findUnconfirmedPayments } from '../captures/capture-queries.ts';
import { takeRefundsToContinue } from '../funds/refund-queries.ts';
import { findUnheldPayments } from '../funds/funds-queries.ts';
import type { SessionToCheck } from '../sessions/session-queries.ts';
import { planNextCheck, takeSessionsToCheck } from '../sessions/session-queries.ts';
import { recordMissedReversals } from '../reversals/reversals.ts';
import type { Shard } from './shard.ts';
import { ALL_ORDERS } from './shard.ts';

const BATCH = 200;
/** Less than the activity's time-out of 2 minutes; the next run continues with the rest. */
const RUN_FOR_MS = 90_000;
/** The part of a run that is reserved for holding funds, however many sessions are due. */
const HOLD_FOR_MS = 30_000;
const CONCURRENT_CALLS = 8;

/**
 * Finds what lost callbacks, crashed processes and lost workflows left unfinished: checks open and recently ended
 * sessions at the gateway, confirms reported payments, applies or refunds unapplied captures, continues refunds, holds
 * funds, checks the linked accounts that are due, and clears alerts whose cause is resolved.
 *
 * @param shard the orders of this run; other runs process the other shards at the same time
 * @returns how many sessions were checked, and how many unfinished payments were found
 */
export async function reconcilePayments(
  deps: CaptureDeps,
  shard: Shard = ALL_ORDERS,
): Promise<{ sessions: number; captures: number }> {
  const endsAtMs = performance.now() + RUN_FOR_MS;
  const sessions = await checkSessions(deps, shard, endsAtMs - HOLD_FOR_MS);
  const unfinished = await findPaymentsToConfirm(deps.sql, { limit: BATCH, shard });
  await processUntil(deps, unfinished, endsAtMs, (payment) => confirmPayment(deps, payment));
  const refunds = await takeRefundsToContinue(deps.sql, { limit: BATCH, shard });
  await processUntil(deps, refunds, endsAtMs, (payment) =>
    deps.workflows.startSurplusRefund(payment, { onlyStarts: true }),
  );
  await holdAllFunds(deps, shard, endsAtMs);
  if (shard.index === 0) {
    // Before what asks for each chargeback: a gateway that hangs takes ten seconds for each.
    await clearResolvedAlerts(deps.sql);
    await alertUnconfirmed(deps);
    // Before the balance, from which a chargeback takes.
    await recordMissedReversals(deps);
    await alertBalanceLow(deps);
    await clearBalanceLow(deps.sql);
    await checkLinkedAccounts(deps);
  }
  return { sessions, captures: unfinished.length };
}

/** Checks all sessions that are due, in batches. A later run retries a failed check. */
async function checkSessions(deps: CaptureDeps, shard: Shard, endsAtMs: number): Promise<number> {
  for (let checked = 0; ;) {
    const sessions = await takeSessionsToCheck(deps.sql, { limit: BATCH, shard });
    await processUntil(deps, sessions, endsAtMs, async (session) => {
      const isAuthorized = (await checkSession(deps, session)) === 'authorized';
      await planNextCheck(deps.sql, session.sessionId, isAuthorized);
    });
    checked += sessions.length;
    if (sessions.length < BATCH || performance.now() > endsAtMs) return checked;
  }
}

/** @returns the result of {@link recordSessionPayments} */
async function checkSession(
  deps: CaptureDeps,
  session: SessionToCheck,
): ReturnType<typeof recordSessionPayments> {
  const { gatewaySessionId } = session;
  if (!deps.gateways.find(session) || gatewaySessionId === null) return 'unpaid';
  const atGateway = { at: session, gatewaySessionId };
  const paid = await recordSessionPayments(deps, atGateway);
  const isOver = session.isExpired || !session.isPayable;
  if (paid !== 'captured' && session.state === 'OPEN' && isOver) {
    await recordSessionClosed(deps, { ...atGateway, isPaid: false, operation: 'closeSession' });
  }
  return paid;
}

/** Raises alerts about payments that the gateway has not confirmed. */
async function alertUnconfirmed(deps: CaptureDeps): Promise<void> {
  for (const payment of await findUnconfirmedPayments(deps.sql, BATCH)) {
    await raiseAlert(deps, {
      kind: 'payment_unconfirmed',
      subject: paymentSubject(payment),
      message: 'A callback has reported a payment, and the gateway does not confirm it',
      fields: { ...payment },
    });
  }
}

/** Holds all funds that can be held, in batches. A later run retries a failed hold. */
async function holdAllFunds(deps: CaptureDeps, shard: Shard, endsAtMs: number): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    const unheld = await findUnheldPayments(deps.sql, {
      limit: BATCH,
      untriedForMs: performance.now() - startedAtMs,
      shard,
    });
    await processUntil(deps, unheld, endsAtMs, ({ orderNumber }) => holdFunds(deps, orderNumber));
    if (unheld.length < BATCH || performance.now() > endsAtMs) return;
  }
}

/** Items for which no time is left are processed by later runs, because a call can take 10 s to time out. */
function processUntil<Item extends { orderNumber: string }>(
  { log }: CaptureDeps,
  items: readonly Item[],
  endsAtMs: number,
  work: (item: Item) => Promise<void>,
): Promise<number> {
  const isOver = () => performance.now() > endsAtMs;
  return forEachOrder(items, work, { log, concurrency: CONCURRENT_CALLS, isOver });
}

/**
 * For how many seconds the most overdue check of a payment session has been due; 0 if none is. While reconciliation
 * runs, this is at most the interval of its Schedule.
 */
export async function reconciliationLagSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_check_at)::float8 AS seconds
    FROM payment_sessions WHERE next_check_at IS NOT NULL ORDER BY next_check_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
