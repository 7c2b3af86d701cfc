import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { AlertDeps } from '../alerts/alerts.ts';
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
import type { SecretBox } from './secret-box.ts';
import type { SendResult, WebhookSender } from './sender.ts';
import { signedRequest } from './signed-request.ts';

/** The wait before attempts 2 to 5, in milliseconds. Source: the specification's "Retry policy". */
export const RETRY_DELAYS_MS = [5, 30, 120, 720].map((minutes) => minutes * 60_000);

/** What a scheduled attempt came to, for whoever decides what happens next. */
export type DeliveryOutcome =
  | { outcome: 'delivered' }
  /** FAILED for good: after the fifth attempt, or because there is no URL any more. */
  | { outcome: 'failed'; reason: string }
  | { outcome: 'refused'; reason: string; retryAfterMs: number }
  /** No attempt was made: too early, or another one runs. */
  | { outcome: 'postponed'; retryAfterMs: number };

export interface DeliverDeps extends AlertDeps {
  attempts: AttemptLog;
  sender: WebhookSender;
  secretBox: SecretBox;
  apiVersion: string;
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
  const attempt = newAttempt(deliveryId, 'scheduled');
  const context = await begin(deps, attempt);
  if (!context) return whyNotBegun(deps, deliveryId);
  // The process died after the last attempt was logged, before its time was handed on.
  const earlyMs = (context.next_attempt_at?.getTime() ?? 0) - (await now());
  if (earlyMs > 1000) {
    await attempts.abandon(attempt);
    return { outcome: 'postponed', retryAfterMs: earlyMs };
  }
  if (context.webhook_url === null) {
    await attempts.fail(attempt);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
  }
  const { after, error } = await makeAttempt(deps, context, attempt);
  if (after.state === 'DELIVERED') return { outcome: 'delivered' };
  const reason = error ?? '';
  if (after.retryAfterMs === null) return { outcome: 'failed', reason };
  return { outcome: 'refused', reason, retryAfterMs: after.retryAfterMs };
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
  const attempt = newAttempt(deliveryId, 'manual');
  const context = await begin(deps, attempt);
  if (!context) {
    const state = await attempts.findState(deliveryId);
    return state && { outcome: 'running' };
  }
  if (context.webhook_url === null) {
    await attempts.abandon(attempt);
    return { outcome: 'no_url' };
  }
  const { error } = await makeAttempt(deps, context, attempt);
  return error === null ? { outcome: 'delivered' } : { outcome: 'refused', reason: error };
}

function newAttempt(deliveryId: string, kind: AttemptKind): Attempt {
  return { deliveryId, kind, token: randomUUID() };
}

/**
 * Takes the delivery for an attempt, with a clock that can be trusted: by a wrong one, an attempt
 * that is due could also seem to be early.
 */
async function begin(deps: DeliverDeps, attempt: Attempt): Promise<AttemptContext | undefined> {
  const { attempts } = deps;
  const context = await attempts.begin(attempt);
  try {
    if (context) await assertClockAgrees(context.database_now, deps);
    return context;
  } catch (error) {
    await attempts.abandon(attempt);
    throw error;
  }
}

async function whyNotBegun(
  { attempts }: DeliverDeps,
  deliveryId: string,
): Promise<DeliveryOutcome> {
  const state = await attempts.findState(deliveryId);
  if (state === 'DELIVERED') return { outcome: 'delivered' };
  if (state === 'FAILED') return { outcome: 'failed', reason: 'Marked FAILED before' };
  return { outcome: 'postponed', retryAfterMs: ATTEMPT_LEASE_MS };
}

async function makeAttempt(
  deps: DeliverDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<{ after: AfterAttempt; error: string | null }> {
  const { attempts, sender, now = Date.now } = deps;
  try {
    const at = new Date();
    const result = await sender.send(requestOf(deps, context, at));
    const after = afterAttempt(context, attempt.kind, result.outcome === 'delivered');
    const { state, retryAfterMs } = after;
    const nextAttemptAt = retryAfterMs === null ? null : new Date((await now()) + retryAfterMs);
    const url = context.webhook_url ?? '';
    await attempts.record({ ...attempt, ...result, at, url, state, nextAttemptAt });
    if (result.error !== null) logFailure(deps.log, context, attempt.kind, { ...result, ...after });
    return { after, error: result.error };
  } catch (error) {
    await attempts.abandon(attempt);
    throw error;
  }
}

/** Signed afresh for each attempt, over the bytes that never change. */
function requestOf({ secretBox, apiVersion }: DeliverDeps, context: AttemptContext, at: Date) {
  const { merchant_id, environment, webhook_url, webhook_secret_sealed, body } = context;
  const place = webhookSecretPlace(merchant_id, environment);
  const secret = secretBox.open(webhook_secret_sealed ?? '', place);
  const { type: eventType, event_id: eventId } = context;
  const url = webhook_url ?? '';
  return signedRequest({ url, environment, secret, eventType, eventId, body, apiVersion }, at);
}

/** Without the path of the URL, which may hold a secret of the merchant's. */
function logFailure(
  log: Logger,
  context: AttemptContext,
  kind: AttemptKind,
  { statusCode, durationMs, error, state, retryAfterMs }: SendResult & AfterAttempt,
): void {
  const { webhook_url: url, scheduled_attempts: earlierAttempts } = context;
  const line = {
    orderNumber: context.order_number,
    merchantId: context.merchant_id,
    environment: context.environment,
    event: context.type,
    eventId: context.event_id,
    deliveryId: context.delivery_id,
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
  { scheduled_attempts }: AttemptContext,
  kind: AttemptKind,
  delivered: boolean,
): AfterAttempt {
  if (delivered) return { state: 'DELIVERED', retryAfterMs: null };
  if (kind === 'manual') return { state: null, retryAfterMs: null };
  const retryAfterMs = RETRY_DELAYS_MS[scheduled_attempts] ?? null;
  return { state: retryAfterMs === null ? 'FAILED' : 'PENDING', retryAfterMs };
}
