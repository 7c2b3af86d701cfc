import type { Activities } from '../src/contracts/activities.ts';
import type { StepRecorder } from '../src/orders/steps/record-step.ts';
import { wakeOrder } from '../src/orders/wake/wake-order.ts';
import { createBackgroundMails } from '../src/mail/background-mails.ts';
import type { BackgroundAttemptDeps } from '../src/webhooks/schedule/background-attempts.ts';
import { createBackgroundAttempts } from '../src/webhooks/schedule/background-attempts.ts';
import type { LedgerDeps } from './ledger.ts';
import { createLedgerActivities } from './ledger.ts';
import type { MailActivityDeps } from './mail.ts';
import { createMailActivities } from './mail.ts';
import type { MoneyDeps } from './money.ts';
import { createMoneyActivities } from './money.ts';
import { createRecordActivities, createRecordStep } from './record.ts';
import { createRecoveryActivities } from './recovery.ts';
import type { RetentionActivityDeps } from './retention.ts';
import { createRetentionActivities } from './retention.ts';
import type { SweepDeps } from './sweep.ts';
import { createSweepActivities } from './sweep.ts';
import { createWebhookActivities } from './webhooks.ts';

export type ActivityDeps = MoneyDeps &
  SweepDeps &
  BackgroundAttemptDeps &
  LedgerDeps &
  MailActivityDeps &
  RetentionActivityDeps & { recordStep: StepRecorder };

export function createActivities(deps: ActivityDeps): Activities {
  const webhooks = createBackgroundAttempts(deps, (orderNumber) => wakeOrder(deps, orderNumber));
  const beginMails = createBackgroundMails(deps);
  const recordStep = createRecordStep(deps.recordStep, webhooks, beginMails);
  return {
    ...createRecordActivities(deps, recordStep, webhooks),
    ...createRecoveryActivities(deps, recordStep),
    ...createWebhookActivities(deps),
    ...createMoneyActivities(deps, beginMails),
    ...createMailActivities(deps),
    ...createSweepActivities(deps, beginMails),
    ...createLedgerActivities(deps),
    ...createRetentionActivities(deps),
  };
}
