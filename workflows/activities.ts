import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  CompareGatewayActivities,
  LedgerActivities,
  ListingActivities,
  MailActivities,
  MoneyActivities,
  PaymentSessionActivities,
  ReconcileActivities,
  RecordActivities,
  RecoveryActivities,
  RetentionActivities,
  SurplusActivities,
  SweepActivities,
  WebhookActivities,
} from '../src/contracts/activities.ts';
import { MONEY_TASK_QUEUE } from '../src/contracts/ids.ts';

/**
 * A local activity adds one history event; a normal one adds three and a workflow task. But it
 * keeps its workflow task, which is one of the worker's slots: after eight tries, 11 s, the call
 * continues as {@link recordEventually}. A `scheduleToCloseTimeout` is no alternative: measured, a local
 * activity that times out between two tries never ends.
 */
export const recordSoon = proxyLocalActivities<RecordActivities>({
  startToCloseTimeout: '10 seconds',
  retry: {
    initialInterval: '100 milliseconds',
    maximumInterval: '5 seconds',
    maximumAttempts: 8,
  },
});

/** The same as a normal activity, which holds no slot and is retried without limit. */
export const recordEventually = proxyActivities<RecordActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/** Each lost step may need a call of 10 s to the gateway. */
export const { rewriteSteps } = proxyActivities<RecoveryActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * The database counts the merchant's five attempts, and `nextRetryDelay` times them. This retry
 * policy is for faults of this service, such as a dead worker, which use up none of the five.
 */
export const { sendWebhook } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '30 seconds', backoffCoefficient: 1 },
});

/** The activity gives a mail up after 24 h. An attempt may wait for those of other mails. */
export const { sendMail } = proxyActivities<MailActivities>({
  startToCloseTimeout: '90 seconds',
  // Another worker continues soon after one has died: people wait for their mails.
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '15 seconds', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/** An operator waits for a manual attempt, so faults of this service are retried sooner. */
export const { attemptManually, continueResend } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * Retried without limit, at least once an hour, until the money has moved. A try makes up to eight
 * calls of 10 s each to the gateway and waits up to 5 s for its lists. The next must not begin meanwhile.
 */
export const { releaseFunds, refundPayment, refundSurplus } = proxyActivities<
  MoneyActivities & SurplusActivities
>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '90 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/** An expired order retries until the gateway has answered. */
export const { closePaymentSession: closeEventually } = proxyActivities<PaymentSessionActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * A cancel tries once, because its caller is waiting and gets 502 when the gateway does not answer:
 * within the contract's 4 s, and before the 4.5 s end that the API waits for its Update.
 */
export const { closePaymentSession: closeOnce } = proxyActivities<PaymentSessionActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  scheduleToCloseTimeout: '3.5 seconds',
  retry: { maximumAttempts: 1 },
});

/**
 * Few tries, because the Schedule runs again soon. Until a run ends the Schedule begins no other, so the
 * heartbeat lets another worker continue soon after one has died.
 */
export const {
  wakeDueOrders,
  startUnstartedMails,
  startUnfinishedResends,
  warnOfFailingEndpoints,
  remindOfDisputes,
  sweepProposals,
  sealOrderBlocks,
} = proxyActivities<SweepActivities & ListingActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { maximumAttempts: 3 },
});

/** It heartbeats its progress after each page, and may have millions of orders to read. */
export const { compareOrders } = proxyActivities<SweepActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
});

/** A run ends after 90 s; the heartbeat lets another worker continue soon after one has died. */
export const { reconcilePayments } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { maximumAttempts: 3 },
});

/** One try, because it reads every order, and the Schedule runs again within the hour. */
export const { verifyLedger } = proxyActivities<LedgerActivities>({
  startToCloseTimeout: '6 minutes',
  retry: { maximumAttempts: 1 },
});

/** It heartbeats its progress after each page of payments, each of which may time out. */
export const { compareWithGateway } = proxyActivities<CompareGatewayActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '30 minutes',
  retry: { maximumAttempts: 3 },
});

/** It heartbeats after each batch. One try, because the Schedule continues within the hour. */
export const { deleteExpiredData } = proxyActivities<RetentionActivities>({
  startToCloseTimeout: '9 minutes',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});
