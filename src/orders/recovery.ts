import type { AlertDeps } from '../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { OrderInput, OrderMessageName, OrderMessages } from '../contracts/order-workflow.ts';
import { isFinal } from '../domain/index.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import { findOrderByNumber } from './find-orders.ts';
import { isUnstarted } from './insert-order.ts';
import type { OrderRow } from './rows.ts';

export interface RecoveryDeps extends AlertDeps {
  workflows: OrderWorkflows;
}

/** The workflow's input, made of nothing but the row, so that anyone can start it. */
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
 * Brings an order's row and workflow together: starts the workflow of an order that is not final and
 * has none, or tells the one that runs to compare itself with the row. A workflow that has ended
 * further than the row hands its steps to the new one, which writes them again.
 *
 * @returns `final` when the row is final and no workflow runs: there is nothing to do
 * @throws Error when the order has no row
 */
export async function recoverOrder(
  deps: RecoveryDeps,
  orderNumber: string,
): Promise<'started' | 'told' | 'final'> {
  const { workflows } = deps;
  const order = await findOrderByNumber(deps.sql, orderNumber);
  const found = await workflows.find(orderNumber);
  if (found.state === 'running') {
    if ((await workflows.catchUp(orderNumber)) === 'sent') return 'told';
    return recoverOrder(deps, orderNumber);
  }
  if (isFinal(order.status)) return 'final';
  // A process that died before it could start the workflow is nothing that an operator must know.
  const isExpected = await isUnstarted(deps.sql, orderNumber);
  if (!isExpected) await alertMissing(deps, order, found.state);
  const earlier = found.state === 'closed' ? found.result?.run : undefined;
  await workflows.start({ ...orderInputOf(order), ...(earlier && { earlier }) });
  if (!isExpected) await clearAlert(deps.sql, 'workflow_missing', orderNumber, 'recovery');
  return 'started';
}

/**
 * Leaves a message for an order, whose workflow is started first if it is missing.
 *
 * @returns `gone` when the order is over
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
  const message = `The workflow of an order that is ${status} ${state === 'closed' ? 'has ended' : 'is missing'}: it is started again`;
  return raiseAlert(deps, {
    kind: 'workflow_missing',
    subject: orderNumber,
    message,
    fields: { orderNumber, status },
  });
}
