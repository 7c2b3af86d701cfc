import { activityInfo } from '@temporalio/activity';
import type {
  OrderRecord,
  RecordActivities,
  RecordStepInput,
  RecordStepResult,
} from '../src/contracts/activities.ts';
import { clearAlert, raiseAlert, type AlertDeps } from '../src/alerts/alerts.ts';
import { alertWithoutRow } from '../src/orders/lost-orders.ts';
import { readOrder } from '../src/orders/record-step.ts';
import type { RecoveryDeps } from '../src/orders/recovery.ts';
import { sendPendingWebhooks } from '../src/orders/unsent-webhooks.ts';
import type { FirstAttempts } from '../src/webhooks/first-attempts.ts';

/** The dependencies of the activities that read and write an order. */
export interface RecordDeps extends RecoveryDeps {
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
}

/** The local activities by which a workflow reads and writes its order. */
export function createRecordActivities(
  deps: RecordDeps,
  firstAttempts: FirstAttempts,
): RecordActivities {
  return {
    readOrder: ({ orderNumber, afterStep }) =>
      alertingOnFailure(deps, orderNumber, async () => {
        const record = await readOrder(deps.sql, { orderNumber, afterStep });
        if (!record) {
          await alertWithoutRow(deps, orderNumber, 'runs');
          return null;
        }
        const { isNew, ...known } = record;
        return isNew ? withFirstAttempts(firstAttempts, known) : known;
      }),
    recordStep: (input) =>
      alertingOnFailure(deps, input.orderNumber, async () => {
        const result = await deps.recordStep(input);
        if (result.outcome !== 'recorded') return result;
        const { recorded } = result;
        if (!input.answersUpdate)
          return { ...result, recorded: await withFirstAttempt(firstAttempts, recorded) };
        // An Update returns without waiting for the merchant's endpoint.
        const { deliveryId } = recorded;
        const handOver = () => sendPendingWebhooks(deps, input.orderNumber);
        if (deliveryId === null || !(await firstAttempts.attemptDirectly(deliveryId, handOver)))
          return result;
        return { ...result, recorded: { ...recorded, deliveryId: null } };
      }),
  };
}

/**
 * Raises an alert when a normal activity fails: the local activity before it failed for 11 s, and
 * the order is blocked until the call succeeds.
 */
export async function alertingOnFailure<Result>(
  deps: AlertDeps,
  orderNumber: string,
  call: () => Promise<Result>,
): Promise<Result> {
  const { isLocal, attempt } = activityInfo();
  if (isLocal) return call();
  try {
    const result = await call();
    if (attempt > 1) await clearAlert(deps.sql, 'step_not_recorded', orderNumber, 'worker');
    return result;
  } catch (error) {
    await raiseAlert(deps, {
      kind: 'step_not_recorded',
      subject: orderNumber,
      message: 'A step of this order cannot be recorded: the order is blocked',
      fields: { orderNumber },
      error,
    });
    throw error;
  }
}

/** Makes the first attempt of a step's webhook. If it fails, the workflow sends the delivery. */
export async function withFirstAttempt<Recorded extends { deliveryId: string | null }>(
  firstAttempts: FirstAttempts,
  recorded: Recorded,
): Promise<Recorded> {
  const { deliveryId } = recorded;
  if (deliveryId === null || !(await firstAttempts.attempt(deliveryId))) return recorded;
  return { ...recorded, deliveryId: null };
}

/** Makes the first attempt of each webhook of a new order. */
async function withFirstAttempts(
  firstAttempts: FirstAttempts,
  record: OrderRecord,
): Promise<OrderRecord> {
  const deliveries: OrderRecord['deliveries'] = [];
  for (const delivery of record.deliveries) {
    if (!(await firstAttempts.attempt(delivery.deliveryId))) deliveries.push(delivery);
  }
  return { ...record, deliveries };
}
