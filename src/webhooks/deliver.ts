import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { AlertDeps } from '../alerts/alerts.ts';
import { raiseAlert } from '../alerts/alerts.ts';
import type { ManualAttemptResult } from '../contracts/activities.ts';
import type {
  Attempt,
  AttemptContext,
  AttemptKind,
  AttemptLog,
  DeliveryState,
} from './attempt-log.ts';
import { ATTEMPT_LEASE_MS } from './attempt-log.ts';
import { assertClockAgrees } from './clock.ts';
import { WebhookNotAttemptedError } from './faults.ts';
import type { SecretBox } from './secret-box.ts';
import type { SendResult, WebhookSender } from './sender.ts';
import { signedRequest } from './signed-request.ts';

/** Sooner than that before its time, an attempt is made. */
const EARLY_MS = 1000;

/** What a scheduled attempt came to, for whoever decides what happens next. */
export type DeliveryOutcome =
  | { outcome: 'delivered' }
  /** FAILED for good: after the fifth attempt, or because there is no URL any more. */
  | { outcome: 'failed'; reason: string }
  | { outcome: 'refused'; reason: string; retryAfterMs: number }
  /** No attempt was made: too early, another one runs, or it waits for its endpoint. */
  | { outcome: 'postponed'; retryAfterMs: number };

export interface DeliverDeps extends AlertDeps {
  attempts: AttemptLog;
  sender: WebhookSender;
  secretBox: SecretBox;
  apiVersion: string;
  /** The wait before attempts 2 to 5, in milliseconds. */
  retryDelaysMs: readonly number[];
  /** The clock that the schedule runs on, Unix milliseconds; tests skip its time. */
  now?: () => number | Promise<number>;
}

/** Where in `merchant_environments` a webhook secret is sealed for. */
export function webhookSecretPlace(merchantId: string, environment: string): string[] {
  return [merchantId, environment, 'webhook_secret'];
}

/**
 * Makes the next scheduled attempt of a delivery, if it is due: to the URL and with the secret of
 * this moment. The attempt's number comes from the log of attempts, so a process that dies in the
 * middle of one uses up none of the five.
 *
 * @throws Error for our own faults, which count as no attempt either
 */
export async function attemptScheduled(
  deps: DeliverDeps,
  deliveryId: string,
): Promise<DeliveryOutcome> {
  const { attempts, now = Date.now } = deps;
  const dueBy = new Date((await now()) + EARLY_MS);
  const attempt = newAttempt(deliveryId, 'scheduled', dueBy);
  const context = await begin(deps, attempt);
  if (!context) return whyNotBegun(deps, deliveryId);
  if (context.webhookUrl === null) {
    await attempts.fail(attempt);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
  }
  return unlessFaultOfOurs(deps, attempt, () => attemptOrWait(deps, context, attempt));
}

/** At an endpoint without room it waits for a time that it reserves, which counts as no attempt. */
async function attemptOrWait(
  deps: DeliverDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<DeliveryOutcome> {
  if (context.mustWait) return waitForEndpoint(deps, context, attempt, null);
  try {
    const { after, error } = await makeAttempt(deps, context, attempt);
    if (after.state === 'DELIVERED') return { outcome: 'delivered' };
    const reason = error ?? '';
    if (after.retryAfterMs === null) return { outcome: 'failed', reason };
    return { outcome: 'refused', reason, retryAfterMs: after.retryAfterMs };
  } catch (error) {
    if (!(error instanceof WebhookNotAttemptedError) || error.reason !== 'busy') throw error;
    return waitForEndpoint(deps, context, attempt, error);
  }
}

/** @param busy says that every place was taken just now */
async function waitForEndpoint(
  { attempts, now = Date.now }: DeliverDeps,
  { origin }: AttemptContext,
  { deliveryId, token }: Attempt,
  busy: WebhookNotAttemptedError | null,
): Promise<DeliveryOutcome> {
  const waitMs = await attempts.reserve({
    deliveryId,
    token,
    origin: origin ?? '',
    isBusy: busy !== null,
    expectedMs: busy?.expectedMs ?? null,
    now: new Date(await now()),
  });
  return { outcome: 'postponed', retryAfterMs: waitMs ?? ATTEMPT_LEASE_MS };
}

/**
 * Makes one attempt at once, whatever the delivery's state: the same event and bytes, to the URL
 * and with the secret of this moment. It is not one of the five: its success ends their schedule,
 * its failure changes nothing. Source: the contract's "Manual retry".
 *
 * @returns undefined when there is no such delivery
 * @throws Error for our own faults: then no attempt was made
 */
export async function attemptManually(
  deps: DeliverDeps,
  deliveryId: string,
): Promise<ManualAttemptResult | undefined> {
  const { attempts } = deps;
  const attempt = newAttempt(deliveryId, 'manual', null);
  const context = await begin(deps, attempt);
  if (!context) return (await attempts.find(deliveryId)) && { outcome: 'running' };
  if (context.webhookUrl === null) {
    await attempts.abandon(attempt);
    return { outcome: 'no_url' };
  }
  const { error } = await unlessFaultOfOurs(deps, attempt, () =>
    makeAttempt(deps, context, attempt),
  );
  return error === null ? { outcome: 'delivered' } : { outcome: 'refused', reason: error };
}

function newAttempt(deliveryId: string, kind: AttemptKind, dueBy: Date | null): Attempt {
  return { deliveryId, kind, token: randomUUID(), dueBy };
}

/** A fault of ours gives the delivery back. */
async function unlessFaultOfOurs<Result>(
  { attempts }: DeliverDeps,
  attempt: Attempt,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await attempts.abandon(attempt);
    throw error;
  }
}

