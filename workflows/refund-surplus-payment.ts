import { startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { REFUND_SURPLUS_WORKFLOW, refundWorkflowId } from '../src/contracts/ids.ts';
import { refundSurplus } from './activities.ts';

/** A workflow of its own, because the order that cannot take this capture may be over. */
export async function refundSurplusPayment(input: { gatewayPaymentId: string }): Promise<void> {
  await refundSurplus(input);
}

/** Starts it from an order's workflow, which it outlives; what is true it finds in the database. */
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
