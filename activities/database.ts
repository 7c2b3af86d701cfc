import { activityInfo } from '@temporalio/activity';
import type {
  DatabaseActivities,
  RecoveryActivities,
  RecordStepInput,
  RecordStepResult,
} from '../src/contracts/activities.ts';
import { clearAlert, raiseAlert, type AlertDeps } from '../src/alerts/alerts.ts';
import { alertWithoutRow } from '../src/orders/wake/lost-orders.ts';
import type { StepRecorder } from '../src/orders/steps/record-step.ts';
import { readOrder } from '../src/orders/steps/record-step.ts';
import type { CaptureDeps } from '../src/payments/captures/captures.ts';
import { alertReleaseBlocked } from '../src/payments/funds/funds.ts';
import { bookRestoredReversals } from '../src/payments/reversals/reversal-queries.ts';
import { recoverCapture } from '../src/payments/reconcile/recover-payments.ts';
import type { BeginMails } from '../src/mail/attempt.ts';
import type { BackgroundAttempts } from '../src/webhooks/schedule/background-attempts.ts';

interface DatabaseDeps extends CaptureDeps {
  recordStep: StepRecorder;
  webhooks: BackgroundAttempts;
  beginMails: BeginMails;
}

/** Records a step and begins the first attempts of its webhook and its mails. */
async function recordAndSend(
  { recordStep, webhooks, beginMails }: DatabaseDeps,
  input: RecordStepInput,
): Promise<RecordStepResult> {
  const result = await recordStep(input);
  if (result.outcome !== 'recorded') return result;
  const { outcome, recorded, leased, mails } = result;
  beginMails(mails);
  if (leased !== null) webhooks.beginLeased(leased);
  // Temporal stores the result, so it has nothing else.
  return { outcome, recorded };
}

/** The activities by which a workflow reads and writes its order, also after its database has lost steps. */
export function createDatabaseActivities(
  deps: DatabaseDeps,
): DatabaseActivities & RecoveryActivities {
  const { webhooks } = deps;
  return {
    readOrder: ({ orderNumber, afterStep }) =>
      alertingOnFailure(deps, orderNumber, async () => {
        const record = await readOrder(deps.sql, { orderNumber, afterStep });
        if (!record) {
          await alertWithoutRow(deps, orderNumber, 'runs');
          return null;
        }
        const { isNew, ...known } = record;
        if (!isNew) return known;
        for (const { deliveryId } of known.deliveries) webhooks.begin({ orderNumber, deliveryId });
        return { ...known, deliveries: [] };
      }),
    recordStep: (input) =>
      alertingOnFailure(deps, input.orderNumber, async () => {
        const result = await recordAndSend(deps, input);
        if (result.outcome === 'release_waits' && result.cause === 'reversed_at_gateway') {
          await alertReleaseBlocked(deps, input.orderNumber);
        }
        return result;
      }),
    rewriteSteps: ({ orderNumber, steps }) =>
      alertingOnFailure(deps, orderNumber, async () => {
        await raiseAlert(deps, {
          kind: 'order_behind',
          subject: orderNumber,
          message: 'The database has lost steps that the workflow of the order has',
          fields: { orderNumber, steps: steps.map(({ step }) => step.kind).join(', ') },
        });
        for (const { step, commandId, payment } of steps) {
          if (payment !== null) await recoverCapture(deps, orderNumber, payment);
          const result = await recordAndSend(deps, {
            orderNumber,
            step,
            ...(commandId !== null && { commandId }),
            ...(payment !== null && { payment }),
            isRewritten: true,
          });
          if (result.outcome !== 'recorded') {
            throw new Error(
              `Step ${step.number}, ${step.kind}, cannot be rewritten: ${result.outcome}`,
            );
          }
        }
        await bookRestoredReversals(deps.sql, orderNumber);
        await clearAlert(deps.sql, 'order_behind', orderNumber, 'the steps were recorded again');
      }),
  };
}

/**
 * Raises an alert when a normal activity fails: the local activity before it failed for 11 s, and
 * the order is blocked until the call succeeds.
 */
async function alertingOnFailure<Result>(
  deps: AlertDeps,
  orderNumber: string,
  call: () => Promise<Result>,
): Promise<Result> {
  const { isLocal, attempt } = activityInfo();
  if (isLocal) return call();
  try {
    const result = await call();
    if (attempt > 1)
      await clearAlert(deps.sql, 'step_not_recorded', orderNumber, 'the step was read or recorded');
    return result;
  } catch (error) {
    await raiseAlert(deps, {
      kind: 'step_not_recorded',
      subject: orderNumber,
      message: 'A step of this order cannot be read or recorded: the order is blocked',
      fields: { orderNumber },
      error,
    });
    throw error;
  }
}
