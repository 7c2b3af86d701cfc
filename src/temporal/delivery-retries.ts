import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { ManualAttemptResult } from '../contracts/activities.ts';
import {
  RESEND_DELIVERIES_WORKFLOW,
  resendWorkflowId,
  RETRY_DELIVERY_WORKFLOW,
  retryWorkflowId,
  TASK_QUEUE,
} from '../contracts/ids.ts';
import { CALL_TIMEOUT_MS, isDeadlineExceeded } from './client.ts';

/** Starts the `retryDelivery` and `resendDeliveries` workflows. */
export interface DeliveryRetries {
  /**
   * Retries a delivery and waits for the result.
   *
   * @returns `running` also while an earlier retry of this delivery runs; `started` when the attempt has not ended
   * within `waitMs`, and continues
   */
  retry(deliveryId: string, waitMs: number): Promise<ManualAttemptResult | { outcome: 'started' }>;
  startResend(resendId: string): Promise<void>;
}

export function createDeliveryRetries(client: Client): DeliveryRetries {
  return {
    async retry(deliveryId, waitMs) {
      const workflowId = retryWorkflowId(deliveryId);
      try {
        await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.start(RETRY_DELIVERY_WORKFLOW, {
            workflowId,
            taskQueue: TASK_QUEUE,
            args: [{ deliveryId }],
            workflowIdConflictPolicy: 'FAIL',
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            staticSummary: `Manual retry of ${deliveryId}`,
          }),
        );
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return { outcome: 'running' };
        throw error;
      }
      return resultWithin(client, workflowId, waitMs);
    },

    async startResend(resendId) {
      await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
        client.workflow.start(RESEND_DELIVERIES_WORKFLOW, {
          workflowId: resendWorkflowId(resendId),
          taskQueue: TASK_QUEUE,
          args: [{ resendId }],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `Resend ${resendId}`,
        }),
      );
    },
  };
}

async function resultWithin(
  client: Client,
  workflowId: string,
  waitMs: number,
): Promise<ManualAttemptResult | { outcome: 'started' }> {
  try {
    return await client.withDeadline(Date.now() + waitMs, () =>
      client.workflow.result<() => Promise<ManualAttemptResult>>(workflowId),
    );
  } catch (error) {
    if (isDeadlineExceeded(error)) return { outcome: 'started' };
    throw error;
  }
}
