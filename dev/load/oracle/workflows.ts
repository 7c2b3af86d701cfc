import { defineSearchAttributeKey } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { ORDER_WORKFLOW } from '../../../src/contracts/ids.ts';
import type { OrderResult } from '../../../src/contracts/order-workflow.ts';
import { isFinal } from '../../../src/domain/index.ts';
import { recordedSteps } from '../../temporal/recorded-steps.ts';
import { inParallel } from '../in-parallel.ts';
import { subjectOf, violation, type Report, type Violation } from './report.ts';
import type { ComparedOrder } from './rows.ts';
import type { Compared } from './compared.ts';
import { withTemporal } from './service.ts';

const ORDERS_AT_ONCE = 16;
const STATUS = defineSearchAttributeKey('OrderStatus', 'KEYWORD');

/**
 * The workflow of each order: closed with the row's status and step number if the status is final, and
 * otherwise running with them. No other workflow still runs.
 */
export function compareWorkflows(compared: Compared): Promise<Report> {
  return withTemporal(compared.service, (temporal) => compareIn(temporal, compared));
}

async function compareIn(
  temporal: Client,
  { rows: { orders }, allowed: { missingWorkflows = false } }: Compared,
): Promise<Report> {
  const violations: Violation[] = [];
  const counts = { 'closed workflows': 0, 'running workflows': 0 };
  await inParallel(orders.values(), ORDERS_AT_ONCE, async (row) => {
    const fault = await faultOf(temporal, row, missingWorkflows);
    if (fault) violations.push(violation('workflow', row.orderNumber, fault));
    else counts[isFinal(row.status) ? 'closed workflows' : 'running workflows'] += 1;
  });
  const others = temporal.workflow.list({ query: 'ExecutionStatus = "Running"' });
  for await (const { workflowId, type } of others) {
    const row = orders.get(workflowId);
    if (type === ORDER_WORKFLOW && row && !isFinal(row.status)) continue;
    const fault = `the workflow ${type} still runs, and has nothing to wait for`;
    violations.push(violation('workflow', workflowId, fault, [subjectOf({ workflowId, type })]));
  }
  return { counts, violations };
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
