import type { Sql } from '../../db/client.ts';
import type { UnappliedCapture } from '../../domain/index.ts';
import { UNAPPLIED, WAITING } from '../../domain/index.ts';
import { showLedger } from '../../ledger/public.ts';
import type { OrderRow, TimelinePlace } from '../../orders/public.ts';
import {
  ERASED,
  findUnappliedState,
  markErased,
  presentToOperator,
  readDisputes,
  readTimeline,
} from '../../orders/public.ts';
import type { WorkflowView } from '../../temporal/pending-activities.ts';
import { listDeliveries } from '../../webhooks/public.ts';
import type { GatewayCall, GatewayCallDeps } from '../gateway/gateway-calls.ts';
import { gatewayCallsOf, inspectOrder, within } from '../gateway/gateway-calls.ts';
import {
  findOutsideSettlement,
  listCapturedPayments,
  listPaymentSessions,
  listReversals,
  MOST_LISTED,
} from './operator-queries.ts';

/** An order has at most nine events, and a few more for each dispute and failed payment. */
const MAX_DELIVERIES = 100;

export type OrderView = Awaited<ReturnType<typeof readOrderView>>;

/**
 * Reads what the database has about an order, for operators: the latest rows of each kind.
 *
 * @param before only entries before this place in the timeline
 */
export async function readOrderView(sql: Sql, order: OrderRow, before?: TimelinePlace) {
  const { orderNumber } = order;
  const [part, unapplied, payments, reversals, sessions, ledger, outside, disputes, deliveries] =
    await Promise.all([
      readTimeline(sql, orderNumber, { before }),
      findUnappliedState(sql, orderNumber),
      listCapturedPayments(sql, orderNumber),
      listReversals(sql, orderNumber),
      listPaymentSessions(sql, orderNumber),
      showLedger(sql, orderNumber),
      findOutsideSettlement(sql, orderNumber),
      readDisputes(sql, orderNumber),
      listDeliveries(sql, { orderNumber }, MAX_DELIVERIES),
    ]);
  const { doing, next, entries } = presentToOperator(order, part, unapplied);
  return {
    ...presentRow(order),
    doing,
    inWords: doing === null ? inWordsOf(order, unapplied) : null,
    next,
    waitingDisputeSince: order.waitingDisputeReceivedAt,
    payments,
    reversals,
    sessions,
    money: moneyOf(ledger.balances),
    lines: ledger.lines.slice(-MOST_LISTED),
    settledOutside: outside,
    disputes,
    timeline: entries,
    earlier: part.earlier,
    deliveries,
  };
}

function inWordsOf({ status }: OrderRow, unapplied: UnappliedCapture | null): string {
  const waiting = WAITING[status];
  return unapplied === null ? waiting : `${waiting} But ${UNAPPLIED[unapplied]}.`;
}

function presentRow(row: OrderRow) {
  const order = markErased(row);
  return {
    orderNumber: order.orderNumber,
    merchantId: order.merchantId,
    environment: order.environment,
    gateway: order.gateway,
    merchantOrderId: order.merchantOrderId,
    status: order.status,
    amountPaise: order.amountPaise,
    description: order.description,
    buyer:
      order.erasedAt === null
        ? { email: order.buyerEmail, phone: order.buyerPhone, name: order.buyerName }
        : { email: '', phone: '', name: ERASED },
    erasedAt: order.erasedAt,
    createdAt: order.createdAt,
    updatedAt: order.updatedAt,
    refund:
      order.refundAmountPaise === null
        ? null
        : {
            amountPaise: order.refundAmountPaise,
            reason: order.refundReason,
            processedAt: order.refundProcessedAt,
          },
  };
}

/** The balances of the order's money, surplus payments included. */
function moneyOf(balances: readonly { account: string; balancePaise: number }[]) {
  const paiseOn = (account: string) =>
    balances.find((balance) => balance.account === account)?.balancePaise ?? 0;
  return {
    heldPaise: paiseOn('merchant_held'),
    releasedPaise: paiseOn('merchant_available'),
    refundedPaise: paiseOn('refunds'),
    surplusPaise: paiseOn('surplus'),
  };
}

/** A workflow of an order, with the URL of its page in the Temporal UI. */
export interface LinkedWorkflow extends Omit<WorkflowView, 'pending'> {
  /** Null if no Temporal UI is configured. */
  link: string | null;
}

/** What Temporal has about an order, or why it cannot be read. */
export interface OrderWorkflowsView {
  workflows: LinkedWorkflow[];
  gatewayCalls: GatewayCall[];
  /** One line. Null if Temporal was read. */
  temporalProblem: string | null;
}

export interface WorkflowViewDeps extends GatewayCallDeps {
  temporalNamespace: string;
  temporalUiUrl?: string | undefined;
}

/**
 * Reads the order's workflows and their unfinished gateway calls. Never throws because of Temporal.
 *
 * @param timeoutMs how long to wait for Temporal; 4.5 s for each call if absent
 */
export async function readOrderWorkflows(
  { temporalUiUrl, temporalNamespace, ...deps }: WorkflowViewDeps,
  orderNumber: string,
  timeoutMs?: number,
): Promise<OrderWorkflowsView> {
  try {
    const inspected = inspectOrder(deps, orderNumber, timeoutMs);
    const found = await (timeoutMs === undefined ? inspected : within(inspected, timeoutMs));
    const workflows = found.map(({ workflowId, runId, status }) => ({
      workflowId,
      runId,
      status,
      link: temporalUiUrl
        ? `${temporalUiUrl}/namespaces/${temporalNamespace}/workflows/${workflowId}/${runId}`
        : null,
    }));
    return { workflows, gatewayCalls: gatewayCallsOf(found), temporalProblem: null };
  } catch (error) {
    return { workflows: [], gatewayCalls: [], temporalProblem: (error as Error).message };
  }
}
