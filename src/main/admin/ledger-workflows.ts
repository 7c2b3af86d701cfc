import type { LedgerFault } from '../../ledger/queries.ts';
import type { MissingWorkflow } from '../../orders/missing-workflows.ts';
import type { AdminService } from './service.ts';
import { isTemporalError, temporalLineOf } from './temporal-error.ts';

/** A Temporal that has lost everything misses every order: these are enough to see it. */
const MAX_NAMED = 100;

/** A Temporal that is away is known by then: a list may take longer. */
const ANSWER_TIMEOUT_MS = 5000;

/** The open orders beside Temporal: those without a workflow, as faults; or why nobody looked. */
export interface WorkflowComparison {
  comparedCount: number;
  faultCount: number;
  faults: LedgerFault[];
  /** One line. */
  notCompared: string | null;
  /** Temporal was asked, and did not answer. */
  failed: boolean;
}

const notCompared = (line: string, failed: boolean): WorkflowComparison => ({
  comparedCount: 0,
  faultCount: 0,
  faults: [],
  notCompared: `Open orders are not compared with Temporal. ${line}`,
  failed,
});

/** Looks for open orders without a workflow. A Temporal that is away is a line, and no error. */
export async function compareWithTemporal(service: AdminService): Promise<WorkflowComparison> {
  const { config, sql, log } = service;
  if (config.temporalAddress === undefined)
    return notCompared('TEMPORAL_ADDRESS is not set.', false);
  const [{ findMissingWorkflows }, { createOrderWorkflows }] = await Promise.all([
    import('../../orders/missing-workflows.ts'),
    import('../../temporal/order-workflows.ts'),
  ]);
  const client = await service.temporal();
  const workflows = createOrderWorkflows(client);
  try {
    await client.withDeadline(Date.now() + ANSWER_TIMEOUT_MS, () =>
      client.workflowService.getSystemInfo({}),
    );
    const { comparedCount, missingCount, missing } = await findMissingWorkflows(
      { sql, log, workflows },
      MAX_NAMED,
    );
    const faults = missing.map(faultOf);
    return { comparedCount, faultCount: missingCount, faults, notCompared: null, failed: false };
  } catch (error) {
    if (!isTemporalError(error)) throw error;
    return notCompared(temporalLineOf(error), true);
  }
}

function faultOf({ orderNumber, status, workflow }: MissingWorkflow): LedgerFault {
  const why = workflow === 'closed' ? 'its workflow has ended' : 'it has no workflow';
  const fault = `${status}, but ${why}: admin order recover brings it back`;
  return { rule: 'workflow', subject: orderNumber, fault };
}
