/**
 * The contract allows 5 s when the database or Temporal is unreachable; 0.5 s is for the response.
 */
const RESPONSE_TIMEOUT_MS = 4_500;

/**
 * The share of the time limit that must be left when work begins. Work that begins later is rarely done
 * in time, and delays the work behind it: with 1,500 clients that create orders, 40 a second were
 * created without this rule and 111 with it (docs/adr/0016).
 */
const LEAST_SHARE_LEFT = 0.25;

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

/**
 * Runs one part of a request's work within the time that the earlier parts have left. The part is given
 * a function that says whether enough time is left to begin work.
 */
export type Deadline = <Value>(part: (mayBegin: () => boolean) => Promise<Value>) => Promise<Value>;

/**
 * Creates the deadline of one request. Only the service's own work counts: the time in which the
 * client sends the body has its own limit.
 */
export function createDeadline(timeoutMs = RESPONSE_TIMEOUT_MS): Deadline {
  let leftMs = timeoutMs;
  return async (part) => {
    const endsAtMs = performance.now() + leftMs;
    const mayBegin = () => endsAtMs - performance.now() > timeoutMs * LEAST_SHARE_LEFT;
    try {
      return await withinTimeout(part(mayBegin), leftMs);
    } finally {
      leftMs = endsAtMs - performance.now();
    }
  };
}
