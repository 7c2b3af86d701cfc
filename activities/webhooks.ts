import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WebhookActivities } from '../src/contracts/activities.ts';
import { attemptManually } from '../src/webhooks/deliver.ts';
import type { FirstAttemptDeps, FirstAttempts } from '../src/webhooks/first-attempts.ts';

export type WebhookDeps = FirstAttemptDeps;

/** A manual retry whose worker died waits this long for its own attempt to count as dead. */
const CUT_OFF_RETRY_DELAY = '5 seconds';

/**
 * One attempt a call. A refused one fails with the exact wait before the next, which is the only
 * way to make Temporal keep the specification's schedule; a backoff coefficient does not.
 */
export function createWebhookActivities(
  deps: WebhookDeps,
  attempts: FirstAttempts,
): WebhookActivities {
  return {
    async sendWebhook({ deliveryId }) {
      const result = await attempts.finish(deliveryId);
      switch (result.outcome) {
        case 'delivered':
          return;
        case 'failed':
          throw ApplicationFailure.nonRetryable(result.reason, 'WEBHOOK_FAILED');
        case 'refused':
        case 'postponed':
          throw ApplicationFailure.create({
            message: result.outcome === 'refused' ? result.reason : 'Not due yet',
            type: 'WEBHOOK_REFUSED',
            nextRetryDelay: result.retryAfterMs,
            category: ApplicationFailureCategory.BENIGN,
          });
      }
    },
    async attemptManually({ deliveryId }) {
      const result = await attemptManually(deps, deliveryId);
      if (!result) throw ApplicationFailure.nonRetryable(`There is no delivery ${deliveryId}`);
      if (result.outcome !== 'running' || activityInfo().attempt === 1) return result;
      // What runs may be this very retry, cut off with its worker: it is made again, later.
      throw ApplicationFailure.create({
        message: 'Another attempt still counts as under way',
        type: 'ATTEMPT_RUNNING',
        nextRetryDelay: CUT_OFF_RETRY_DELAY,
        category: ApplicationFailureCategory.BENIGN,
      });
    },
  };
}
