import type { Logger } from 'pino';
import { withinTimeout } from './deadline.ts';
import { HttpRefusal } from './errors.ts';
import type { Admission, RateLimiter } from './rate-limit.ts';

/** A limiter that hangs must not hold up its callers. */
const LIMITER_TIMEOUT_MS = 500;

/** A limiter that fails must not become an outage: the request passes, the log says so. */
async function admit(limiter: RateLimiter, ip: string, log: Logger): Promise<Admission> {
  try {
    return await withinTimeout(limiter.admit(ip), LIMITER_TIMEOUT_MS);
  } catch (err) {
    log.error({ err }, 'The rate limiter failed; the request was let through');
    return { admitted: true };
  }
}

/**
 * Counts a request against a limit.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`
 */
export async function assertAdmitted(limiter: RateLimiter, ip: string, log: Logger): Promise<void> {
  const admission = await admit(limiter, ip, log);
  if (admission.admitted) return;
  throw new HttpRefusal('TOO_MANY_REQUESTS', {
    'Retry-After': String(admission.retryAfterSeconds),
  });
}
