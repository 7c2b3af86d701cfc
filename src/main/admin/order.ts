import { markErased } from '../../orders/erased.ts';
import { findOrderAnywhere, findOrders } from '../../orders/lists/find-orders.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { DisputeEnding, DisputeRecord } from '../../orders/steps/disputes.ts';
import type { CapturedPayment } from '../../payments/operators/operator-queries.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/operators/order-view.ts';
import { UsageError } from '../process/command-line.ts';
import type { AdminCommand } from './command.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, LIMIT, ORDER } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, inr, list, moreHint, quoted, rupees, table, timeText } from './text.ts';

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
    const orders = list(data.orders.map(markErased), {
      ORDER: (one) => one.orderNumber,
      CREATED: (one) => one.createdAt,
      STATUS: (one) => one.status,
      INR: (found) => rupees(found.amountPaise),
      'E-MAIL': (one) => one.buyerEmail,
      PHONE: (one) => one.buyerPhone,
      "MERCHANT'S ID": (one) => one.merchantOrderId,
      MERCHANT: (one) => one.merchantId,
      ENVIRONMENT: (one) => one.environment,
    });
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
  return blocks(
    headText(order),
    moneyText(order),
    ...order.disputes.map(disputeText),
    workflowText(order),
    table(order.timeline, {
      AT: ({ at }) => timeText(at),
      STEP: ({ kind }) => kind,
      STATUS: ({ status }) => status,
      BY: ({ actor }) => actor,
    }),
    table(order.deliveries, {
      DELIVERY: ({ deliveryId }) => deliveryId,
      EVENT: ({ event }) => event,
      STATE: ({ state }) => state,
      ATTEMPTS: ({ attempts }) => attempts.length,
      'LAST ANSWER': ({ attempts }) => attempts.at(-1)?.error ?? attempts.at(-1)?.statusCode,
      NEXT: ({ nextAttemptAt }) => nextAttemptAt && timeText(nextAttemptAt),
    }),
  );
}

function headText(order: ShownOrder): string {
  const { next, refund, buyer } = order;
  return facts({
    Order: order.orderNumber,
    'Merchant order id': order.merchantOrderId ?? undefined,
    Merchant: `${order.merchantId} (${order.environment})`,
    Gateway: order.gateway,
    Status: order.status,
    'Pending operation': order.doing ?? undefined,
    Now: order.inWords ?? undefined,
    Next: next ? `${timeText(next.at)} ${next.action}` : undefined,
    'Dispute waiting since': order.waitingDisputeSince ?? undefined,
    Amount: inr(order.amountPaise),
    Description: order.description,
    Buyer: [buyer.name, buyer.email, buyer.phone].filter(Boolean).join(', '),
    Refund: refund ? `${inr(refund.amountPaise)}, ${refund.reason}` : undefined,
    Refunded: refund ? (refund.processedAt ?? 'under way') : undefined,
    Created: order.createdAt,
    Changed: order.updatedAt,
  });
}

function moneyText(order: ShownOrder): string {
  const { money, sessions } = order;
  const last = sessions.at(-1);
  return blocks(
    table(order.payments, {
      PAYMENT: (payment) => payment.gatewayPaymentId,
      UTR: (payment) => payment.utr,
      INR: (payment) => rupees(payment.amountPaise),
      CAPTURED: (payment) => payment.capturedAt,
      'AT THE GATEWAY': gatewayStateText,
    }),
    table(order.reversals, {
      REVERSAL: (one) => one.reversalId,
      KIND: (one) => one.kind,
      INR: (one) => rupees(one.amountPaise),
      STATE: (one) => one.state,
      RECORDED: (one) => one.recordedAt,
      ENDED: (one) => one.endedAt,
    }),
    facts({
      Held: inr(money.heldPaise),
      Released: inr(money.releasedPaise),
      Refunded: inr(money.refundedPaise),
      'Surplus to refund': money.surplusPaise > 0 ? inr(money.surplusPaise) : undefined,
      'Settled outside': settlementText(order),
      'Payment sessions': sessions.length,
      'Latest session': last
        ? `${last.sessionId} ${last.state}, until ${timeText(last.expiresAt)}`
        : undefined,
    }),
  );
}

