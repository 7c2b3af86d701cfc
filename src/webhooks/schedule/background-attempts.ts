import { setTimeout as sleep } from 'node:timers/promises';
import type { BackgroundWork } from '../../background-work.ts';
import { ATTEMPT_LEASE_MS } from './attempt-log.ts';
import type { AttemptDeps } from './attempts.ts';
import { attemptScheduled } from './attempts.ts';

/**
 * Earlier than any second attempt, and later than the step's workflow task. A Signal that arrives while a task ends
 * the workflow would make the task fail, and with it the Update that the step answers.
 */
const HAND_OVER_AFTER_MS = 5000;

export interface BackgroundAttemptDeps extends AttemptDeps {
  background: BackgroundWork;
  /** False in a process that moves money and leaves webhooks to the orders' workflows. Default: true. */
  sendsWebhooks?: boolean;
  /** The wait, in milliseconds, after an attempt that was not accepted, before the order is woken. */
  handOverAfterMs?: number;
}

export type BackgroundAttempts = ReturnType<typeof createBackgroundAttempts>;

/**
 * Makes the first attempt of each webhook in the process that recorded its event, in the background. If the endpoint
 * accepts it, the order's workflow needs no activity and no workflow task, and nothing waits for the endpoint.
 *
 * @param wakeOrder makes the order's workflow send a webhook that the attempt has not ended
 */
export function createBackgroundAttempts(
  deps: BackgroundAttemptDeps,
  wakeOrder: (orderNumber: string) => Promise<unknown>,
) {
  const { sendsWebhooks = true, handOverAfterMs = HAND_OVER_AFTER_MS, background, log } = deps;

  async function hasEnded(deliveryId: string): Promise<boolean> {
    if (!sendsWebhooks) return false;
    try {
      const { outcome } = await attemptScheduled(deps, deliveryId, { isWorkflow: false });
      return outcome === 'accepted' || outcome === 'failed';
    } catch (err) {
      // It does not count as an attempt. The workflow makes another one.
      log.warn({ err, deliveryId }, 'A first attempt of a webhook could not be made');
      return false;
    }
  }

  return {
    /** After this time the process that began the attempt must be dead, and the sweep wakes the order. */
    wakeAfterMs: sendsWebhooks ? ATTEMPT_LEASE_MS : 0,

    /** Begins the first attempt. If that does not end the webhook, the order's workflow takes it over. */
    begin({ orderNumber, deliveryId }: { orderNumber: string; deliveryId: string }): void {
      background.begin(async (signal) => {
        if (await hasEnded(deliveryId)) return;
        await sleep(handOverAfterMs, undefined, { signal }).catch(() => undefined);
        await wakeOrder(orderNumber);
      });
    },
  };
}
