import type { AlertDeps } from '../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { OrderInput, OrderMessageName, OrderMessages } from '../contracts/order-workflow.ts';
import { isFinal } from '../domain/index.ts';
import type { FoundWorkflow, OrderWorkflows } from '../temporal/order-workflows.ts';
import { findOrderByNumber } from './find-orders.ts';
import { isUnstarted } from './insert-order.ts';
import type { OrderRow } from './rows.ts';

/** The dependencies of the recovery of orders. */
export interface RecoveryDeps extends AlertDeps {
  workflows: OrderWorkflows;
}

/** Makes the workflow's input from the row alone, so that any process can start the workflow. */
export function orderInputOf(order: OrderRow): OrderInput {
  return {
    orderNumber: order.orderNumber,
    merchantId: order.merchantId,
    amountPaise: order.amountPaise,
    createdAtMs: order.createdAt.getTime(),
    paymentLinkExpiresAtMs: order.paymentLinkExpiresAt.getTime(),
    terms: order.terms,
  };
}

/**
 * Reconciles an order's row with its workflow. Starts the workflow of an order that is not final and
 * has none, or signals the running one to compare itself with the row. If an ended workflow has steps
 * that the row lacks, the new workflow receives them and records them again.
 *
 * @returns `started`; `signalled` when the running workflow was signalled; `final` when the row is final and
 *   no workflow runs, so that there is nothing to do
 * @throws Error when the order has no row
 */
export async function recoverOrder(
  deps: RecoveryDeps,
  orderNumber: string,
): Promise<'started' | 'signalled' | 'final'> {
  const { workflows } = deps;
  const order = await findOrderByNumber(deps.sql, orderNumber);
  const found = await workflows.find(orderNumber);
  if (found.state === 'running') {
    if ((await workflows.catchUp(orderNumber)) === 'sent') return 'signalled';
    return recoverOrder(deps, orderNumber);
  }
  if (isFinal(order.status)) return 'final';
  // A process died before it started the workflow: the service recovers from that without an alert.
  const isExpected = await isUnstarted(deps.sql, orderNumber);
  if (!isExpected) await alertMissing(deps, order, found.state);
  await startAfter(workflows, order, found);
  if (!isExpected) await clearAlert(deps.sql, 'workflow_missing', orderNumber, 'recovery');
  return 'started';
}

/**
 * Starts the workflow of an order whose row says that none has begun, unless one runs. After a restore
 * one may run, or have ended, that has steps which the row lacks; they are compared with the row. A workflow that
 * waits for its first task is not signalled, because that task reads the row: under overload many wait.
 */
export async function startUnstarted(workflows: OrderWorkflows, order: OrderRow): Promise<void> {
  const found = await workflows.find(order.orderNumber);
  if (found.state !== 'running') await startAfter(workflows, order, found);
  else if (found.hasBegun) await workflows.catchUp(order.orderNumber);
}

/** Starts a workflow with the steps of the one that has ended, if its result has them. */
function startAfter(
  workflows: OrderWorkflows,
  order: OrderRow,
  ended: FoundWorkflow,
): Promise<void> {
  const earlier = ended.state === 'closed' ? ended.result?.run : undefined;
  return workflows.start({ ...orderInputOf(order), ...(earlier && { earlier }) });
}

/**
 * Sends a Signal to an order's workflow. Starts the workflow first if it is missing.
 *
 * @returns `gone` when the order is final and no workflow runs
 */
export async function signalOrder<Name extends OrderMessageName>(
  deps: RecoveryDeps,
  orderNumber: string,
  name: Name,
  message: OrderMessages[Name],
): Promise<'sent' | 'gone'> {
  const outcome = await deps.workflows.signal(orderNumber, name, message);
  if (outcome === 'sent' || (await recoverOrder(deps, orderNumber)) === 'final') return outcome;
  return deps.workflows.signal(orderNumber, name, message);
}

function alertMissing(
  deps: RecoveryDeps,
  { orderNumber, status }: OrderRow,
  state: 'closed' | 'missing',
): Promise<void> {
  const message = `The workflow of an order that is ${status} ${state === 'closed' ? 'has ended' : 'is missing'}: the service starts it again`;
  return raiseAlert(deps, {
    kind: 'workflow_missing',
    subject: orderNumber,
    message,
    fields: { orderNumber, status },
  });
}
