import type { SignedEvent } from '../../typescript/src/index.ts';

export interface Answer {
  /** Null if it did not answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why it did not answer; null if it did. */
  readonly error: string | null;
}

/** The service waits no longer for an endpoint. */
const TIMEOUT_MS = 15_000;

interface Sending {
  readonly timeoutMs?: number;
  /** Ends the attempt. */
  readonly signal?: AbortSignal;
}

/** Sends a signed request as the service does: no redirect is followed. */
export async function sendTo(
  url: string,
  { body, headers }: SignedEvent,
  { timeoutMs = TIMEOUT_MS, signal }: Sending = {},
): Promise<Answer> {
  const startedAtMs = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAtMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers,
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    });
    await response.arrayBuffer();
    return { status: response.status, durationMs: durationMs(), error: null };
  } catch (error) {
    return { status: null, durationMs: durationMs(), error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer in time';
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** True if the service would count the attempt as delivered. */
export const isDelivered = ({ status }: Answer): boolean =>
  status !== null && status >= 200 && status < 300;

/** True if no server is there: it does not answer, or a proxy answers in its place. */
export const isAway = ({ status }: Answer): boolean =>
  status === null || [502, 503, 504].includes(status);

/** `200 in 12 ms`, or why there was no answer. */
export const answerText = ({ status, durationMs, error }: Answer): string =>
  status === null ? `${error} after ${durationMs} ms` : `${status} in ${durationMs} ms`;
