import type { Logger } from 'pino';
import { withinTimeout } from './deadline.ts';
import { HttpRefusal } from '../responses/errors.ts';
import type { Admission, RateLimiter } from './rate-limit.ts';

/** How long a request waits for the rate limiter. After this, the request is admitted. */
const LIMITER_TIMEOUT_MS = 500;

/** Admits the request when the limiter fails: a broken limiter must not become an outage. */
async function admit(
  limiter: RateLimiter,
  ip: string,
  log: Logger,
  timeoutMs: number,
): Promise<Admission> {
  try {
    return await withinTimeout(limiter.admit(ip), timeoutMs);
  } catch (err) {
    log.error({ err }, 'The rate limiter failed; the request was admitted');
    return { admitted: true };
  }
}

/**
 * Counts a request against a limit.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`
 */
export async function assertAdmitted(
  limiter: RateLimiter,
  ip: string,
  log: Logger,
  timeoutMs = LIMITER_TIMEOUT_MS,
): Promise<void> {
  const admission = await admit(limiter, ip, log, timeoutMs);
  if (admission.admitted) return;
  throw new HttpRefusal('TOO_MANY_REQUESTS', {
    'Retry-After': String(admission.retryAfterSeconds),
  });
}
