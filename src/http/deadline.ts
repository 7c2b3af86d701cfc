/** The contract's 5 s for a database or a Temporal that does not answer, less what saying so takes. */
const RESPONSE_TIMEOUT_MS = 4_500;

/** @throws Error when the work takes longer; it goes on, but nobody waits for it any more. */
export async function withinTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(new Error(`No answer within ${Math.round(timeoutMs)} ms`));
  const timer = setTimeout(late, timeoutMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** Runs a part of the work on a request within the time that the parts before it have left. */
export type Deadline = <Value>(part: () => Promise<Value>) => Promise<Value>;

/**
 * Makes the deadline of one request. Its clock runs only while we work: a caller may take the
 * time that the server allows for sending a body.
 */
export function createDeadline(timeoutMs = RESPONSE_TIMEOUT_MS): Deadline {
  let leftMs = timeoutMs;
  return async (part) => {
    const startedAtMs = performance.now();
    try {
      return await withinTimeout(part(), leftMs);
    } finally {
      leftMs -= performance.now() - startedAtMs;
    }
  };
}
