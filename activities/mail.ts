import { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { MailActivities } from '../src/contracts/activities.ts';
import type { AttemptDeps } from '../src/mail/attempt.ts';
import { attemptMail } from '../src/mail/attempt.ts';
import { withHeartbeats } from './heartbeats.ts';

export type MailActivityDeps = AttemptDeps;

/** Each call makes one attempt; a failed one throws, and the workflow's retry policy times the next. */
export function createMailActivities(deps: MailActivityDeps): MailActivities {
  return {
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
