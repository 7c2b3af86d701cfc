import { startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { REFUND_SURPLUS_WORKFLOW, refundWorkflowId } from '../src/contracts/ids.ts';
import { refundSurplus } from './activities.ts';

/** Refunds a surplus capture. Its order's workflow may have ended, so it is a separate workflow. */
export async function refundSurplusPayment(input: { gatewayPaymentId: string }): Promise<void> {
  await refundSurplus(input);
}

/** Starts the refund from an order's workflow; it continues when that workflow ends. */
export async function startSurplusRefund(gatewayPaymentId: string): Promise<void> {
  try {
    await startChild(REFUND_SURPLUS_WORKFLOW, {
      workflowId: refundWorkflowId(gatewayPaymentId),
      args: [{ gatewayPaymentId }],
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
