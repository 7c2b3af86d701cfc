import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from 'ulid';
import type { MerchantClient } from './client.ts';
import type { EndedRight, Memory } from './memory.ts';

/** Uses a right. @returns whether that had success; undefined without an answer */
export type Use = () => Promise<boolean | undefined>;

/** Whether an answer of HTTP is a success; undefined if it says nothing about the right. */
export const hasSucceeded = ({ status }: { status: number }): boolean | undefined =>
  status === 0 || status >= 500 || status === 429 ? undefined : status < 300;

/** Creates an order with a client's key. */
export const creatingAnOrder =
  (client: MerchantClient): Use =>
  async () => {
    const body = { amount: 499.5, buyerEmail: 'asha@example.com', buyerPhone: '+919876543210' };
    const idempotencyKey = `after the end ${ulid()}`;
    return hasSucceeded(
      await client.send({ method: 'POST', path: '/orders', idempotencyKey, body }),
    );
  };

const FIRST_WAIT_MS = 300;
const LAST_WAIT_MS = 10_000;
const WAIT_FACTOR = 1.5;

/**
 * Uses a right whose end was answered just now, again and again, and remembers what comes of it.
 *
 * @param right names it
 * @param signal ends its use
 */
export async function useAfterEnd(
  { endedRights }: Pick<Memory, 'endedRights'>,
  right: string,
  use: Use,
  signal: AbortSignal,
): Promise<void> {
  const known: EndedRight = { right, endedAtMs: Date.now(), refused: 0, used: 0 };
  endedRights.push(known);
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs *= WAIT_FACTOR) {
    const atMs = Date.now();
    const isUsed = await use();
    if (isUsed === false) known.refused += 1;
    if (isUsed === true) {
      known.used += 1;
      known.firstUsedAtMs ??= atMs;
    }
    await delay(Math.min(waitMs, LAST_WAIT_MS), undefined, { signal }).catch(() => undefined);
  }
}
