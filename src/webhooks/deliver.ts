import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { ManualAttemptResult } from '../contracts/activities.ts';
import type { Sql } from '../db/client.ts';
import { assertClockAgrees } from './clock.ts';
import type { AttemptContext, AttemptKind, DeliveryState } from './queries.ts';
import * as queries from './queries.ts';
import type { SecretBox } from './secret-box.ts';
import type { WebhookSender } from './sender.ts';
import { signedRequest } from './signed-request.ts';

/** The wait before attempts 2 to 5, in milliseconds. Source: the specification's "Retry policy". */
export const RETRY_DELAYS_MS = [5, 30, 120, 720].map((minutes) => minutes * 60_000);

/** Longer than the sender's 15 s: past this the process that attempted must be dead. */
const ATTEMPT_LEASE_MS = 25_000;

/** What a scheduled attempt came to, for whoever decides what happens next. */
export type DeliveryOutcome =
  | { outcome: 'delivered' }
  /** FAILED for good: after the fifth attempt, or because there is no URL any more. */
  | { outcome: 'failed'; reason: string }
  | { outcome: 'refused'; reason: string; retryAfterMs: number }
  /** No attempt was made: too early, or another one runs. */
  | { outcome: 'postponed'; retryAfterMs: number };

export interface DeliverDeps {
  sql: Sql;
  sender: WebhookSender;
  secretBox: SecretBox;
  apiVersion: string;
  log: Logger;
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
  const { sql, now = Date.now } = deps;
  const token = randomUUID();
  const context = await queries.beginAttempt(sql, deliveryId, token, 'scheduled', ATTEMPT_LEASE_MS);
  if (!context) return whyNotBegun(sql, deliveryId);
  // The process died after the last attempt was logged, before its time was handed on.
  const earlyMs = (context.next_attempt_at?.getTime() ?? 0) - (await now());
  if (earlyMs > 1000) {
    await queries.abandonAttempt(sql, deliveryId, token);
    return { outcome: 'postponed', retryAfterMs: earlyMs };
  }
  if (context.webhook_url === null) {
    await queries.failDelivery(sql, deliveryId, token);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
  }
  const { after, error } = await makeAttempt(deps, context, 'scheduled', token);
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
  const { sql } = deps;
  const token = randomUUID();
  const context = await queries.beginAttempt(sql, deliveryId, token, 'manual', ATTEMPT_LEASE_MS);
  if (!context) {
    const state = await queries.findDeliveryState(sql, deliveryId);
    return state && { outcome: 'running' };
  }
  if (context.webhook_url === null) {
    await queries.abandonAttempt(sql, deliveryId, token);
    return { outcome: 'no_url' };
  }
  const { error } = await makeAttempt(deps, context, 'manual', token);
  return error === null ? { outcome: 'delivered' } : { outcome: 'refused', reason: error };
}

async function whyNotBegun(sql: Sql, deliveryId: string): Promise<DeliveryOutcome> {
  const state = await queries.findDeliveryState(sql, deliveryId);
  if (state === 'DELIVERED') return { outcome: 'delivered' };
  if (state === 'FAILED') return { outcome: 'failed', reason: 'Marked FAILED before' };
  return { outcome: 'postponed', retryAfterMs: ATTEMPT_LEASE_MS };
}

async function makeAttempt(
  deps: DeliverDeps,
  context: AttemptContext,
  kind: AttemptKind,
  token: string,
): Promise<{ after: AfterAttempt; error: string | null }> {
  const { delivery_id: deliveryId } = context;
  const { now = Date.now } = deps;
  try {
    assertClockAgrees(context.database_now, deps.log);
    const at = new Date();
    const result = await deps.sender.send(requestOf(deps, context, at));
    const after = afterAttempt(context, kind, result.outcome === 'delivered');
    const nextAttemptAt =
      after.retryAfterMs === null ? null : new Date((await now()) + after.retryAfterMs);
    const attempt = { ...result, kind, at, url: context.webhook_url ?? '' };
    const { state } = after;
    await queries.recordAttempt(deps.sql, deliveryId, token, attempt, { state, nextAttemptAt });
    return { after, error: result.error };
  } catch (error) {
    await queries.abandonAttempt(deps.sql, deliveryId, token);
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