function settlementText({ settledOutside }: ShownOrder): string | undefined {
  if (!settledOutside) return undefined;
  const { outcome, reference, actor, checkedAt, reason } = settledOutside;
  const what = [outcome, reference].filter(Boolean).join(', ');
  return `${what}, by ${actor}${checkedAt ? '' : ', not checked at the gateway'}: ${reason}`;
}

function gatewayStateText(payment: CapturedPayment): string {
  const { surplusReason, refundedAt, heldAt, holdRefusedAt, isWhole } = payment;
  if (!isWhole) {
    const { currency, refundedPaise } = payment;
    return `not usable for the order: ${currency}, ${rupees(refundedPaise)} refunded at the gateway`;
  }
  if (surplusReason !== null) {
    return `${surplusReason}, ${refundedAt ? `refunded ${timeText(refundedAt)}` : 'not refunded yet'}`;
  }
  if (heldAt) return `held ${timeText(heldAt)}`;
  return holdRefusedAt ? `the hold was refused ${timeText(holdRefusedAt)}` : 'not held';
}

function workflowText({ workflows, gatewayCalls, temporalProblem }: ShownOrder): string {
  if (temporalProblem !== null) return `Temporal cannot be read: ${temporalProblem}`;
  return blocks(
    table(workflows, {
      WORKFLOW: ({ workflowId }) => workflowId,
      STATE: ({ status }) => status,
      RUN: ({ link, runId }) => link ?? runId,
    }) || 'Temporal has no workflow of this order; it may have passed its retention.',
    table(gatewayCalls, {
      'GATEWAY CALL': (call) => call.what,
      STATE: (call) => call.state,
      ATTEMPT: (call) => call.attempt,
      'LAST TRY': (call) => call.lastTriedAt,
      'NEXT TRY': (call) => call.nextTryAt,
      'LAST ERROR': (call) => call.lastError,
    }),
  );
}

const ENDINGS = {
  resolved_by_merchant: 'resolved by the merchant',
  decided_for_merchant: 'decided for the merchant',
  decided_for_buyer: 'decided for the buyer, who is refunded',
  accepted_by_merchant: 'accepted by the merchant: the buyer is refunded',
  settled_by_operator: 'ended by an operator, who settled the order',
  not_resolved_in_time: 'not resolved in time: the buyer is refunded',
} as const satisfies Record<DisputeEnding, string>;

/** One dispute as text: its state, reason, evidence, resolution and decision. */
export function disputeText(dispute: DisputeRecord): string {
  const { number, raisedAt, raisedBy, reason, evidence, evidenceAt, resolution } = dispute;
  const by = raisedBy === 'buyer' ? '' : `, by ${raisedBy} for the buyer`;
  return [
    `Dispute ${number}: ${endText(dispute)}`,
    `The buyer, ${timeText(raisedAt)}${by}:`,
    quoted(reason),
    ...(evidenceAt ? [`The merchant, ${timeText(evidenceAt)}:`, quoted(evidence ?? '')] : []),
    ...(resolution === null ? [] : ['The merchant, to resolve it:', quoted(resolution)]),
    ...decisionLines(dispute),
  ].join('\n');
}

function endText({ ending, endedAt }: DisputeRecord): string {
  if (ending === null) return 'not decided yet';
  return `${ENDINGS[ending]} (${endedAt ? timeText(endedAt) : 'under way'})`;
}

function decisionLines({ decision }: DisputeRecord): string[] {
  if (!decision) return [];
  const { for: winner, actor, reason } = decision;
  return [`Decided for the ${winner}${actor === null ? '' : ` by ${actor}`}:`, quoted(reason)];
}

/** The commands that look at orders. */
export const ORDER_COMMANDS: readonly AdminCommand[] = [findCommand, showCommand];
