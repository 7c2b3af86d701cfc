import type { Activities } from '../src/contracts/activities.ts';
import type { PresentOrder } from '../src/orders/presenter.ts';
import { createStepRecorder } from '../src/orders/steps/record-step.ts';
import { createBackgroundMails } from '../src/mail/attempt.ts';
import type { BackgroundAttemptDeps } from '../src/webhooks/schedule/background-attempts.ts';
import { createBackgroundAttempts } from '../src/webhooks/schedule/background-attempts.ts';
import type { MoneyDeps } from './money.ts';
import { createMoneyActivities } from './money.ts';
import { createDatabaseActivities } from './database.ts';
import type { ScheduleDeps } from './schedules.ts';
import { createScheduleActivities } from './schedules.ts';
import type { SendingDeps } from './sending.ts';
import { createSendingActivities } from './sending.ts';

export type ActivityDeps = MoneyDeps &
  ScheduleDeps &
  SendingDeps &
  BackgroundAttemptDeps & { present: PresentOrder };

export function createActivities(deps: ActivityDeps): Activities {
  const webhooks = createBackgroundAttempts(deps);
  const beginMails = createBackgroundMails(deps);
  const recordStep = createStepRecorder({ ...deps, firstAttempt: webhooks.firstAttempt });
  return {
    ...createDatabaseActivities({ ...deps, recordStep, webhooks, beginMails }),
    ...createSendingActivities(deps),
    ...createMoneyActivities(deps, beginMails),
    ...createScheduleActivities(deps, beginMails),
  };
}
