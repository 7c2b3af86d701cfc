import { HttpRefusal } from '../responses/errors.ts';
import type { RateLimiter } from './rate-limit.ts';

/**
 * Counts a request against a limit.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`
 */
export async function assertAdmitted(limiter: RateLimiter, ip: string): Promise<void> {
  const admission = await limiter.admit(ip);
  if (admission.admitted) return;
  throw new HttpRefusal('TOO_MANY_REQUESTS', {
    'Retry-After': String(admission.retryAfterSeconds),
  });
}
