import type { Activities } from '../src/contracts/activities.ts';
import { createFirstAttempts } from '../src/webhooks/first-attempts.ts';
import type { LedgerDeps } from './ledger.ts';
import { createLedgerActivities } from './ledger.ts';
import type { MailActivityDeps } from './mail.ts';
import { createMailActivities } from './mail.ts';
import type { MoneyDeps } from './money.ts';
import { createMoneyActivities } from './money.ts';
import { createRecordActivities } from './record.ts';
import { createRecoveryActivities } from './recovery.ts';
import type { RetentionActivityDeps } from './retention.ts';
import { createRetentionActivities } from './retention.ts';
import type { SweepDeps } from './sweep.ts';
import { createSweepActivities } from './sweep.ts';
import type { WebhookDeps } from './webhooks.ts';
import { createWebhookActivities } from './webhooks.ts';

/** The dependencies of all activities. */
export type ActivityDeps = MoneyDeps &
  SweepDeps &
  WebhookDeps &
  LedgerDeps &
  MailActivityDeps &
  RetentionActivityDeps;

/** Every activity that workflows call. */
export function createActivities(deps: ActivityDeps): Activities {
  const firstAttempts = createFirstAttempts(deps);
  return {
    ...createRecordActivities(deps, firstAttempts),
    ...createRecoveryActivities(deps),
    ...createWebhookActivities(deps, firstAttempts),
    ...createMoneyActivities(deps, firstAttempts),
    ...createMailActivities(deps),
    ...createSweepActivities(deps),
    ...createLedgerActivities(deps),
    ...createRetentionActivities(deps),
  };
}
