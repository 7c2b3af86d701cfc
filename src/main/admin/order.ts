import { DomainError } from '../../domain/index.ts';
import { findOrderAnywhere } from '../../orders/find-order.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/operators/order-view.ts';
import { readOrderView, readOrderWorkflows } from '../../payments/operators/order-view.ts';
import { eraseBuyer, findOrdersOfBuyer } from '../../privacy/erase-buyer.ts';
import type { Erasure } from '../../privacy/erase-order.ts';
import { eraseOrder } from '../../privacy/erase-order.ts';
import type { WorkflowInspector } from '../../temporal/pending-activities.ts';
import type { Delivery, DeliveryAttempt } from '../../webhooks/lists/delivery-list.ts';
import { defineCommand, ORDER, REASON, YES } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, records, table, timeText } from './text.ts';

export const ORDER_COMMANDS = {
  'order show': defineCommand({
    summary: 'Show what an order waits for, its money, disputes and webhooks',
    notes: `The workflow and its gateway calls come from Temporal; if Temporal cannot be reached, the rest is still shown.`,
    options: { order: ORDER },
    async run(service, { order: orderNumber }) {
      const order = await findOrderAnywhere(service.sql, orderNumber);
      const shown = shownOf(await readOrderView(service.sql, order));
      const { temporalUiUrl, temporalNamespace } = service.config;
      const deps = { ...inspectorDeps(service), temporalUiUrl, temporalNamespace };
      const data = { ...shown, ...(await readOrderWorkflows(deps, orderNumber)) };
      return { data, text: textOf(data) };
    },
  }),
};

type ShownOrder = ReturnType<typeof shownOf> & OrderWorkflowsView;

/** The dashboard shows the lines of the ledger, and the details of each step. */
function shownOf(view: OrderView) {
  const { lines: _, earlier: _earlier, timeline, ...order } = view;
  const steps = timeline.map(({ kind, at, status, actor }) => ({ kind, at, status, actor }));
  return { ...order, timeline: steps };
}

/** The dependencies for inspecting an order's workflows. The first call of the inspector connects to Temporal. */
export function inspectorDeps({ sql, temporal }: Pick<AdminService, 'sql' | 'temporal'>) {
  const opened = async () => {
    const { createWorkflowInspector } = await import('../../temporal/pending-activities.ts');
    return createWorkflowInspector(await temporal());
  };
  const inspector: WorkflowInspector = {
    inspect: async (...asked) => (await opened()).inspect(...asked),
    tryNow: async (...asked) => (await opened()).tryNow(...asked),
  };
  return { sql, inspector };
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
    table(order.deliveries.map(deliveryRow)),
  );
}

function workflowsText({ workflows }: OrderWorkflowsView): string {
  const rows = workflows.map(({ runId, link, ...of }) => ({ ...of, run: link ?? runId }));
  return table(rows) || 'Temporal has no workflow of this order; it may have passed its retention.';
}

/** A delivery as a row of a table: its last attempt stands for all. */
export function deliveryRow({ deliveryId, event, state, attempts, nextAttemptAt }: Delivery) {
  const last = attempts.at(-1);
  const lastAttempt = last && `${timeText(last.at)} ${outcomeOf(last)}`;
  return { deliveryId, event, state, attempts: attempts.length, lastAttempt, nextAttemptAt };
}

/** The result of an attempt: its error or status code. */
export const outcomeOf = ({ error, statusCode }: DeliveryAttempt) => String(error ?? statusCode);

const WHY = { ...REASON, help: "Why, for the audit log, without the buyer's data" } as const;

const FOREVER = 'The data cannot be brought back, and the webhooks cannot be sent again.';

const WHAT_STAYS = `Ids, amounts, times, the ledger and the audit log stay. Refused while the data is needed: unless the order
is final, its webhooks have settled, no money of it moves and no alert of it is open.`;

const OUTCOMES = {
  erased: 'Erased.',
  erased_before: 'It was erased before: nothing was left.',
} as const;

export const ERASE_COMMANDS = {
  'order erase': defineCommand({
    summary: "Erase the buyer's data of a final order, at the buyer's request",
    notes: `${WHAT_STAYS} On a terminal it asks for confirmation.`,
    options: { order: ORDER, reason: WHY, yes: YES },
    async run({ sql, actor, confirm }, { order: orderNumber, reason, yes }) {
      await confirm(yes, async () => {
        const { status, merchantId } = await findOrderAnywhere(sql, orderNumber);
        return blocks(facts({ Order: orderNumber, Status: status, Merchant: merchantId }), FOREVER);
      });
      const { outcome, reasons } = await eraseOrder({ sql, actor }, orderNumber, reason);
      if (outcome === 'refused') {
        const why = reasons.join('; ');
        throw new DomainError('INVALID_STATE', `Order ${orderNumber} cannot be erased: ${why}`);
      }
      return { data: { orderNumber, outcome }, text: OUTCOMES[outcome] };
    },
  }),
  'buyer erase': defineCommand({
    summary: "Erase a buyer's data in all orders of the buyer, at the buyer's request",
    notes: `${WHAT_STAYS} The other orders are listed with the reason:
run it again when they are final. Exit 1 if there is one. On a terminal it asks for confirmation.`,
    options: {
      email: { value: 'EMAIL', help: "The buyer's e-mail, in upper or lower case", required: true },
      phone: { value: 'PHONE', help: 'Also the orders with this phone number' },
      reason: WHY,
      yes: YES,
    },
    async run({ sql, actor, confirm }, { reason, yes, ...buyer }) {
      await confirm(yes, async () => {
        const found = await findOrdersOfBuyer(sql, buyer);
        return blocks(`Orders of this buyer: ${found.length}`, found.join('\n'), FOREVER);
      });
      const orders = await eraseBuyer({ sql, actor }, buyer, reason);
      const countOf = (outcome: Erasure['outcome']) =>
        orders.filter((order) => order.outcome === outcome).length;
      const data = { erased: countOf('erased'), refused: countOf('refused'), orders };
      const list = table(orders.map((order) => ({ ...order, reasons: order.reasons.join('; ') })));
      const summary = `${data.erased} erased, ${data.refused} refused.`;
      return { data, text: blocks(list, summary), failed: data.refused > 0 };
    },
  }),
};
