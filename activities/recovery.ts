import type { RecoveryActivities } from '../src/contracts/activities.ts';
import { clearAlert, raiseAlert } from '../src/alerts/alerts.ts';
import type { CaptureDeps } from '../src/payments/captures.ts';
import { recoverCapture } from '../src/payments/recover-capture.ts';
import type { RecordDeps } from './record.ts';
import { alertingOnFailure } from './record.ts';

/** The dependencies of the recovery activity. */
export type RecoveryDeps = RecordDeps & CaptureDeps;

/** The activity that rewrites the steps that a restored database has lost. */
export function createRecoveryActivities(deps: RecoveryDeps): RecoveryActivities {
  return {
    rewriteSteps: ({ orderNumber, steps }) =>
      alertingOnFailure(deps, orderNumber, async () => {
        await raiseAlert(deps, {
          kind: 'order_behind',
          subject: orderNumber,
          message: 'The database has lost steps that the workflow of the order has',
          fields: { orderNumber, steps: steps.map(({ step }) => step.kind).join(', ') },
        });
        const deliveries = [];
        for (const { step, commandId, payment } of steps) {
          if (payment !== null) await recoverCapture(deps, orderNumber, payment);
          const result = await deps.recordStep({
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
          const { deliveryId } = result.recorded;
          if (deliveryId !== null) deliveries.push({ deliveryId, kind: step.kind });
        }
        await clearAlert(deps.sql, 'order_behind', orderNumber, 'worker');
        return { deliveries };
      }),
  };
}
