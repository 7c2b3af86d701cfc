import { setTimeout as sleep } from 'node:timers/promises';
import type { BackgroundWork } from '../background-work.ts';
import type { DeliverDeps, DeliveryOutcome } from './deliver.ts';
import { attemptScheduled, beginScheduled } from './deliver.ts';
import { QUICK_MS } from './quick-endpoints.ts';

/**
 * The limit of first attempts under way that exceed the wait. Beyond it, endpoints are slow and
 * attempts are left to their activities: workflow tasks and payments must not wait for them.
 */
const MAX_SLOW_ATTEMPTS = 8;

/**
 * Earlier than any second attempt, and later than the step's workflow task: a Signal that arrives while a
 * task ends the workflow makes the task fail, and with it the Update that the step answers.
 */
const HAND_OVER_AFTER_MS = 5000;

/** What first attempts need. */
export interface FirstAttemptDeps extends DeliverDeps {
  /** False in a process that moves money and sends no webhooks; true by default. */
  sendsWebhooks?: boolean;
  /** How long a step waits for the first attempt of its webhook, which continues after that. */
  firstAttemptWaitMs?: number;
  background: BackgroundWork;
}

/** See {@link createFirstAttempts}. */
export type FirstAttempts = ReturnType<typeof createFirstAttempts>;

/**
 * Makes the first attempt of a webhook in the activity that recorded its event: an endpoint that
 * responds quickly saves the order's workflow an activity and a workflow task.
 */
export function createFirstAttempts(deps: FirstAttemptDeps) {
  const { sendsWebhooks = true, firstAttemptWaitMs = QUICK_MS } = deps;
  const underWay = new Map<string, Promise<DeliveryOutcome>>();
  let slow = 0;

  const follow = (deliveryId: string, attempt: Promise<DeliveryOutcome>) => {
    const followed = attempt.finally(() => underWay.delete(deliveryId));
    underWay.set(deliveryId, followed);
    // An internal fault does not count as an attempt: another one is made.
    return followed.then(
      ({ outcome }) => outcome,
      () => 'not attempted' as const,
    );
  };

  return {
    /** @returns true when the delivery is settled; after false, the caller calls {@link finish} */
    async attempt(deliveryId: string): Promise<boolean> {
      if (!sendsWebhooks || slow >= MAX_SLOW_ATTEMPTS) return false;
      const outcome = follow(deliveryId, attemptScheduled(deps, deliveryId));
      const waited = new AbortController();
      const first = await Promise.race([
        outcome,
        sleep(firstAttemptWaitMs, 'slow', { signal: waited.signal }),
      ]);
      waited.abort();
      if (first === 'slow') {
        slow += 1;
        void outcome.finally(() => (slow -= 1));
      }
      return isSettled(first);
    },

    /**
     * Makes the attempt without letting the caller wait for the endpoint. If the endpoint has lately
     * answered quickly, the delivery needs no activity.
     *
     * @param handOver tells the order's workflow of the delivery, which this attempt has not settled
     * @returns true when the caller need not call {@link finish}
     */
    async attemptDirectly(deliveryId: string, handOver: () => Promise<void>): Promise<boolean> {
      if (!sendsWebhooks) return false;
      // A fault here must not fail the step, which is recorded: the workflow's activity begins again.
      const begun = await beginScheduled(deps, deliveryId, { isDirect: true }).catch(
        () => undefined,
      );
      if (!begun) return false;
      const isQuick = begun.webhookUrl !== null && deps.sender.isQuick(begun.webhookUrl);
      deps.background.begin(async (signal) => {
        const outcome = await follow(deliveryId, begun.finish());
        if (!isQuick || isSettled(outcome)) return;
        await sleep(HAND_OVER_AFTER_MS, undefined, { signal }).catch(() => undefined);
        await handOver();
      });
      return isQuick;
    },

    /** Waits for the first attempt if it is under way, else makes the next scheduled one. */
    finish(deliveryId: string): Promise<DeliveryOutcome> {
      return underWay.get(deliveryId) ?? attemptScheduled(deps, deliveryId);
    },
  };
}

function isSettled(outcome: string): boolean {
  return outcome === 'delivered' || outcome === 'failed';
}
