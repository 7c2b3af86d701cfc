import type { WebhookResponse } from './exchange.ts';
import { describeFault, describeStatus, isTimeout } from './faults.ts';

/** The result of one attempt, as it is recorded. */
export interface SendResult {
  outcome: 'accepted' | 'refused';
  /** Null without a response. */
  statusCode: number | null;
  durationMs: number;
  /** The first bytes of the response, which need not be text. */
  responseBody: Buffer;
  /** Safe to show to the merchant. Null exactly when the webhook was accepted. */
  error: string | null;
  /** True if the attempt exceeded a time limit. */
  isTimedOut: boolean;
  /** True if the address guard refused the URL, so that no request was made. */
  isUrlRefused: boolean;
}

/** A whole head decides. How its body ends does not matter (contract, "Webhooks"). */
function errorOf({ statusCode, fault }: WebhookResponse): string | null {
  if (statusCode !== null) return statusCode < 300 ? null : describeStatus(statusCode);
  return fault === null ? 'there was no answer' : describeFault(fault);
}

/** @param startedAtMs when the exchange began, on the clock of `performance.now()` */
export function resultOf(response: WebhookResponse, startedAtMs: number): SendResult {
  const error = errorOf(response);
  return {
    outcome: error === null ? 'accepted' : 'refused',
    statusCode: response.statusCode,
    durationMs: Math.round(performance.now() - startedAtMs),
    responseBody: response.body,
    error,
    isTimedOut: response.fault !== null && isTimeout(response.fault),
    isUrlRefused: false,
  };
}

/** The result if the URL was refused before any connection. */
export function refusedBeforeSending(error: string): SendResult {
  return {
    outcome: 'refused',
    statusCode: null,
    durationMs: 0,
    responseBody: Buffer.alloc(0),
    error,
    isTimedOut: false,
    isUrlRefused: true,
  };
}
