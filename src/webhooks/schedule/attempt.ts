import type { Logger } from 'pino';
import type { AlertDeps } from '../../alerts/alerts.ts';
import { createReports } from '../../reports.ts';
import type { SecretBox } from '../../secret-box.ts';
import { inClientSpan } from '../../tracing/spans.ts';
import type { SendResult, WebhookSender } from '../sending/sender.ts';
import type { WebhookRequest } from '../sending/signed-request.ts';
import { signedRequest } from '../sending/signed-request.ts';
import type {
  Attempt,
  AttemptContext,
  AttemptKind,
  AttemptLog,
  DeliveryState,
} from './attempt-log.ts';

export interface AttemptDeps extends AlertDeps {
  attemptLog: AttemptLog;
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

/** An attempt that this process made, scheduled or by hand. */
interface AttemptMade extends Readonly<Pick<SendResult, 'outcome' | 'durationMs'>> {
  /** True if it was the last attempt of its delivery, which is now FAILED. */
  readonly isGivenUp: boolean;
}

const MADE = createReports<AttemptMade>('webhook-attempt-made');

/** Calls `listener` for each attempt of this process. @returns a function that unsubscribes */
export const onAttemptMade = MADE.subscribe;

/** Sends the delivery that is leased to this attempt, and records the result. */
export async function makeAttempt(
  deps: AttemptDeps,
  context: AttemptContext,
  attempt: Attempt,
): Promise<{ after: AfterAttempt; error: string | null }> {
  const { attemptLog, sender, now = Date.now } = deps;
  const { dueBy: _, takesOver: _takesOver, ...identity } = attempt;
  const { merchantId, environment } = context;
  const at = new Date();
  const request = requestOf(deps, context, at);
  const result = await sendInSpan(sender, request, context);
  const after = afterAttempt(deps, context, attempt.kind, result.outcome === 'delivered');
  const { retryAfterMs } = after;
  const { outcome, durationMs } = result;
  MADE.publish({ outcome, durationMs, isGivenUp: after.state === 'FAILED' });
  await attemptLog.record({
    ...identity,
    ...result,
    ...after,
    at,
    merchantId,
    environment,
    url: request.url,
    signature: result.outcome === 'url_refused' ? null : request.signature,
    standardSignature: result.outcome === 'url_refused' ? null : request.standardSignature,
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
      isError: outcome !== 'delivered',
      attributes: {
        outcome: outcome === 'delivered' ? outcome : 'refused',
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
