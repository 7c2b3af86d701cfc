import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import type {
  OrderInput,
  OrderMessageName,
  OrderMessages,
} from '../../contracts/order-workflow.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import { isFinal } from '../../domain/index.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';
import type { OrderRow } from '../rows.ts';

export interface WakeDeps extends AlertDeps {
  workflows: OrderWorkflows;
}

/** The columns from which a workflow's input is made. */
type OrderStart = Pick<
  OrderRow,
  'orderNumber' | 'merchantId' | 'amountPaise' | 'createdAt' | 'paymentLinkExpiresAt' | 'terms'
>;

/** Makes the workflow's input from the row alone, so that any process can start the workflow. */
export function orderInputOf(order: OrderStart): OrderInput {
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
 * Makes an order's workflow read the row. It signals a workflow that runs; otherwise it starts one, unless the row
 * is final and every webhook has ended. A workflow that has ended may have steps that a restored database lacks: the
 * new one takes them over and records them again.
 *
 * @returns `final` when there is nothing to do
 * @throws Error when the order has neither a row nor a running workflow
 */
export async function wakeOrder(
  deps: WakeDeps,
  orderNumber: string,
): Promise<'signalled' | 'started' | 'final'> {
  const { sql, workflows } = deps;
  // Asks Temporal before it reads the row, because the order and its workflow may end in between.
  const found = await workflows.find(orderNumber);
  if (found.state === 'running') {
    // A first task that has not started will read the row. Under overload many orders wait for it, and signals would
    // delay them further.
    if (!found.hasBegun || (await workflows.wake(orderNumber)) === 'sent') return 'signalled';
    return wakeOrder(deps, orderNumber);
  }
  const { isNew, hasPendingWebhooks, ...order } = await findOrderToWake(sql, orderNumber);
  const isOpen = !isFinal(order.status);
  if (!isOpen && !hasPendingWebhooks) return 'final';
  // No alert if a process died before it started the workflow.
  if (isOpen && !isNew) await alertMissing(deps, order, found.state);
  const earlier = found.state === 'closed' ? found.result?.run : undefined;
  await workflows.start({ ...orderInputOf(order), ...(earlier && { earlier }) });
  return 'started';
}

/**
 * Sends a Signal to an order's workflow. Starts the workflow first if it is missing.
 *
 * @returns `gone` when the order is final and no workflow runs
 */
export async function signalOrder<Name extends OrderMessageName>(
  deps: WakeDeps,
  orderNumber: string,
  name: Name,
  message: OrderMessages[Name],
): Promise<'sent' | 'gone'> {
  const outcome = await deps.workflows.signal(orderNumber, name, message);
  if (outcome === 'sent' || (await wakeOrder(deps, orderNumber)) === 'final') return outcome;
  return deps.workflows.signal(orderNumber, name, message);
}

type OrderToWake = OrderStart & {
  status: OrderStatus;
  /** True if no workflow of the order has begun. */
  isNew: boolean;
  hasPendingWebhooks: boolean;
};

async function findOrderToWake(sql: Sql, orderNumber: string): Promise<OrderToWake> {
  const [row] = await sql<OrderToWake[]>`
    SELECT o.order_number, o.merchant_id, o.amount_paise, o.created_at, o.payment_link_expires_at,
      o.terms, o.status,
      EXISTS (SELECT FROM order_wakeups w
        WHERE w.order_number = o.order_number AND w.cause = 'creation') AS is_new,
      EXISTS (SELECT FROM shared.order_events e JOIN shared.webhook_deliveries d USING (event_id)
        WHERE e.order_number = o.order_number AND d.state = 'PENDING') AS has_pending_webhooks
    FROM orders o WHERE o.order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

function alertMissing(
  deps: WakeDeps,
  { orderNumber, status }: Pick<OrderRow, 'orderNumber' | 'status'>,
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
