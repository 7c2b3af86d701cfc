import { randomBytes } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** An id in Razorpay's form: the prefix and 14 characters. */
export function newId(prefix: string): string {
  const characters = Array.from(randomBytes(14), (byte) => BASE62[byte % BASE62.length]);
  return prefix + characters.join('');
}

/** Numbers from 0 to below 1, the same for the same seed. */
export interface Random {
  next(): number;
  seed(seed: number): void;
}

/** A seeded generator (mulberry32), so that a failed run can be repeated. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    seed(next) {
      state = next >>> 0;
    },
  };
}

/** The items in a random order. */
export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, rank: random.next() }))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ item }) => item);
}
