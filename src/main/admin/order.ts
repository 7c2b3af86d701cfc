import { findOrderAnywhere } from '../../orders/lists/find-orders.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/operators/order-view.ts';
import { readOrderView, readOrderWorkflows } from '../../payments/operators/order-view.ts';
import type { Delivery, DeliveryAttempt } from '../../webhooks/lists/delivery-list.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand, ORDER } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, records, table, timeText } from './text.ts';

const showCommand = defineCommand({
  name: 'order show',
  summary: 'Show what an order waits for, its money, disputes and webhooks',
  notes: `The workflow and its gateway calls come from Temporal; if Temporal cannot be reached, the rest is still shown.`,
  options: { order: ORDER },
  async run(service, { order: orderNumber }) {
    const order = await findOrderAnywhere(service.sql, orderNumber);
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
export const ORDER_COMMANDS: readonly AdminCommand[] = [showCommand];