/**
 * Takes the delivery for an attempt, with a clock that can be trusted: by a wrong one, an attempt
 * that is due could also seem to be early.
 */
async function begin(deps: DeliverDeps, attempt: Attempt): Promise<AttemptContext | undefined> {
  const context = await deps.attempts.begin(attempt);
  return unlessFaultOfOurs(deps, attempt, async () => {
    if (context) await assertClockAgrees(context.databaseNow, deps);
    return context;
  });
}

async function whyNotBegun(deps: DeliverDeps, deliveryId: string): Promise<DeliveryOutcome> {
  const { attempts, now = Date.now } = deps;
  const delivery = await attempts.find(deliveryId);
  if (delivery?.state === 'DELIVERED') return { outcome: 'delivered' };
  if (delivery?.state === 'FAILED') return { outcome: 'failed', reason: 'Marked FAILED before' };
  if (!delivery) {
    // The database was restored from a backup. Should its order's step be written again, so is it.
    await raiseAlert(deps, {
      kind: 'delivery_unknown',
      subject: deliveryId,
      message: 'A webhook is not in the database: it is not sent',
    });
    return { outcome: 'failed', reason: 'It is not in the database' };
  }
  await assertClockAgrees(delivery.databaseNow, deps);
  // The process died after the time was written down, before it was handed on.
  const earlyMs = (delivery.nextAttemptAt?.getTime() ?? 0) - (await now());
  const leaseMs = delivery.isUnderWay ? ATTEMPT_LEASE_MS : 0;
  return { outcome: 'postponed', retryAfterMs: Math.max(earlyMs, leaseMs, EARLY_MS) };
}

async function makeAttempt(
  deps: DeliverDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<{ after: AfterAttempt; error: string | null }> {
  const { attempts, sender, now = Date.now } = deps;
  const { deliveryId, token, kind } = attempt;
  const at = new Date();
  // An operator's retry is not held back by what the endpoint has done before.
  const places = kind === 'scheduled' ? { places: context.places } : {};
  const result = await sender.send({ ...requestOf(deps, context, at), ...places });
  const after = afterAttempt(deps, context, kind, result.outcome === 'delivered');
  const { state, retryAfterMs } = after;
  const nextAttemptAt = retryAfterMs === null ? null : new Date((await now()) + retryAfterMs);
  const url = context.webhookUrl ?? '';
  await attempts.record({ deliveryId, token, kind, ...result, at, url, state, nextAttemptAt });
  if (context.isWatched || result.isTimedOut) await note(deps, context, result);
  if (result.error !== null) logFailure(deps.log, context, kind, { ...result, ...after });
  return { after, error: result.error };
}

/** The attempt is on record: should this fail, no other attempt is made because of it. */
async function note(
  { attempts, log }: DeliverDeps,
  { origin, deliveryId }: AttemptContext,
  { outcome, isTimedOut, durationMs }: SendResult,
): Promise<void> {
  const isDelivered = outcome === 'delivered';
  try {
    await attempts.note({ origin: origin ?? '', isDelivered, isTimedOut, durationMs });
  } catch (err) {
    log.warn({ err, deliveryId }, 'what a webhook attempt showed of its endpoint was not noted');
  }
}

/** Signed afresh for each attempt, over the bytes that never change. */
function requestOf({ secretBox, apiVersion }: DeliverDeps, context: AttemptContext, at: Date) {
  const { merchantId, environment, webhookUrl, webhookSecretSealed, body } = context;
  const place = webhookSecretPlace(merchantId, environment);
  const secret = secretBox.open(webhookSecretSealed ?? '', place);
  const { type: eventType, eventId } = context;
  const url = webhookUrl ?? '';
  return signedRequest({ url, environment, secret, eventType, eventId, body, apiVersion }, at);
}

/** Without the path of the URL, which may hold a secret of the merchant's. */
function logFailure(
  log: Logger,
  context: AttemptContext,
  kind: AttemptKind,
  { statusCode, durationMs, error, state, retryAfterMs }: SendResult & AfterAttempt,
): void {
  const { webhookUrl: url, scheduledAttempts: earlierAttempts } = context;
  const line = {
    orderNumber: context.orderNumber,
    merchantId: context.merchantId,
    environment: context.environment,
    event: context.type,
    eventId: context.eventId,
    deliveryId: context.deliveryId,
    host: url !== null && URL.canParse(url) ? new URL(url).host : undefined,
    kind,
    attempt: kind === 'scheduled' ? earlierAttempts + 1 : undefined,
    status: statusCode,
    durationMs,
    reason: error,
    state,
    retryAfterMs,
  };
  log.warn(line, 'webhook attempt failed');
}

/** What an attempt makes of its delivery; a state of null leaves it as it is. */
interface AfterAttempt {
  state: DeliveryState | null;
  retryAfterMs: number | null;
}

/** A manual attempt's success ends the schedule; its failure changes nothing. */
function afterAttempt(
  { retryDelaysMs }: DeliverDeps,
  { scheduledAttempts }: AttemptContext,
  kind: AttemptKind,
  delivered: boolean,
): AfterAttempt {
  if (delivered) return { state: 'DELIVERED', retryAfterMs: null };
  if (kind === 'manual') return { state: null, retryAfterMs: null };
  const retryAfterMs = retryDelaysMs[scheduledAttempts] ?? null;
  return { state: retryAfterMs === null ? 'FAILED' : 'PENDING', retryAfterMs };
}
