import { HttpRefusal } from '../responses/errors.ts';

/** How many pieces of work run at the same time: of one client or user, and of all. */
export interface SlotLimits {
  ofOne: number;
  ofAll: number;
  /** When a refused client may try again; 10 if absent, longer than the server waits for a slow body. */
  retryAfterSeconds?: number;
}

/** Limits costly work that runs at the same time in this process. */
export interface Slots {
  /**
   * Takes a slot, or refuses the request.
   *
   * @param who the client or user
   * @returns releases the slot; further calls do nothing
   * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`
   */
  take(who: string): () => void;
}

/**
 * Creates {@link Slots}. One client that is slow leaves slots to others.
 *
 * @param message what a refused client reads
 */
export function createSlots(
  { ofOne, ofAll, retryAfterSeconds = 10 }: SlotLimits,
  message: string,
): Slots {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  const counts = new Map<string, number>();
  let all = 0;
  return {
    take(who) {
      const count = counts.get(who) ?? 0;
      if (count >= ofOne || all >= ofAll) {
        throw new HttpRefusal('TOO_MANY_REQUESTS', headers, message);
      }
      counts.set(who, count + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const left = (counts.get(who) ?? 1) - 1;
        if (left === 0) counts.delete(who);
        else counts.set(who, left);
      };
    },
  };
}
