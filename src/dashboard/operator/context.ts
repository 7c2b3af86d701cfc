import type { Logger } from 'pino';
import type { Sql } from '../../db/client.ts';
import type { Gateways } from '../../payments/public.ts';
import type { OrderCommands } from '../../orders/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { WorkflowInspector } from '../../temporal/pending-activities.ts';

/** What the operators' pages call. */
export interface OperatorPageDeps {
  sql: Sql;
  log: Logger;
  commands: OrderCommands;
  workflows: OrderWorkflows;
  /** To read what the gateway has moved of an order's payment. */
  gateways: Gateways;
  inspector: WorkflowInspector;
  retries: DeliveryRetries;
  temporalNamespace: string;
  /** Temporal's Web UI; without it workflows are named, but not linked. */
  temporalUiUrl?: string | undefined;
}

/** The rows of a list on a page. */
export const ROWS_PER_PAGE = 25;
