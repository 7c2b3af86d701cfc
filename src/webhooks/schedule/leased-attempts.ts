import { randomUUID } from 'node:crypto';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { ManualAttemptResult } from '../../contracts/activities.ts';
import { ATTEMPT_LEASE_MS } from '../../domain/index.ts';
import type { LeasedDelivery } from '../../orders/public.ts';
import { assertClockAgrees } from '../sending/clock.ts';
import { WebhookNotAttemptedError } from '../sending/faults.ts';
import type { AttemptDeps } from './attempt.ts';
import { makeAttempt } from './attempt.ts';
import type { Attempt, AttemptContext, AttemptKind } from './attempt-log.ts';

/** An attempt may be made this much before it is due. */
const EARLY_TOLERANCE_MS = 1000;

/** The sender may need 16 s of the lease's 25 s. */
const LEASE_USABLE_MS = 8000;

/** The longest wait of a webhook that finds its endpoint full, the first time and later. */
const FIRST_BUSY_WAIT_MS = 10_000;
const LONGEST_BUSY_WAIT_MS = 600_000;

/** The outcome of a scheduled attempt, from which the workflow decides what follows. */
export type AttemptOutcome =
  | { outcome: 'accepted' }
  /** The delivery is FAILED: after the fifth attempt, or because no URL is set any more. */
  | { outcome: 'failed'; reason: string }
  | { outcome: 'refused'; reason: string; retryAfterMs: number }
  /** No attempt was made: it is too early, another one runs, or the endpoint is full. */
  | { outcome: 'postponed'; retryAfterMs: number };

/**
 * Makes the next scheduled attempt of a delivery, if it is due, with the current URL and secret. The attempt's
 * number comes from the recorded attempts, so a process that dies during an attempt does not use up one of the five.
 *
 * @param options.takesOver the order's workflow sends the delivery from now on, so nothing needs to wake it
 * @throws Error for an internal fault, which does not count as an attempt either
 */
export async function attemptScheduled(
  deps: AttemptDeps,
  deliveryId: string,
  { takesOver = false } = {},
): Promise<AttemptOutcome> {
  const { now = Date.now } = deps;
  const dueBy = new Date((await now()) + EARLY_TOLERANCE_MS);
  const attempt = { ...newAttempt(deliveryId, 'scheduled', dueBy), takesOver };
  const context = await lease(deps, attempt);
  if (!context) return outcomeWithoutAttempt(deps, attempt);
  return abandonOnError(deps, attempt, () => attemptOrPostpone(deps, context, attempt));
}

/**
 * Makes the first attempt of a delivery that is leased to this process. If the process hung meanwhile, it leases the
 * delivery again, because another attempt may have begun.
 *
 * @throws Error for an internal fault, which does not count as an attempt
 */
export async function attemptLeased(
  deps: AttemptDeps,
  { token, askedAtMs, ...delivery }: LeasedDelivery,
): Promise<AttemptOutcome> {
  const { deliveryId, databaseNow } = delivery;
  const attempt: Attempt = { deliveryId, kind: 'scheduled', token, dueBy: null };
  if (isLeaseLate(askedAtMs)) {
    await deps.attemptLog.abandon(attempt);
    return attemptScheduled(deps, deliveryId);
  }
  const context = { ...delivery, scheduledAttempts: 0, postponements: 0 };
  return abandonOnError(deps, attempt, async () => {
    await assertClockAgrees(databaseNow, deps);
    return attemptOrPostpone(deps, context, attempt);
  });
}

/** An attempt with a token of its own, which is not leased yet. */
function newAttempt(deliveryId: string, kind: AttemptKind, dueBy: Date | null): Attempt {
  return { deliveryId, kind, token: randomUUID(), dueBy };
}

/**
 * Leases the delivery for an attempt and checks the clock: with a wrong clock, an attempt that is due could seem too
 * early.
 *
 * @throws Error if the clock is wrong, or the lease came late ({@link isLeaseLate})
 */
async function lease(deps: AttemptDeps, attempt: Attempt): Promise<AttemptContext | undefined> {
  const askedAtMs = performance.now();
  const context = await deps.attemptLog.lease(attempt);
  return abandonOnError(deps, attempt, async () => {
    if (context) await assertClockAgrees(context.databaseNow, deps);
    if (isLeaseLate(askedAtMs)) throw new Error('The lease came too late');
    return context;
  });
}

/** True if the lease may expire, and another attempt begin, before an attempt made with it ends. */
const isLeaseLate = (askedAtMs: number) => performance.now() - askedAtMs > LEASE_USABLE_MS;

