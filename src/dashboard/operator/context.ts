import type { AmountRule, ProposalDeps } from '../../proposals/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { WorkflowInspector } from '../../temporal/pending-activities.ts';

/** What the operators' pages call. */
export interface OperatorPageDeps extends ProposalDeps, AmountRule {
  inspector: WorkflowInspector;
  retries: DeliveryRetries;
  temporalNamespace: string;
  /** Temporal's Web UI; without it workflows are named, but not linked. */
  temporalUiUrl?: string | undefined;
}

/** The rows of a list on a page. */
export const ROWS_PER_PAGE = 25;
