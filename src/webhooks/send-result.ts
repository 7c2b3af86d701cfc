import type { Answer } from './exchange.ts';
import { describeFault, describeStatus, isTimeout } from './faults.ts';

/** One attempt, as the attempt log keeps it. */
export interface SendResult {
  outcome: 'delivered' | 'refused';
  /** `null` when no answer came. */
  statusCode: number | null;
  durationMs: number;
  /** The first bytes of the answer, as they came: they may be no text at all. */
  responseBody: Buffer;
  /** Safe to show to the merchant; `null` exactly when delivered. */
  error: string | null;
  /** It ended because it took too long. */
  isTimedOut: boolean;
}

/** An answer that breaks off is none, even if it began with a 2xx; one that we cut short is. */
function errorOf({ statusCode, fault }: Answer): string | null {
  if (fault !== null) return describeFault(fault);
  if (statusCode === null) return 'there was no answer';
  return statusCode < 300 ? null : describeStatus(statusCode);
}

/** The log row of an exchange that began at `startedAtMs` on the clock of `performance.now()`. */
export function resultOf(answer: Answer, startedAtMs: number): SendResult {
  const error = errorOf(answer);
  return {
    outcome: error === null ? 'delivered' : 'refused',
    statusCode: answer.statusCode,
    durationMs: Math.round(performance.now() - startedAtMs),
    responseBody: answer.body,
    error,
    isTimedOut: answer.fault !== null && isTimeout(answer.fault),
  };
}

/** The result of an attempt that the guard ended before any connection. */
export function refusedUnsent(error: string): SendResult {
  return {
    outcome: 'refused',
    statusCode: null,
    durationMs: 0,
    responseBody: Buffer.alloc(0),
    error,
    isTimedOut: false,
  };
}
