import { limitKeyOf } from './client-ip.ts';
import { HttpRefusal } from './errors.ts';

/** A form with a file takes up to 20 MB while it is read, checked and encrypted. */
const LIMITS = { ofClient: 2, ofAll: 10 };

/** Longer than the server waits for the body of a request that is slow. */
const RETRY_AFTER_SECONDS = '10';

/** Runs what reads a form with a file, for few requests at the same time. */
export type UploadSlots = <Result>(clientIp: string, run: () => Promise<Result>) => Promise<Result>;

/**
 * Limits how many forms with files the process has in its memory: of each client, so that one that is
 * slow leaves places to others, and of all.
 *
 * The returned function throws HttpRefusal TOO_MANY_REQUESTS where no place is left.
 */
export function createUploadSlots({ ofClient, ofAll } = LIMITS): UploadSlots {
  const counts = new Map<string, number>();
  let all = 0;
  return async (clientIp, run) => {
    const client = limitKeyOf(clientIp);
    const count = counts.get(client) ?? 0;
    if (count >= ofClient || all >= ofAll) {
      const message = 'Too many files are uploaded at the same time: try again in some seconds';
      throw new HttpRefusal('TOO_MANY_REQUESTS', { 'Retry-After': RETRY_AFTER_SECONDS }, message);
    }
    counts.set(client, count + 1);
    all += 1;
    try {
      return await run();
    } finally {
      all -= 1;
      const left = (counts.get(client) ?? 1) - 1;
      if (left === 0) counts.delete(client);
      else counts.set(client, left);
    }
  };
}
