import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  MailActivities,
  MoneyActivities,
  DatabaseActivities,
  RecoveryActivities,
  RecordStepInput,
  ScheduleActivities,
  WebhookActivities,
} from '../src/contracts/activities.ts';
import { MONEY_TASK_QUEUE } from '../src/contracts/ids.ts';
import type { KnownStep } from '../src/contracts/order-workflow.ts';

/**
 * A local activity adds one history event; a normal one adds three and a workflow task. But it keeps its workflow
 * task, which is one of the worker's slots, so the call continues after eight tries (11 s if each fails at once) as one of
 * {@link normalDatabaseActivities}. A `scheduleToCloseTimeout` does not work: measured, a local activity that times
 * out between two tries never ends.
 */
const localDatabaseActivities = proxyLocalActivities<DatabaseActivities>({
  startToCloseTimeout: '10 seconds',
  retry: {
    initialInterval: '100 milliseconds',
    maximumInterval: '5 seconds',
    maximumAttempts: 8,
  },
});

/** The same as a normal activity, which keeps no slot and is retried without limit. */
const normalDatabaseActivities = proxyActivities<DatabaseActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/** Each lost step may need a call of 10 s to the gateway. It moves no money: after a restore only these workers run at first. */
const { rewriteSteps } = proxyActivities<RecoveryActivities>({
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export type OrderDatabase = ReturnType<typeof orderDatabase>;

/**
 * Reads and writes the rows of one order through activities.
 *
 * @param onBlocked called when a failing database blocks the order, and when that ends
 */
export function orderDatabase(orderNumber: string, onBlocked: (isBlocked: boolean) => void) {
  async function call<Result>(
    activity: (
      activities: Pick<typeof localDatabaseActivities, keyof DatabaseActivities>,
    ) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await activity(localDatabaseActivities);
    } catch {
      // Catches every error: rethrown, it would end the workflow, and a local activity's failure is not always an
      // ActivityFailure.
      onBlocked(true);
      const result = await activity(normalDatabaseActivities);
      onBlocked(false);
      return result;
    }
  }

  return {
    /** @returns null when the order has no row; an alert is then raised */
    read: (afterStep: number) =>
      call(({ readOrder }) =>
        readOrder.executeWithOptions({ summary: 'Read the order' }, [{ orderNumber, afterStep }]),
      ),

    record: (step: RecordStepInput) =>
      call(({ recordStep }) => recordStep.executeWithOptions({ summary: step.step.kind }, [step])),

    /** Writes steps again that the database has lost. */
    async rewrite(steps: KnownStep[]): Promise<void> {
      onBlocked(true);
      const summary = `Write ${steps.map(({ step }) => step.kind).join(', ')} again`;
      await rewriteSteps.executeWithOptions({ summary: summary.slice(0, 200) }, [
        { orderNumber, steps },
      ]);
      onBlocked(false);
    },
  };
}

/**
 * The database counts the merchant's five attempts, and `nextRetryDelay` sets their times. This retry policy is for
 * faults of this service, such as a dead worker, which use up none of the five.
 */
export const { sendWebhook } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '30 seconds', backoffCoefficient: 1 },
});

/** The activity gives a mail up after 24 h. An attempt may wait for attempts of other mails. */
export const { sendMail } = proxyActivities<MailActivities>({
  startToCloseTimeout: '90 seconds',
  // Another worker continues soon after one has died, because people wait for their mails.
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '15 seconds', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/** An operator waits for a manual attempt, so faults of this service are retried sooner. */
export const { attemptManually, continueResend } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * Retried without limit, at least once an hour, until the money has moved. A try makes up to eight calls of 10 s
 * each to the gateway and waits up to 5 s for its lists. The next try must not begin before that.
 */
export const { releaseFunds, refundPayment, refundSurplus } = proxyActivities<MoneyActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '90 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/** The workflow of an expired order retries until the gateway has answered. */
export const { closePaymentSession: closeEventually } = proxyActivities<MoneyActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

/**
 * A cancel tries once, because its caller waits and gets 502 when the gateway does not answer: within the contract's
 * 4 s, and before the API's wait of 4.5 s for its Update ends.
 */
export const { closePaymentSession: closeOnce } = proxyActivities<MoneyActivities>({
  taskQueue: MONEY_TASK_QUEUE,
  scheduleToCloseTimeout: '3.5 seconds',
  retry: { maximumAttempts: 1 },
});

/**
 * Few tries, because the Schedule runs again soon. It begins no other run until this one ends, so the heartbeat lets
 * another worker continue soon after one has died.
 */
export const {
  wakeDueOrders,
  startUnstartedMails,
  startUnfinishedResends,
  warnOfFailingEndpoints,
  remindOfDisputes,
  sweepProposals,
  sealOrderBlocks,
} = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { maximumAttempts: 3 },
});

/** Reports its progress by heartbeats after each page. It may have millions of orders to read. */
export const { compareOrders } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 3 },
});

/** A run ends after 90 s. The heartbeat lets another worker continue soon after one has died. */
export const { reconcilePayments } = proxyActivities<MoneyActivities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { maximumAttempts: 3 },
});

/** One try, because it reads every order, and the Schedule runs again within the hour. */
export const { verifyLedger } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '6 minutes',
  retry: { maximumAttempts: 1 },
});

/** Reports its progress by heartbeats after each page of payments. Each payment's call may time out. */
export const { compareWithGateway } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '1 day',
  heartbeatTimeout: '30 minutes',
  retry: { maximumAttempts: 3 },
});

/** Sends a heartbeat after each batch. One try, because the Schedule continues within the hour. */
export const { deleteExpiredData } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '9 minutes',
  heartbeatTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});
