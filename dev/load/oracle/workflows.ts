import { defineSearchAttributeKey } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { ORDER_WORKFLOW } from '../../../src/contracts/ids.ts';
import type { OrderResult } from '../../../src/contracts/order-workflow.ts';
import { isFinal } from '../../../src/domain/index.ts';
import { recordedSteps } from '../../temporal/recorded-steps.ts';
import { subjectOf, type Violation } from './report.ts';
import type { ComparedOrder, Rows } from './rows.ts';
import type { Allowed } from './service.ts';

const ORDERS_AT_ONCE = 16;
const STATUS = defineSearchAttributeKey('OrderStatus', 'KEYWORD');

/**
 * The workflow of each order: closed with the row's status and step number if the status is final, and
 * otherwise running with them. No other workflow still runs.
 */
export async function workflowViolations(
  temporal: Client,
  { orders }: Rows,
  { missingWorkflows = false }: Allowed,
): Promise<{ closed: number; running: number; violations: Violation[] }> {
  const violations: Violation[] = [];
  const counts = { closed: 0, running: 0 };
  const queue = orders.values();
  const compare = async () => {
    for (const row of queue) {
      const fault = await faultOf(temporal, row, missingWorkflows);
      if (fault) violations.push({ check: 'workflow', subject: row.orderNumber, fault });
      else counts[isFinal(row.status) ? 'closed' : 'running'] += 1;
    }
  };
  await Promise.all(Array.from({ length: ORDERS_AT_ONCE }, compare));
  const others = temporal.workflow.list({ query: 'ExecutionStatus = "Running"' });
  for await (const { workflowId, type } of others) {
    const row = orders.get(workflowId);
    if (type === ORDER_WORKFLOW && row && !isFinal(row.status)) continue;
    const fault = `the workflow ${type} still runs, and has nothing to wait for`;
    const about = [subjectOf({ workflowId, type })];
    violations.push({ check: 'workflow', subject: workflowId, fault, about });
  }
  return { ...counts, violations };
}

async function faultOf(
  temporal: Client,
  row: ComparedOrder,
  mayLackClosed: boolean,
): Promise<string | undefined> {
  const { orderNumber, status, stepNumber } = row;
  const handle = temporal.workflow.getHandle(orderNumber);
  try {
    const { status: execution, typedSearchAttributes } = await handle.describe();
    const expected = `${status} at step ${stepNumber}`;
    if (isFinal(status)) {
      if (execution.name !== 'COMPLETED') return `is ${expected}, its workflow ${execution.name}`;
      const { run } = (await handle.result()) as OrderResult;
      const found = `${run.state.status} at step ${run.state.stepNumber}`;
      return found === expected ? undefined : `is ${expected}, its workflow ended ${found}`;
    }
    if (execution.name !== 'RUNNING') return `is ${expected}, its workflow ${execution.name}`;
    const steps = recordedSteps(await handle.fetchHistory());
    const found = `${typedSearchAttributes.get(STATUS)} at step ${steps.at(-1)?.number ?? 1}`;
    return found === expected ? undefined : `is ${expected}, its workflow ${found}`;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return mayLackClosed && isFinal(status) ? undefined : `is ${status}, and has no workflow`;
  }
}
