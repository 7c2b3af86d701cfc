/**
 * The contract allows 5 s when the database or Temporal is unreachable; 0.5 s is for the response.
 */
export const RESPONSE_TIMEOUT_MS = 4_500;

/**
 * The share of it that a request waits for a turn, or for the limiter that all processes share: 0.5 s. The contract
 * refuses within a second.
 */
export const WAITING_SHARE = 1 / 9;

/**
 * Waits for the work, at most `timeoutMs`. The work itself is not cancelled.
 *
 * @throws Error when the work takes longer
 */
export async function withinTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(new Error(`No answer within ${Math.round(timeoutMs)} ms`));
  const timer = setTimeout(late, timeoutMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** Runs one part of a request's work within the time that the earlier parts have left. */
export type Deadline = <Value>(part: () => Promise<Value>) => Promise<Value>;

/**
 * Creates the deadline of one request. Only the service's own work counts: the time in which the
 * client sends the body has its own limit.
 */
export function createDeadline(timeoutMs = RESPONSE_TIMEOUT_MS): Deadline {
  let leftMs = timeoutMs;
  return async (part) => {
    const endsAtMs = performance.now() + leftMs;
    try {
      return await withinTimeout(part(), leftMs);
    } finally {
      leftMs = endsAtMs - performance.now();
    }
  };
}
