import type { Activities } from '../src/contracts/activities.ts';
import { findStep } from '../src/orders/record-step.ts';
import type { MoneyDeps } from './money.ts';
import { createMoneyActivities } from './money.ts';
import type { SweepDeps } from './sweep.ts';
import { createSweepActivities } from './sweep.ts';
import type { WebhookDeps } from './webhooks.ts';
import { createWebhookActivities } from './webhooks.ts';

/** Everything that workflows ask of the outside world. */
export function createActivities(deps: MoneyDeps & SweepDeps & WebhookDeps): Activities {
  return {
    recordStep: deps.recordStep,
    findStep: (input) => findStep(deps.sql, input),
    ...createWebhookActivities(deps),
    ...createMoneyActivities(deps),
    ...createSweepActivities(deps),
  };
}
