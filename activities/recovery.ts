import type { RecoveryActivities } from '../src/contracts/activities.ts';
import { clearAlert, raiseAlert } from '../src/alerts/alerts.ts';
import type { CaptureDeps } from '../src/payments/captures/captures.ts';
import { recoverCapture } from '../src/payments/reconcile/recover-payments.ts';
import type { RecordStep } from './record.ts';
import { alertingOnFailure } from './record.ts';

/** The activity that rewrites the steps that a restored database has lost. */
export function createRecoveryActivities(
  deps: CaptureDeps,
  recordStep: RecordStep,
): RecoveryActivities {
  return {
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
          const result = await recordStep({
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
        await clearAlert(deps.sql, 'order_behind', orderNumber, 'the steps were recorded again');
      }),
  };
}
