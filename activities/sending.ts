import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { MailActivities, WebhookActivities } from '../src/contracts/activities.ts';
import type { MailAttemptDeps } from '../src/mail/attempt.ts';
import { attemptMail } from '../src/mail/attempt.ts';
import type { AttemptDeps } from '../src/webhooks/schedule/attempt.ts';
import { attemptManually, attemptScheduled } from '../src/webhooks/schedule/leased-attempts.ts';
import { continueResend } from '../src/webhooks/resend/resend-progress.ts';
import { withHeartbeats } from './heartbeats.ts';

/** The retry interval while the attempt of a crashed worker still counts as running. */
const CUT_OFF_RETRY_DELAY = '5 seconds';

export type SendingDeps = AttemptDeps & MailAttemptDeps;

/**
 * Each call makes one attempt. A failed attempt of a webhook throws with the exact delay before the next one: a
 * backoff coefficient cannot express the specification's schedule. The workflow's retry policy times those of a mail.
 */
export function createSendingActivities(deps: SendingDeps): WebhookActivities & MailActivities {
  return {
    async sendWebhook({ deliveryId }) {
      const result = await attemptScheduled(deps, deliveryId, { takesOver: true });
      switch (result.outcome) {
        case 'accepted':
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
    async continueResend({ resendId, done }) {
      return continueResend(deps.sql, resendId, done);
    },
    async attemptManually({ deliveryId }) {
      const result = await attemptManually(deps, deliveryId);
      if (!result) throw ApplicationFailure.nonRetryable(`There is no delivery ${deliveryId}`);
      if (result.outcome !== 'running' || activityInfo().attempt === 1) return result;
      // The attempt may be one that this activity began before its worker crashed: retry later.
      throw ApplicationFailure.create({
        message: 'Another attempt still counts as running',
        type: 'ATTEMPT_RUNNING',
        nextRetryDelay: CUT_OFF_RETRY_DELAY,
        category: ApplicationFailureCategory.BENIGN,
      });
    },
    async sendMail({ mailId }) {
      const result = await withHeartbeats(() => attemptMail(deps, mailId));
      switch (result.outcome) {
        case 'done':
          return;
        case 'failed':
          throw ApplicationFailure.nonRetryable(result.reason, 'MAIL_FAILED');
        case 'postponed':
          throw ApplicationFailure.create({
            message: result.reason,
            type: 'MAIL_POSTPONED',
            ...(result.retryAfterMs !== undefined && { nextRetryDelay: result.retryAfterMs }),
            category: ApplicationFailureCategory.BENIGN,
          });
      }
    },
  };
}
