import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WebhookActivities } from '../src/contracts/activities.ts';
import type { DeliverDeps } from '../src/webhooks/deliver.ts';
import { attemptScheduled } from '../src/webhooks/deliver.ts';

export type WebhookDeps = DeliverDeps;

/**
 * One attempt a call. A refused one fails with the exact wait before the next, which is the only
 * way to make Temporal keep the specification's schedule; a backoff coefficient does not.
 */
export function createWebhookActivities(deps: WebhookDeps): WebhookActivities {
  return {
    async sendWebhook({ deliveryId }) {
      const dueAtMs = activityInfo().currentAttemptScheduledTimestampMs;
      const result = await attemptScheduled(deps, deliveryId, dueAtMs);
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
  };
}
