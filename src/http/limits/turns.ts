import { DomainError } from '../../domain/errors.ts';
import { createKeyedLimiter } from '../../keyed-limiter.ts';

/**
 * How many requests that change orders are worked on at the same time, in each environment. More at the
 * same time are answered no sooner, because one process works on all of them.
 */
export const CHANGES_AT_ONCE = 32;

/** Runs the work of an environment in turns, first come, first served. */
export type Turns = <Value>(work: () => Promise<Value>, mayBegin: () => boolean) => Promise<Value>;

/**
 * Creates the {@link Turns} of each environment: a merchant's tests in the sandbox take none of production.
 * Under overload, work that can no longer be done in time, or whose client has gone, is not begun: it would
 * delay the work behind it.
 */
export function createTurns(): (environment: string) => Turns {
  const limited = createKeyedLimiter(CHANGES_AT_ONCE);
  return (environment) => (work, mayBegin) =>
    limited(environment, async () => {
      if (mayBegin()) return work();
      throw new DomainError(
        'INTERNAL',
        'The service is busy and has not begun this request: try it again',
      );
    });
}
