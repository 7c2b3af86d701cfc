import { setTimeout as delay } from 'node:timers/promises';
import type { createLifecycleClient } from '../lifecycle/order-lifecycle.ts';
import { newObservations } from '../lifecycle/order-lifecycle.ts';

export type Shop = ReturnType<typeof createLifecycleClient>;

export interface ClosedLoop {
  readonly clients: number;
  /** The time before the lifecycles that end are counted. */
  readonly warmUpMs: number;
  readonly ms: number;
}

/** What clients have met. */
export interface LoadRound {
  /** Lifecycles that ended in a second. */
  readonly perSecond: number;
  /** Answers of 5xx, requests without an answer, and lifecycles that did not end. */
  readonly failed: number;
  /** Each error with its number, and why lifecycles did not end. */
  readonly errors: readonly string[];
  readonly refused: number;
  readonly slowestRefusalMs: number;
  /** Requests that a refusal had begun: their repeat is answered as a repeat. */
  readonly begunThenRefused: number;
}

/** Runs one lifecycle after the other in each client; the merchants have equally many of them. */
export async function runClosedLoop(
  shops: readonly Shop[],
  { clients, warmUpMs, ms }: ClosedLoop,
): Promise<LoadRound> {
  const seen = newObservations();
  const before = shops.map(({ answers }) => answers.length);
  const countsFrom = performance.now() + warmUpMs;
  const endsAt = countsFrom + ms;
  let ended = 0;
  const runClient = async (shop: Shop, index: number) => {
    // Clients that begin at the same moment would stay in step.
    await delay((index / clients) * 1000);
    while (performance.now() < endsAt) {
      await shop.runLifecycle(seen).catch((error: unknown) => seen.failures.push(String(error)));
      const atMs = performance.now();
      if (atMs >= countsFrom && atMs < endsAt) ended += 1;
    }
  };
  const running = Array.from({ length: clients }, (_, index) =>
    runClient(shops[index % shops.length] as Shop, index),
  );
  await Promise.all(running);
  const answers = shops.flatMap((shop, index) => shop.answers.slice(before[index]));
  const refusals = answers.filter(({ status }) => status === 429);
  return {
    perSecond: (ended / ms) * 1000,
    failed:
      answers.filter(({ status }) => status === 0 || status >= 500).length + seen.failures.length,
    errors: [...[...seen.errors].map(([error, count]) => `${count} ${error}`), ...seen.failures],
    refused: refusals.length,
    slowestRefusalMs: Math.max(0, ...refusals.map((refusal) => refusal.ms)),
    begunThenRefused: answers.filter(({ isReplay }) => isReplay).length,
  };
}
