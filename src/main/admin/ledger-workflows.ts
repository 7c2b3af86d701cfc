import type { LedgerFault } from '../../ledger/queries.ts';
import type { Difference } from '../../orders/wake/compare-orders.ts';
import type { AdminService } from './service.ts';
import { isTemporalError, temporalLineOf } from './temporal-error.ts';

/** The maximum number of faults listed: if Temporal has lost its data, every order has one. */
const MAX_NAMED = 100;

/** The timeout of the check whether Temporal is reachable; listing may take longer. */
const ANSWER_TIMEOUT_MS = 5000;

/** The open orders without a running workflow, as faults; or why they were not compared. */
export interface WorkflowComparison {
  comparedCount: number;
  faultCount: number;
  faults: LedgerFault[];
  /** Why the orders were not compared, in one line; null if they were. */
  notCompared: string | null;
  /** True if Temporal is configured and unreachable. */
  failed: boolean;
}

const notCompared = (line: string): WorkflowComparison => ({
  comparedCount: 0,
  faultCount: 0,
  faults: [],
  notCompared: `Open orders are not compared with Temporal. ${line}`,
  failed: false,
});

/**
 * Finds open orders without a running workflow. An unreachable Temporal is reported, not thrown.
 */
export async function compareWithTemporal(service: AdminService): Promise<WorkflowComparison> {
  const { config, sql, log } = service;
  if (config.temporalAddress === undefined) return notCompared('TEMPORAL_ADDRESS is not set.');
  const [{ listDifferences }, { createOrderWorkflows }] = await Promise.all([
    import('../../orders/wake/compare-orders.ts'),
    import('../../temporal/order-workflows.ts'),
  ]);
  const client = await service.temporal();
  const workflows = createOrderWorkflows(client);
  try {
    await client.withDeadline(Date.now() + ANSWER_TIMEOUT_MS, () =>
      client.workflowService.getSystemInfo({}),
    );
    const { compared, differences } = await listDifferences({ sql, log, workflows });
    const faults = differences.flatMap(faultsOf);
    return {
      comparedCount: compared,
      faultCount: faults.length,
      faults: faults.slice(0, MAX_NAMED),
      notCompared: null,
      failed: false,
    };
  } catch (error) {
    if (!isTemporalError(error)) throw error;
    return { ...notCompared(temporalLineOf(error)), failed: true };
  }
}

/** Another status is no fault: the workflow may be recording a step at this moment. */
function faultsOf(difference: Difference): LedgerFault[] {
  const { orderNumber: subject, kind } = difference;
  if (kind !== 'missing' && kind !== 'closed') return [];
  const why = kind === 'closed' ? 'its workflow has ended' : 'it has no workflow';
  const fault = `${difference.status}, but ${why}: run admin order recover`;
  return [{ rule: 'workflow', subject, fault }];
}
