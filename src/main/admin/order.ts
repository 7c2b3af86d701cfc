import { markErased } from '../../orders/erased.ts';
import { findOrderAnywhere, findOrders } from '../../orders/lists/find-orders.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/operators/order-view.ts';
import type { Delivery, DeliveryAttempt } from '../../webhooks/lists/delivery-list.ts';
import { UsageError } from '../process/command-line.ts';
import type { AdminCommand } from './command.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, LIMIT, ORDER } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, list, moreHint, records, table, timeText } from './text.ts';

const findCommand = defineCommand({
  name: 'order find',
  summary: 'Find orders of any merchant, the newest first',
  notes:
    'At least one of the first six options is required; orders that match all options are shown.',
  options: {
    order: { value: 'N', help: 'The order number' },
    'merchant-order-id': { value: 'ID', help: "The merchant's own id of the order" },
    email: { value: 'EMAIL', help: "The buyer's email, in upper or lower case" },
    phone: { value: 'PHONE', help: "The buyer's phone, with or without +91" },
    utr: {
      value: 'UTR',
      help: "The payment's UTR, or the reference of a settlement outside the gateway",
    },
    reference: {
      value: 'ID',
      help: 'The reference of an error page (X-Request-Id); the id of a payment, refund, event or delivery',
    },
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
    limit: LIMIT,
  },
  async run({ sql }, { order, merchant, 'merchant-order-id': merchantOrderId, limit, ...filters }) {
    const { environment, ...buyer } = filters;
    const what = { ...buyer, orderNumber: order, merchantOrderId };
    if (Object.values(what).every((value) => value === undefined)) {
      throw new UsageError(
        'give --order, --merchant-order-id, --email, --phone, --utr or --reference',
      );
    }
    const search = { ...what, environment, merchantId: merchant };
    const data = await findOrders(sql, search, limit);
    const names = ['orderNumber', 'createdAt', 'status', 'amountPaise', 'buyerEmail'] as const;
    const others = ['buyerPhone', 'merchantOrderId', 'merchantId', 'environment'] as const;
    const orders = list(data.orders.map(markErased), [...names, ...others]);
    return { data, text: blocks(orders, moreHint(data.hasMore)) };
  },
});

const showCommand = defineCommand({
  name: 'order show',
  summary: 'Show what an order waits for, its money, disputes and webhooks',
  notes: `The workflow and its gateway calls come from Temporal; if Temporal cannot be reached, the rest is still shown.`,
  options: { order: ORDER },
  async run(service, { order: orderNumber }) {
    const order = await findOrderAnywhere(service.sql, orderNumber);
    const { readOrderView } = await import('../../payments/operators/order-view.ts');
    const shown = shownOf(await readOrderView(service.sql, order));
    const data = { ...shown, ...(await readWorkflows(service, order)) };
    return { data, text: textOf(data) };
  },
});

type ShownOrder = ReturnType<typeof shownOf> & OrderWorkflowsView;

/** The dashboard shows the lines of the ledger, and the details of each step. */
function shownOf(view: OrderView) {
  const { lines: _, earlier: _earlier, timeline, ...order } = view;
  const steps = timeline.map(({ kind, at, status, actor }) => ({ kind, at, status, actor }));
  return { ...order, timeline: steps };
}

/** The order's workflows and their unfinished gateway calls, or why Temporal cannot be read. */
async function readWorkflows(
  service: AdminService,
  { orderNumber }: OrderRow,
): Promise<OrderWorkflowsView> {
  const { temporalUiUrl, temporalNamespace } = service.config;
  const { readOrderWorkflows } = await import('../../payments/operators/order-view.ts');
  try {
    const deps = { ...(await inspectorDeps(service)), temporalUiUrl, temporalNamespace };
    return await readOrderWorkflows(deps, orderNumber);
  } catch (error) {
    return { workflows: [], gatewayCalls: [], temporalProblem: (error as Error).message };
  }
}

/** The dependencies for inspecting an order's workflows, loaded on demand. */
export async function inspectorDeps({ sql, temporal }: Pick<AdminService, 'sql' | 'temporal'>) {
  const { createWorkflowInspector } = await import('../../temporal/pending-activities.ts');
  return { sql, inspector: createWorkflowInspector(await temporal()) };
}

function textOf(order: ShownOrder): string {
  const { buyer, next, money, settledOutside, sessions, temporalProblem: problem } = order;
  const last = sessions.at(-1);
  const single = {
    ...order,
    buyer: [buyer.name, buyer.email, buyer.phone].filter(Boolean).join(', '),
    next: next && `${timeText(next.at)} ${next.action}`,
    refund: order.refund && {
      ...order.refund,
      processedAt: order.refund.processedAt ?? 'under way',
    },
    money: null,
    ...money,
    settledOutside: settledOutside && {
      ...settledOutside,
      checkedAt: settledOutside.checkedAt ?? 'not checked at the gateway',
    },
    paymentSessions: sessions.length,
    latestSession: last && `${last.sessionId} ${last.state}, until ${timeText(last.expiresAt)}`,
    temporalProblem: null,
  };
  return blocks(
    facts(single),
    records('Payment', order.payments),
    table(order.reversals),
    records('Dispute', order.disputes),
    problem === null ? workflowsText(order) : `Temporal cannot be read: ${problem}`,
    records('Gateway call', order.gatewayCalls),
    table(order.timeline),
    table(order.deliveries.map(deliveryRow), OF_DELIVERY),
  );
}

/** What a delivery's row shows below its order. */
const OF_DELIVERY = [
  'deliveryId',
  'event',
  'state',
  'attempts',
  'lastAttempt',
  'nextAttemptAt',
] as const;

function workflowsText({ workflows }: OrderWorkflowsView): string {
  const rows = workflows.map(({ workflowId, status, runId, link }) => ({
    workflowId,
    status,
    run: link ?? runId,
  }));
  return table(rows) || 'Temporal has no workflow of this order; it may have passed its retention.';
}

/** A delivery as a row of a table: its last attempt stands for all. */
export function deliveryRow({
  deliveryId,
  orderNumber,
  event,
  state,
  attempts,
  ...more
}: Delivery) {
  const last = attempts.at(-1);
  return {
    deliveryId,
    orderNumber,
    event,
    state,
    attempts: attempts.length,
    lastAttempt: last && `${timeText(last.at)} ${outcomeOf(last)}`,
    nextAttemptAt: more.nextAttemptAt,
  };
}

/** The result of an attempt: its error or status code. */
export const outcomeOf = ({ error, statusCode }: DeliveryAttempt) => String(error ?? statusCode);

/** The commands that look at orders. */
export const ORDER_COMMANDS: readonly AdminCommand[] = [findCommand, showCommand];
