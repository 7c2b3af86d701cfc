import { request as startRequest } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebhookAgent, WebhookRequestOptions } from './connections.ts';
import { describeFault, describeStatus, isTimeout, secondsText, TimeoutFault } from './faults.ts';

export interface OutgoingRequest {
  target: URL;
  /** All headers, in the order in which they are sent. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

/** The response to a webhook, as far as it was received. */
export interface WebhookResponse {
  /** The status of the final response. Null when its head did not arrive whole. */
  statusCode: number | null;
  /** The bytes that were read. */
  body: Buffer;
  /** Why there is no status. */
  fault: Error | null;
  /** True if the connection had carried a webhook before. */
  isReused: boolean;
}

interface ExchangeLimits {
  startedAtMs: number;
  totalTimeoutMs: number;
  maxResponseBytes: number;
}

/** Reads a response up to a number of bytes. `ended` resolves at its end, whatever the reason. */
function startExchange(
  agent: WebhookAgent,
  { target, headers, body }: OutgoingRequest,
  { closing, maxResponseBytes }: { closing: AbortSignal; maxResponseBytes: number },
) {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let byteCount = 0;
  const response: Pick<WebhookResponse, 'statusCode' | 'fault'> = { statusCode: null, fault: null };
  const options: WebhookRequestOptions = {
    agent,
    target,
    closing,
    method: 'POST',
    path: `${target.pathname}${target.search}`,
    headers: headers.flat(),
  };
  const request = startRequest(options, (message) => {
    response.statusCode = message.statusCode ?? null;
    message.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      byteCount += chunk.length;
      if (byteCount > maxResponseBytes) resolve();
    });
    // The status has decided the outcome, so a body that breaks off only ends.
    message.on('error', () => {});
    message.on('close', resolve);
  });
  request.on('error', (error) => {
    if (response.statusCode !== null) return;
    response.fault ??= error;
    resolve();
  });
  request.end(body);
  const responseSoFar = (): WebhookResponse => ({
    ...response,
    body: Buffer.concat(chunks).subarray(0, maxResponseBytes),
    isReused: request.reusedSocket,
  });
  return { request, ended, responseSoFar };
}

/**
 * Posts a request and reads at most `maxResponseBytes` of the response. An error of the connection becomes the
 * response's `fault`. The connection is kept only after a response that ended as its head said.
 *
 * @param limits.totalTimeoutMs the limit for connecting, headers and body together, which slow bytes do not extend;
 * it starts at `limits.startedAtMs`, on the clock of `performance.now()`
 * @throws Error of Node when the request itself is wrong, such as a header with a line break
 */
export async function exchange(
  agent: WebhookAgent,
  outgoing: OutgoingRequest,
  { startedAtMs, totalTimeoutMs, maxResponseBytes }: ExchangeLimits,
): Promise<WebhookResponse> {
  const closing = new AbortController();
  const options = { closing: closing.signal, maxResponseBytes };
  const { request, ended, responseSoFar } = startExchange(agent, outgoing, options);
  const leftMs = startedAtMs + totalTimeoutMs - performance.now();
  const timedOut = Promise.withResolvers<'timed out'>();
  const timer = setTimeout(() => timedOut.resolve('timed out'), leftMs);
  const outcome = await Promise.race([ended, timedOut.promise]);
  clearTimeout(timer);
  const response = responseSoFar();
  if (outcome === 'timed out') {
    closing.abort();
    if (response.statusCode === null) {
      response.fault = new TimeoutFault(`no complete answer within ${secondsText(totalTimeoutMs)}`);
    }
  }
  // Has no effect on a connection that is kept.
  request.destroy();
  // Bytes that follow the response close an idle connection, so they are read before it is used again.
  await nextTurn();
  await nextTurn();
  return response;
}

/**
 * `delivered`: the endpoint accepted it. `rejected`: the endpoint answered with a status other than 2xx. `timed_out`
 * and `no_answer`: it did not answer within the limits, or the connection failed. `url_refused`: the address guard
 * refused the URL, so no request was made.
 */
export const ATTEMPT_OUTCOMES = [
  'delivered',
  'rejected',
  'timed_out',
  'no_answer',
  'url_refused',
] as const;

/** The result of one attempt, as it is recorded. */
export interface SendResult {
  outcome: (typeof ATTEMPT_OUTCOMES)[number];
  /** Null without a response. */
  statusCode: number | null;
  durationMs: number;
  /** The first bytes of the response, which need not be text. */
  responseBody: Buffer;
  /** Safe to show to the merchant. Null exactly when the webhook was delivered. */
  error: string | null;
}

/** A whole head decides. How its body ends does not matter (contract, "Webhooks"). */
function outcomeOf({ statusCode, fault }: WebhookResponse): Pick<SendResult, 'outcome' | 'error'> {
  if (statusCode !== null) {
    return statusCode < 300
      ? { outcome: 'delivered', error: null }
      : { outcome: 'rejected', error: describeStatus(statusCode) };
  }
  if (fault === null) return { outcome: 'no_answer', error: 'there was no answer' };
  return { outcome: isTimeout(fault) ? 'timed_out' : 'no_answer', error: describeFault(fault) };
}

/** @param startedAtMs when the exchange began, on the clock of `performance.now()` */
export function resultOf(response: WebhookResponse, startedAtMs: number): SendResult {
  return {
    ...outcomeOf(response),
    statusCode: response.statusCode,
    durationMs: Math.round(performance.now() - startedAtMs),
    responseBody: response.body,
  };
}

/** The result if the URL was refused before any connection. */
export function refusedBeforeSending(error: string): SendResult {
  return {
    outcome: 'url_refused',
    statusCode: null,
    durationMs: 0,
    responseBody: Buffer.alloc(0),
    error,
  };
}
