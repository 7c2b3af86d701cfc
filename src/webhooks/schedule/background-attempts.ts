import { setTimeout as sleep } from 'node:timers/promises';
import type { BackgroundWork } from '../../background-work.ts';
import { ATTEMPT_LEASE_MS } from '../../domain/index.ts';
import type { LeasedDelivery } from '../../orders/public.ts';
import { wakeOrder } from '../../orders/public.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { AttemptDeps } from './attempt.ts';
import type { AttemptOutcome } from './leased-attempts.ts';
import { attemptLeased, attemptScheduled } from './leased-attempts.ts';

/**
 * Earlier than any second attempt, and later than the step's workflow task. A Signal that arrives while a task ends
 * the workflow would make the task fail, and with it the Update that the step answers.
 */
const HAND_OVER_AFTER_MS = 5000;

export interface BackgroundAttemptDeps extends AttemptDeps {
  background: BackgroundWork;
  workflows: OrderWorkflows;
  /** False in a process that moves money and leaves webhooks to the orders' workflows. Default: true. */
  sendsWebhooks?: boolean;
  /** The wait, in milliseconds, after an attempt that was not accepted, before the order is woken. */
  handOverAfterMs?: number;
}

export type BackgroundAttempts = ReturnType<typeof createBackgroundAttempts>;

/**
 * Makes the first attempt of each webhook in the process that recorded its event, in the background. If the endpoint
 * accepts it, the order's workflow needs no activity and no workflow task, and nothing waits for the endpoint.
 */
export function createBackgroundAttempts(deps: BackgroundAttemptDeps) {
  const { sendsWebhooks = true, handOverAfterMs = HAND_OVER_AFTER_MS, background, log } = deps;

  /** Makes the attempt. @returns true if the webhook needs no further one */
  async function endsDelivery(attempt: () => Promise<AttemptOutcome>): Promise<boolean> {
    if (!sendsWebhooks) return false;
    try {
      const { outcome } = await attempt();
      return outcome === 'accepted' || outcome === 'failed';
    } catch (err) {
      // It does not count as an attempt. The workflow makes another one.
      log.warn({ err }, 'A first attempt of a webhook could not be made or recorded');
      return false;
    }
  }

  /** If the attempt does not end the webhook, the order's workflow takes it over. */
  function beginAttempt(orderNumber: string, attempt: () => Promise<AttemptOutcome>): void {
    background.begin(async (signal) => {
      if (await endsDelivery(attempt)) return;
      await sleep(handOverAfterMs, undefined, { signal }).catch(() => undefined);
      await wakeOrder(deps, orderNumber);
    });
  }

  return {
    /**
     * The statement of a step leases its delivery to a process that makes the first attempt. After the lease that
     * process must be dead, and the sweep wakes the order.
     */
    firstAttempt: sendsWebhooks
      ? { wakeAfterMs: ATTEMPT_LEASE_MS, leaseMs: ATTEMPT_LEASE_MS }
      : { wakeAfterMs: 0 },

    beginLeased(delivery: LeasedDelivery): void {
      beginAttempt(delivery.orderNumber, () => attemptLeased(deps, delivery));
    },

    /** Begins the first attempt of a delivery that another process has inserted. */
    begin({ orderNumber, deliveryId }: { orderNumber: string; deliveryId: string }): void {
      beginAttempt(orderNumber, () => attemptScheduled(deps, deliveryId));
    },
  };
}
