import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { ManualAttemptResult } from '../../contracts/activities.ts';
import type {
  Attempt,
  AttemptContext,
  AttemptKind,
  AttemptLog,
  DeliveryState,
} from './attempt-log.ts';
import { ATTEMPT_LEASE_MS } from '../../domain/index.ts';
import type { LeasedDelivery } from '../../orders/public.ts';
import { publishAttempt } from './attempts-made.ts';
import { assertClockAgrees } from '../sending/clock.ts';
import { WebhookNotAttemptedError } from '../sending/faults.ts';
import type { SecretBox } from '../../secret-box.ts';
import { inClientSpan } from '../../tracing/spans.ts';
import type { SendResult, WebhookSender } from '../sending/sender.ts';
import type { WebhookRequest } from '../sending/signed-request.ts';
import { signedRequest } from '../sending/signed-request.ts';

/** An attempt may be made this much before it is due. */
const EARLY_TOLERANCE_MS = 1000;

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

export interface AttemptDeps extends AlertDeps {
  attempts: AttemptLog;
  sender: WebhookSender;
  secretBox: SecretBox;
  apiVersion: string;
  /** The wait before attempts 2 to 5, in milliseconds. */
  retryDelaysMs: readonly number[];
  /** The clock of the retry schedule, in Unix milliseconds. Tests skip its time. */
  now?: () => number | Promise<number>;
}

/** The context that a webhook secret is bound to when it is sealed: its row and column. */
export function webhookSecretContext(merchantId: string, environment: string): string[] {
  return [merchantId, environment, 'webhook_secret'];
}

/**
 * Makes the next scheduled attempt of a delivery, if it is due, with the current URL and secret. The attempt's
 * number comes from the recorded attempts, so a process that dies during an attempt does not use up one of the five.
 *
 * @param options.isWorkflow the order's workflow sends the delivery from now on, so nothing needs to wake it
 * @throws Error for an internal fault, which does not count as an attempt either
 */
export async function attemptScheduled(
  deps: AttemptDeps,
  deliveryId: string,
  { isWorkflow = false } = {},
): Promise<AttemptOutcome> {
  const { now = Date.now } = deps;
  const dueBy = new Date((await now()) + EARLY_TOLERANCE_MS);
  const attempt = { ...newAttempt(deliveryId, 'scheduled', dueBy), isWorkflow };
  const context = await begin(deps, attempt);
  if (!context) return outcomeWithoutAttempt(deps, attempt);
  return abandonOnError(deps, attempt, () => attemptOrPostpone(deps, context, attempt));
}

/** The sender may need 16 s of the lease's 25 s. */
const LEASE_USABLE_MS = 8000;

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
  if (performance.now() - askedAtMs > LEASE_USABLE_MS) {
    await deps.attempts.abandon(attempt);
    return attemptScheduled(deps, deliveryId);
  }
  const context = { ...delivery, scheduledAttempts: 0, postponements: 0 };
  return abandonOnError(deps, attempt, async () => {
    await assertClockAgrees(databaseNow, deps);
    return attemptOrPostpone(deps, context, attempt);
  });
}

