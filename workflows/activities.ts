import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  ListingActivities,
  MoneyActivities,
  PaymentSessionActivities,
  ReconcileActivities,
  RecordActivities,
  RecoveryActivities,
  SurplusActivities,
  SweepActivities,
  WebhookActivities,
} from '../src/contracts/activities.ts';
import { MONEY_TASK_QUEUE } from '../src/contracts/ids.ts';

/**
 * Local: adds one history event, where a normal activity adds three and a workflow task. But it
 * keeps its workflow task, and so one of the worker's slots: what has failed eight times, over 11 s,
 * is left to {@link patiently}. A `scheduleToCloseTimeout` does not do: measured, a local activity that
 * times out between two of its tries never ends.
 */
export const atOnce = proxyLocalActivities<RecordActivities>({
  startToCloseTimeout: '10 seconds',
  retry: {
    initialInterval: '100 milliseconds',
    maximumInterval: '5 seconds',
    maximumAttempts: 8,
  },
});

/** The same without a workflow task, for ever. */
export const patiently = proxyActivities<RecordActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/** Each step that was lost may need a call to the gateway of 10 s. */
export const { rewriteSteps } = proxyActivities<RecoveryActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * The merchant's five attempts are counted in the database and timed by `nextRetryDelay`. This
 * policy is for our own faults, a dead worker or database, which use up none of the five.
 */
export const { sendWebhook } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '30 seconds', backoffCoefficient: 1 },
});

/** Somebody waits for a manual attempt: our own faults are tried again sooner, for ever. */
export const { attemptManually } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * Money is moved until it has moved: no maximum of attempts, and at least one try an hour. A try
 * makes up to five calls to the gateway of 10 s each, and no other may begin while it still runs.
 */
export const { releaseFunds, refundPayment, refundSurplus } = proxyActivities<
  MoneyActivities & SurplusActivities
>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '90 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/** An expiry asks the gateway until it answers. */
export const { closePaymentSession: closePatiently } = proxyActivities<PaymentSessionActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * A cancel asks once: its caller is waiting, and gets 502 when the gateway does not answer. Within
 * the contract's 4 s, and early enough for the API to hear of it: it waits 4.5 s for its Update.
 */
export const { closePaymentSession: closeOnce } = proxyActivities<PaymentSessionActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  scheduleToCloseTimeout: '3.5 seconds',
  retry: { maximumAttempts: 1 },
});

/** The next run of the Schedule comes soon anyway. */
export const { startUnstartedOrders, sealOrderBlocks } = proxyActivities<
  SweepActivities & ListingActivities
>({
  startToCloseTimeout: '5 minutes',
  retry: { maximumAttempts: 3 },
});

/** It says after each page how far it came. */
export const { compareOrders } = proxyActivities<SweepActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
});

/** A run ends itself after 90 s, and another worker goes on soon after its own has died. */
export const { reconcilePayments } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { maximumAttempts: 3 },
});
