import type { Logger } from 'pino';
import { createLimiter } from '../../limiter.ts';
import { limitKeyOf } from './client-ip.ts';
import { withinTimeout } from './deadline.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How long a request waits for the shared limiter. */
const TIMEOUT_MS = 500;

/** After the shared limiter has failed or was slow, one request in this time asks it. */
const ASKED_AGAIN_AFTER_MS = 1000;

/** The settings of {@link createSharedRateLimiter}. */
export interface SharedRateLimiterOptions {
  /** The limiter that all processes share. */
  readonly shared: RateLimiter;
  /** The limiter of this process. */
  readonly own: RateLimiter;
  readonly limitPerSecond: number;
  readonly log: Logger;
  readonly timeoutMs?: number | undefined;
}

/**
 * Creates a limiter that asks a shared one, and counts for itself while that one fails or is slow. A client
 * has at most as many questions under way as it has requests in a second: a flood is refused without them.
 */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): RateLimiter {
  const { shared, own, limitPerSecond, log, timeoutMs = TIMEOUT_MS } = options;
  const refused = new Error('The client has as many questions under way as it may have requests');
  const questions = createLimiter({ ofOne: limitPerSecond, maxWaitMs: 0 }, () => refused);
  let askedAgainAtMs = 0;

  async function ask(ip: string) {
    const isAdmitted = await withinTimeout(
      questions.run(limitKeyOf(ip), () => shared.admit(ip)),
      timeoutMs,
    );
    // What all processes have admitted counts here as well, when this one counts for itself.
    if (isAdmitted) await own.admit(ip);
    askedAgainAtMs = 0;
    return isAdmitted;
  }

  return {
    async admit(ip) {
      const nowMs = performance.now();
      if (nowMs < askedAgainAtMs) return own.admit(ip);
      if (askedAgainAtMs > 0) askedAgainAtMs = nowMs + ASKED_AGAIN_AFTER_MS;
      try {
        return await ask(ip);
      } catch (err) {
        if (err === refused) return false;
        askedAgainAtMs = performance.now() + ASKED_AGAIN_AFTER_MS;
        log.error({ err }, 'The shared rate limiter failed; this process counts for itself');
        return own.admit(ip);
      }
    },
  };
}