/** Postpones the attempt when its endpoint has no free slot; that does not count as an attempt. */
async function attemptOrPostpone(
  deps: AttemptDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<AttemptOutcome> {
  if (context.webhookUrl === null) {
    await deps.attempts.fail(attempt);
    return { outcome: 'failed', reason: 'No webhook URL is configured any more' };
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
  { attempts, now = Date.now }: AttemptDeps,
  { postponements }: AttemptContext,
  attempt: Attempt,
): Promise<AttemptOutcome> {
  const longestMs = Math.min(LONGEST_BUSY_WAIT_MS, FIRST_BUSY_WAIT_MS * 4 ** postponements);
  // Spreads webhooks that were postponed together.
  const retryAfterMs = longestMs * (0.5 + Math.random() / 2);
  await attempts.postpone(attempt, new Date((await now()) + retryAfterMs));
  return { outcome: 'postponed', retryAfterMs };
}

/**
 * Makes one attempt immediately, whatever the delivery's state: the same event and bytes, with the current URL and
 * secret. It is not one of the five. Its success ends their schedule; its failure changes nothing. Source: the
 * contract's "Manual retry".
 *
 * @returns undefined when there is no such delivery
 * @throws Error for an internal fault; then no attempt was made
 */
export async function attemptManually(
  deps: AttemptDeps,
  deliveryId: string,
): Promise<ManualAttemptResult | undefined> {
  const { attempts } = deps;
  const attempt = newAttempt(deliveryId, 'manual', null);
  const context = await begin(deps, attempt);
  if (!context) return (await attempts.find(attempt)) && { outcome: 'running' };
  if (context.webhookUrl === null) {
    await attempts.abandon(attempt);
    return { outcome: 'no_url' };
  }
  const { error } = await abandonOnError(deps, attempt, () => makeAttempt(deps, context, attempt));
  return error === null ? { outcome: 'accepted' } : { outcome: 'refused', reason: error };
}

function newAttempt(deliveryId: string, kind: AttemptKind, dueBy: Date | null): Attempt {
  return { deliveryId, kind, token: randomUUID(), dueBy };
}

/** Runs `work`, and ends the lease of the delivery if it fails. */
async function abandonOnError<Result>(
  { attempts }: AttemptDeps,
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
 * Leases the delivery for an attempt and checks the clock: with a wrong clock, an attempt that is due could seem too
 * early.
 */
async function begin(deps: AttemptDeps, attempt: Attempt): Promise<AttemptContext | undefined> {
  const context = await deps.attempts.begin(attempt);
  return abandonOnError(deps, attempt, async () => {
    if (context) await assertClockAgrees(context.databaseNow, deps);
    return context;
  });
}

async function outcomeWithoutAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptOutcome> {
  const { attempts, now = Date.now } = deps;
  const delivery = await attempts.find(attempt);
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

async function makeAttempt(
  deps: AttemptDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<{ after: AfterAttempt; error: string | null }> {
  const { attempts, sender, now = Date.now } = deps;
  const { dueBy: _, isWorkflow: _isWorkflow, ...identity } = attempt;
  const { merchantId, environment } = context;
  const at = new Date();
  const request = requestOf(deps, context, at);
  const result = await sendInSpan(sender, request, context);
  const after = afterAttempt(deps, context, attempt.kind, result.outcome === 'accepted');
  const { retryAfterMs } = after;
  publishAttempt(result, after.state === 'FAILED');
  await attempts.record({
    ...identity,
    ...result,
    ...after,
    at,
    merchantId,
    environment,
    url: request.url,
    signature: result.isUrlRefused ? null : request.signature,
    standardSignature: result.isUrlRefused ? null : request.standardSignature,
    apiVersion: deps.apiVersion,
    nextAttemptAt: retryAfterMs === null ? null : new Date((await now()) + retryAfterMs),
  });
  if (result.error !== null) logFailure(deps.log, context, attempt.kind, { ...result, ...after });
  return { after, error: result.error };
}

/** The span does not contain the URL, and the merchant's endpoint receives no trace context. */
function sendInSpan(
  sender: WebhookSender,
  request: WebhookRequest,
  { type, deliveryId, orderNumber, merchantId, environment }: AttemptContext,
): Promise<SendResult> {
  const attributes = {
    'webhook.event': type,
    'webhook.delivery_id': deliveryId,
    'order.number': orderNumber,
    'merchant.id': merchantId,
    environment,
  };
  return inClientSpan(
    `webhook ${type}`,
    attributes,
    () => sender.send(request),
    ({ outcome, statusCode }) => ({
      isError: outcome !== 'accepted',
      // The value that traces and metrics use.
      attributes: {
        outcome: outcome === 'accepted' ? 'delivered' : outcome,
        'http.response.status_code': statusCode ?? undefined,
      },
    }),
  );
}

/** Signs a new request for each attempt, over the same bytes. */
function requestOf({ secretBox, apiVersion }: AttemptDeps, context: AttemptContext, at: Date) {
  const { merchantId, environment, webhookUrl, webhookSecretSealed, body } = context;
  const sealContext = webhookSecretContext(merchantId, environment);
  const secret = secretBox.open(webhookSecretSealed ?? '', sealContext);
  const { type: eventType, eventId } = context;
  const url = webhookUrl ?? '';
  return signedRequest({ url, environment, secret, eventType, eventId, body, apiVersion }, at);
}

/** Logs only the host, because the path of the URL may contain a secret of the merchant. */
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

/** The state of a delivery after an attempt. Null leaves it unchanged. */
interface AfterAttempt {
  state: DeliveryState | null;
  retryAfterMs: number | null;
  /** The number of failed scheduled attempts. */
  failedAttempts: number;
}

/** The success of a manual attempt ends the schedule. Its failure changes nothing. */
function afterAttempt(
  { retryDelaysMs }: AttemptDeps,
  { scheduledAttempts }: AttemptContext,
  kind: AttemptKind,
  isAccepted: boolean,
): AfterAttempt {
  const before = { retryAfterMs: null, failedAttempts: scheduledAttempts };
  if (isAccepted) return { state: 'DELIVERED', ...before };
  if (kind === 'manual') return { state: null, ...before };
  const failedAttempts = scheduledAttempts + 1;
  const retryAfterMs = retryDelaysMs[scheduledAttempts];
  if (retryAfterMs === undefined) return { state: 'FAILED', retryAfterMs: null, failedAttempts };
  return { state: 'PENDING', retryAfterMs, failedAttempts };
}
