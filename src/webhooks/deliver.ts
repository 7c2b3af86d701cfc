import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Sql } from '../db/client.ts';
import type { AttemptContext, AttemptKind } from './queries.ts';
import * as queries from './queries.ts';
import type { SecretBox } from './secret-box.ts';
import type { WebhookSender } from './sender.ts';
import { signWebhook } from './signature.ts';

/** The wait before attempts 2 to 5, in milliseconds. Source: the specification's "Retry policy". */
export const RETRY_DELAYS_MS = [5, 30, 120, 720].map((minutes) => minutes * 60_000);

/** Receivers reject a timestamp that is off by 300 s: past this, our own clock must be mended. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** Longer than the sender's 15 s: past this the process that attempted must be dead. */
const ATTEMPT_LEASE_MS = 25_000;

/** What an attempt came to, for whoever decides what happens next. */
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
 * @param nowMs the moment this attempt is due at, in the clock that the schedule runs on
 * @throws Error for our own faults, which count as no attempt either
 */
export async function attemptScheduled(
  deps: DeliverDeps,
  deliveryId: string,
  nowMs: number,
): Promise<DeliveryOutcome> {
  const token = randomUUID();
  const context = await queries.beginAttempt(
    deps.sql,
    deliveryId,
    token,
    'scheduled',
    ATTEMPT_LEASE_MS,
  );
  if (!context) return whyNotBegun(deps.sql, deliveryId);
  // The process died after the last attempt was logged, before its time was handed on.
  const earlyMs = (context.next_attempt_at?.getTime() ?? 0) - nowMs;
  if (earlyMs > 1000) {
    await queries.abandonAttempt(deps.sql, deliveryId, token);
    return { outcome: 'postponed', retryAfterMs: earlyMs };
  }
  if (context.webhook_url === null) {
    await queries.failDelivery(deps.sql, deliveryId);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
  }
  return makeAttempt(deps, context, 'scheduled', token, nowMs);
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
  nowMs: number,
): Promise<DeliveryOutcome> {
  try {
    assertClockAgrees(context.database_now, deps.log);
    const at = new Date();
    const result = await deps.sender.send(requestOf(deps, context, at));
    const after = afterAttempt(context, kind, result.outcome === 'delivered', nowMs);
    const attempt = { ...result, kind, at, url: context.webhook_url ?? '' };
    await queries.recordAttempt(deps.sql, context.delivery_id, attempt, after);
    return outcomeOf(after, nowMs, result.error ?? 'delivered');
  } catch (error) {
    await queries.abandonAttempt(deps.sql, context.delivery_id, token);
    throw error;
  }
}

/** Signed afresh for each attempt, over the bytes that never change. */
function requestOf(deps: DeliverDeps, context: AttemptContext, at: Date) {
  const { merchant_id, environment, webhook_url, webhook_secret_sealed } = context;
  const place = webhookSecretPlace(merchant_id, environment);
  const secret = deps.secretBox.open(webhook_secret_sealed ?? '', place);
  const body = Buffer.from(context.body);
  const timestampSeconds = Math.floor(at.getTime() / 1000);
  return {
    url: webhook_url ?? '',
    environment,
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'merchant-payment-order-service/1',
      'X-API-Version': deps.apiVersion,
      'X-Service-Event': context.type,
      'X-Service-Event-Id': context.event_id,
      'X-Service-Signature': signWebhook({ secret, timestampSeconds, rawBody: body }),
      'X-Service-Timestamp': String(timestampSeconds),
    },
  };
}

/** A manual attempt's success ends the schedule; its failure changes nothing. */
function afterAttempt(
  { scheduled_attempts }: AttemptContext,
  kind: AttemptKind,
  delivered: boolean,
  nowMs: number,
): Parameters<typeof queries.recordAttempt>[3] {
  if (delivered) return { state: 'DELIVERED', nextAttemptAt: null };
  if (kind === 'manual') return { state: null, nextAttemptAt: null };
  const delayMs = RETRY_DELAYS_MS[scheduled_attempts];
  if (delayMs === undefined) return { state: 'FAILED', nextAttemptAt: null };
  return { state: 'PENDING', nextAttemptAt: new Date(nowMs + delayMs) };
}

function outcomeOf(
  { state, nextAttemptAt }: ReturnType<typeof afterAttempt>,
  nowMs: number,
  reason: string,
): DeliveryOutcome {
  if (state === 'DELIVERED') return { outcome: 'delivered' };
  if (!nextAttemptAt) return { outcome: 'failed', reason };
  return { outcome: 'refused', reason, retryAfterMs: nextAttemptAt.getTime() - nowMs };
}

function assertClockAgrees(databaseNow: Date, log: Logger): void {
  const differenceMs = Math.abs(Date.now() - databaseNow.getTime());
  if (differenceMs <= MAX_CLOCK_DIFFERENCE_MS) return;
  log.error({ alert: 'clock_skew', differenceMs }, 'Our clock differs: webhooks are not sent');
  throw new Error(`Our clock differs from the database's by ${differenceMs} ms`);
}
