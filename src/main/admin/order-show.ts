import { findOrderAnywhere } from '../../orders/lists/find-orders.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { GatewayCall } from '../../payments/gateway/gateway-calls.ts';
import type { CapturedPayment } from '../../payments/operators/operator-queries.ts';
import type { OrderView, OrderWorkflowsView } from '../../payments/operators/order-view.ts';
import { defineCommand, ORDER } from './command.ts';
import { disputeText } from './dispute-list.ts';
import { inspectorDeps } from './order-retry.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, rupees, table, timeText } from './text.ts';

/** `order show` */
export const showCommand = defineCommand({
  name: 'order show',
  summary: 'Show everything about an order: what it waits for, its money, dispute and deliveries',
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

/** The ledger's lines are in `ledger show`, and the details of each step in the API's timeline. */
function shownOf(view: OrderView) {
  const { lines: _, timeline, ...order } = view;
  return { ...order, timeline: timeline.map(({ kind, at, status }) => ({ kind, at, status })) };
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

function textOf(order: ShownOrder): string {
  const { disputes, deliveries, timeline } = order;
  return blocks(
    headText(order),
    moneyText(order),
    ...disputes.map(disputeText),
    workflowText(order),
    table(
      ['AT', 'STEP', 'STATUS'],
      timeline.map((entry) => [timeText(entry.at), entry.kind, entry.status]),
    ),
    deliveries.length > 0 &&
      table(
        ['DELIVERY', 'EVENT', 'STATE', 'ATTEMPTS', 'NEXT'],
        deliveries.map(({ deliveryId, event, state, attempts, nextAttemptAt }) => [
          deliveryId,
          event,
          state,
          attempts.length,
          nextAttemptAt && timeText(nextAttemptAt),
        ]),
      ),
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
    'Waiting for': order.inWords ?? undefined,
    Next: next ? `${timeText(next.at)} ${next.action}` : undefined,
    'Dispute waiting since': order.waitingDisputeSince ?? undefined,
    Amount: `INR ${rupees(order.amountPaise)}`,
    Description: order.description,
    Buyer: [buyer.name, buyer.email, buyer.phone].filter(Boolean).join(', '),
    Refund: refund ? `INR ${rupees(refund.amountPaise)}, ${refund.reason}` : undefined,
    Refunded: refund ? (refund.processedAt ?? 'under way') : undefined,
    Created: order.createdAt,
    Changed: order.updatedAt,
  });
}

function moneyText({ payments, reversals, sessions, money, settledOutside }: ShownOrder): string {
  const rows = payments.map((payment) => [
    payment.gatewayPaymentId,
    payment.utr,
    rupees(payment.amountPaise),
    payment.capturedAt,
    gatewayStateText(payment),
  ]);
  const last = sessions.at(-1);
  return blocks(
    rows.length > 0 && table(['PAYMENT', 'UTR', 'INR', 'CAPTURED', 'AT THE GATEWAY'], rows),
    reversals.length > 0 &&
      table(
        ['AT THE GATEWAY', 'KIND', 'INR', 'STATE', 'RECORDED', 'ENDED'],
        reversals.map((one) => [
          one.reversalId,
          one.kind,
          rupees(one.amountPaise),
          one.state,
          one.recordedAt,
          one.endedAt,
        ]),
      ),
    facts({
      Held: `INR ${rupees(money.heldPaise)}`,
      Released: `INR ${rupees(money.releasedPaise)}`,
      Refunded: `INR ${rupees(money.refundedPaise)}`,
      'Surplus to refund': money.surplusPaise > 0 ? `INR ${rupees(money.surplusPaise)}` : undefined,
      'Settled outside': settledOutside
        ? `${[settledOutside.outcome, settledOutside.reference].filter(Boolean).join(', ')}, by ${settledOutside.actor}${settledOutside.checkedAt ? '' : ', not checked at the gateway'}: ${settledOutside.reason}`
        : undefined,
      'Payment sessions': sessions.length,
      'Latest session': last
        ? `${last.sessionId} ${last.state}, until ${timeText(last.expiresAt)}`
        : undefined,
    }),
  );
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
  return holdRefusedAt ? `the hold was refused ${timeText(holdRefusedAt)}` : 'not held yet';
}

function workflowText({ workflows, gatewayCalls, temporalProblem }: ShownOrder): string {
  if (temporalProblem !== null) return `Temporal cannot be read: ${temporalProblem}`;
  const rows = workflows.map(({ workflowId, runId, status, link }) => [
    workflowId,
    status,
    link ?? runId,
  ]);
  return blocks(
    rows.length > 0
      ? table(['WORKFLOW', 'STATE', 'RUN'], rows)
      : 'Temporal has no workflow of this order; it may have passed its retention.',
    gatewayCalls.length > 0 && callsText(gatewayCalls),
  );
}

function callsText(calls: readonly GatewayCall[]): string {
  const rows = calls.map((call) => [
    call.what,
    call.state,
    call.attempt,
    call.lastTriedAt,
    call.nextTryAt,
    call.lastError,
  ]);
  return table(['GATEWAY CALL', 'STATE', 'ATTEMPT', 'LAST TRY', 'NEXT TRY', 'LAST ERROR'], rows);
}
