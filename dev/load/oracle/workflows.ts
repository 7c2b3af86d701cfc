import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { OrderResult } from '../../../src/contracts/order-workflow.ts';
import { isFinal } from '../../../src/domain/index.ts';
import { recordedSteps } from '../../temporal/recorded-steps.ts';
import { inParallel } from '../in-parallel.ts';
import type { ComparedOrder } from './replay.ts';
import { violation, type Violation } from './report.ts';
import { withTemporal, type Allowed, type CheckedService } from './service.ts';

const ORDERS_AT_ONCE = 16;
const STATUS = defineSearchAttributeKey('OrderStatus', 'KEYWORD');

/**
 * The workflow of each order: closed with the row's status and step number if the status is final, and otherwise running
 * with them. That no other workflow still runs is in `under-way.ts`.
 */
export const workflowViolations = (
  service: CheckedService,
  orders: readonly ComparedOrder[],
  allowed: Allowed,
): Promise<Violation[]> =>
  withTemporal(service, async (temporal) => {
    const violations: Violation[] = [];
    await inParallel(orders, ORDERS_AT_ONCE, async (row) => {
      const fault = await faultOf(temporal, row, allowed);
      if (fault === undefined) return;
      violations.push(violation('workflow', row.orderNumber, `is ${row.status}, ${fault}`));
    });
    return violations;
  });

/** How the workflow of an order differs from its row; undefined if it does not. */
async function faultOf(
  temporal: Client,
  { orderNumber, status, stepNumber }: ComparedOrder,
  { missingWorkflows = false }: Allowed,
): Promise<string | undefined> {
  const handle = temporal.workflow.getHandle(orderNumber);
  const isClosed = isFinal(status);
  try {
    const { status: execution, typedSearchAttributes } = await handle.describe();
    if (execution.name !== (isClosed ? 'COMPLETED' : 'RUNNING')) {
      return `its workflow ${execution.name}`;
    }
    const { state } = isClosed
      ? ((await handle.result()) as OrderResult).run
      : {
          state: {
            status: typedSearchAttributes.get(STATUS),
            stepNumber: recordedSteps(await handle.fetchHistory()).at(-1)?.number ?? 1,
          },
        };
    const isSame = state.status === status && state.stepNumber === stepNumber;
    const found = `its workflow ${state.status} at step ${state.stepNumber}`;
    return isSame ? undefined : `at step ${stepNumber}, ${found}`;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return missingWorkflows && isClosed ? undefined : 'and has no workflow';
  }
}
