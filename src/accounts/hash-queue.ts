import { HttpRefusal } from '../http/errors.ts';

/** A hash takes 19 MiB and one of the four threads that Node also reads files with. */
const AT_ONCE = 2;

/** About 12 hashes are made in a second: more would wait longer than a response may take. */
const MAX_WAITING = 40;

/**
 * Runs a few hashes at once, in the order in which they were requested, so that many logins do not
 * take all threads and memory of the process.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS when too many wait already
 */
export function createHashQueue({ atOnce = AT_ONCE, maxWaiting = MAX_WAITING } = {}) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <Result>(hash: () => Promise<Result>): Promise<Result> => {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting)
        throw new HttpRefusal('TOO_MANY_REQUESTS', { 'Retry-After': '5' });
      // Whatever ends passes its place on, so `running` stays as it is.
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await hash();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
