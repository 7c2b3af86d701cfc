import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverDeps, DeliveryOutcome } from './deliver.ts';
import { attemptScheduled } from './deliver.ts';

const WAIT_MS = 300;

/**
 * First attempts of this process that take longer. With so many, endpoints are slow, and attempts
 * are left to their activities: workflow tasks and money must not wait for them.
 */
const MAX_SLOW_ATTEMPTS = 8;

export interface FirstAttemptDeps extends DeliverDeps {
  /** False in a process that moves money and sends no webhooks; true unless given. */
  sendsWebhooks?: boolean;
  /** How long a step waits for the first attempt of its webhook, which goes on after that. */
  firstAttemptWaitMs?: number;
}

export type FirstAttempts = ReturnType<typeof createFirstAttempts>;

/**
 * Makes the first attempt of a webhook where its event was recorded and nobody waits for an answer:
 * an endpoint that answers at once saves the order's workflow an activity and a workflow task.
 */
export function createFirstAttempts(deps: FirstAttemptDeps) {
  const { sendsWebhooks = true, firstAttemptWaitMs = WAIT_MS } = deps;
  const underWay = new Map<string, Promise<DeliveryOutcome>>();
  let slow = 0;

  return {
    /** @returns true when nothing is left to be sent; false leaves it to {@link finish} */
    async attempt(deliveryId: string): Promise<boolean> {
      if (!sendsWebhooks || slow >= MAX_SLOW_ATTEMPTS) return false;
      const attempt = attemptScheduled(deps, deliveryId).finally(() => underWay.delete(deliveryId));
      underWay.set(deliveryId, attempt);
      const waited = new AbortController();
      // A fault of ours counts as no attempt: the activity makes it.
      const outcome = attempt.then(
        (result) => result.outcome,
        () => 'not attempted',
      );
      const first = await Promise.race([
        outcome,
        sleep(firstAttemptWaitMs, 'slow', { signal: waited.signal }),
      ]);
      waited.abort();
      if (first === 'slow') {
        slow += 1;
        void outcome.finally(() => (slow -= 1));
      }
      return first === 'delivered' || first === 'failed';
    },

    /** The next scheduled attempt, or the first one where it is still under way. */
    finish(deliveryId: string): Promise<DeliveryOutcome> {
      return underWay.get(deliveryId) ?? attemptScheduled(deps, deliveryId);
    },
  };
}
