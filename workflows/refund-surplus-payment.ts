import { defineSignal, setHandler, startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { PaymentRef } from '../src/contracts/ids.ts';
import { REFUND_SURPLUS_WORKFLOW, refundWorkflowId, WAKE_SIGNAL } from '../src/contracts/ids.ts';
import { refundSurplus } from './activities.ts';

/**
 * Refunds a surplus capture, or refunds again a payment whose refund failed after it was made. It is a separate
 * workflow, because its order's workflow may have ended. The Signal `wake` makes it check once more, because the
 * refund may have failed since.
 */
export async function refundSurplusPayment(payment: PaymentRef): Promise<void> {
  let mustLook = true;
  setHandler(defineSignal(WAKE_SIGNAL), () => {
    mustLook = true;
  });
  while (mustLook) {
    mustLook = false;
    await refundSurplus(payment);
  }
}

/** Starts the refund from an order's workflow. It continues when that workflow ends. */
export async function startSurplusRefund(payment: PaymentRef): Promise<void> {
  try {
    await startChild(REFUND_SURPLUS_WORKFLOW, {
      workflowId: refundWorkflowId(payment),
      args: [payment],
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
