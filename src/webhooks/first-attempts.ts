import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverDeps, DeliveryOutcome } from './deliver.ts';
import { attemptScheduled } from './deliver.ts';

const WAIT_MS = 300;

/**
 * The limit of first attempts under way that exceed the wait. Beyond it, endpoints are slow and
 * attempts are left to their activities: workflow tasks and payments must not wait for them.
 */
const MAX_SLOW_ATTEMPTS = 8;

/** What first attempts need. */
export interface FirstAttemptDeps extends DeliverDeps {
  /** False in a process that moves money and sends no webhooks; true by default. */
  sendsWebhooks?: boolean;
  /** How long a step waits for the first attempt of its webhook, which continues after that. */
  firstAttemptWaitMs?: number;
}

/** See {@link createFirstAttempts}. */
export type FirstAttempts = ReturnType<typeof createFirstAttempts>;

/**
 * Makes the first attempt of a webhook in the activity that recorded its event: an endpoint that
 * responds quickly saves the order's workflow an activity and a workflow task.
 */
export function createFirstAttempts(deps: FirstAttemptDeps) {
  const { sendsWebhooks = true, firstAttemptWaitMs = WAIT_MS } = deps;
  const underWay = new Map<string, Promise<DeliveryOutcome>>();
  let slow = 0;

  return {
    /** @returns true when the delivery is settled; after false, the caller calls {@link finish} */
    async attempt(deliveryId: string): Promise<boolean> {
      if (!sendsWebhooks || slow >= MAX_SLOW_ATTEMPTS) return false;
      const attempt = attemptScheduled(deps, deliveryId).finally(() => underWay.delete(deliveryId));
      underWay.set(deliveryId, attempt);
      const waited = new AbortController();
      // An internal fault does not count as an attempt: the activity makes it again.
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

    /** Waits for the first attempt if it is under way, else makes the next scheduled one. */
    finish(deliveryId: string): Promise<DeliveryOutcome> {
      return underWay.get(deliveryId) ?? attemptScheduled(deps, deliveryId);
    },
  };
}