/** Runs `work`, and ends the lease of the delivery if it fails. */
async function abandonOnError<Result>(
  { attemptLog }: AttemptDeps,
  attempt: Attempt,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    // If this fails, too, the lease expires.
    await attemptLog.abandon(attempt).catch(() => undefined);
    throw error;
  }
}

/** Postpones the attempt when its endpoint has no free slot; that does not count as an attempt. */
async function attemptOrPostpone(
  deps: AttemptDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<AttemptOutcome> {
  if (context.webhookUrl === null) {
    await deps.attemptLog.fail(attempt);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
  }
  if (context.scheduledAttempts > deps.retryDelaysMs.length) {
    // A process that hung past its lease has recorded its attempt beside the one that was made instead.
    await deps.attemptLog.fail(attempt);
    return { outcome: 'failed', reason: 'All attempts were made' };
  }
  try {
    const { after, error } = await makeAttempt(deps, context, attempt);
    if (after.state === 'DELIVERED') return { outcome: 'accepted' };
    const reason = error ?? '';
    if (after.retryAfterMs === null) return { outcome: 'failed', reason };
    return { outcome: 'refused', reason, retryAfterMs: after.retryAfterMs };
  } catch (error) {
    if (!(error instanceof WebhookNotAttemptedError) || error.reason !== 'busy') throw error;
    return postponeAttempt(deps, context, attempt);
  }
}

/**
 * Lets the delivery wait four times as long as the last time, up to ten minutes. So a burst at a slow endpoint is
 * sent within seconds, and thousands of webhooks to a dead one wait without work.
 */
async function postponeAttempt(
  { attemptLog, now = Date.now }: AttemptDeps,
  { postponements }: AttemptContext,
  attempt: Attempt,
): Promise<AttemptOutcome> {
  const longestMs = Math.min(LONGEST_BUSY_WAIT_MS, FIRST_BUSY_WAIT_MS * 4 ** postponements);
  // Spreads webhooks that were postponed together.
  const retryAfterMs = longestMs * (0.5 + Math.random() / 2);
  await attemptLog.postpone(attempt, new Date((await now()) + retryAfterMs));
  return { outcome: 'postponed', retryAfterMs };
}

/**
 * Makes one attempt immediately, whatever the delivery's state: the same event and bytes, with the current URL and
 * secret. It is not one of the five. Its success ends their schedule; its failure changes nothing. Source: the
 * contract's "Manual retry".
 *
 * @returns undefined when there is no such delivery
 * @throws Error for an internal fault: no attempt was made, or it could not be recorded
 */
export async function attemptManually(
  deps: AttemptDeps,
  deliveryId: string,
): Promise<ManualAttemptResult | undefined> {
  const { attemptLog } = deps;
  const attempt = newAttempt(deliveryId, 'manual', null);
  const context = await lease(deps, attempt);
  if (!context) {
    const delivery = await attemptLog.find(attempt);
    // The buyer's data was erased since the attempt was asked for.
    if (delivery?.isErased) return { outcome: 'refused', reason: 'The event is erased' };
    return delivery && { outcome: 'running' };
  }
  if (context.webhookUrl === null) {
    await attemptLog.abandon(attempt);
    return { outcome: 'no_url' };
  }
  const { error } = await abandonOnError(deps, attempt, () => makeAttempt(deps, context, attempt));
  return error === null ? { outcome: 'accepted' } : { outcome: 'refused', reason: error };
}

async function outcomeWithoutAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptOutcome> {
  const { attemptLog, now = Date.now } = deps;
  const delivery = await attemptLog.find(attempt);
  if (delivery?.state === 'DELIVERED') return { outcome: 'accepted' };
  if (delivery?.state === 'FAILED') return { outcome: 'failed', reason: 'Marked FAILED before' };
  if (!delivery) {
    // The database was restored from a backup. If the order's step is recorded again, so is this delivery.
    await raiseAlert(deps, {
      kind: 'delivery_unknown',
      subject: attempt.deliveryId,
      message: 'A webhook is not in the database: it is not sent',
    });
    return { outcome: 'failed', reason: 'It is not in the database' };
  }
  await assertClockAgrees(delivery.databaseNow, deps);
  // The process died after it had recorded the next attempt and before it returned its time.
  const earlyMs = (delivery.nextAttemptAt?.getTime() ?? 0) - (await now());
  const leaseMs = delivery.isUnderWay ? ATTEMPT_LEASE_MS : 0;
  return { outcome: 'postponed', retryAfterMs: Math.max(earlyMs, leaseMs, EARLY_TOLERANCE_MS) };
}
