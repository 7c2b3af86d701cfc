import { setTimeout as delay } from 'node:timers/promises';
import { refundWorkflowId } from '../../contracts/ids.ts';
import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';
import { findOrderAnywhere } from '../../orders/public.ts';
import type {
  PendingActivity,
  TryOutcome,
  WorkflowInspector,
  WorkflowView,
} from '../../temporal/pending-activities.ts';
import { listCapturedPayments } from '../operators/operator-queries.ts';

/** Longer than the 10 s time-out of one gateway call, shorter than five such calls. */
const WAIT_MS = 20_000;

/** For each activity that calls the gateway until it succeeds, a description for operators. */
const GATEWAY_CALLS: Readonly<Record<string, string>> = {
  releaseFunds: 'release of the funds',
  refundPayment: 'refund of the buyer',
  refundSurplus: 'refund of a payment that the order could not take, or of one that has failed',
  closePaymentSession: 'closing of the payment session',
};

export interface GatewayCallDeps {
  sql: Sql;
  inspector: WorkflowInspector;
}

/** A pending activity that calls the gateway and has not succeeded yet. */
export interface GatewayCall extends PendingActivity {
  /** A description for operators, such as `refund of the buyer`. */
  what: string;
}

/** @throws Error after `timeoutMs`, because the deadline of a call does not cover a failing connection */
export async function within<Result>(call: Promise<Result>, timeoutMs: number): Promise<Result> {
  const late = delay(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`Temporal has not answered within ${timeoutMs / 1000} s`);
  });
  return Promise.race([call, late]);
}

/** Finds the workflows of the order and of its surplus refunds, if Temporal has them. */
export async function inspectOrder(
  { sql, inspector }: GatewayCallDeps,
  orderNumber: string,
  timeoutMs?: number,
): Promise<WorkflowView[]> {
  const payments = await listCapturedPayments(sql, orderNumber);
  const refunds = payments.filter(
    ({ isOrders, isWhole, refundedAt, isRefundedAgain }) =>
      isRefundedAgain || (!isOrders && isWhole && refundedAt === null),
  );
  const workflowIds = [orderNumber, ...refunds.map((payment) => refundWorkflowId(payment))];
  const views = await Promise.all(workflowIds.map((id) => inspector.inspect(id, timeoutMs)));
  return views.filter((view) => view !== null);
}

export function gatewayCallsOf(workflows: readonly WorkflowView[]): GatewayCall[] {
  return workflows.flatMap(({ pending }) =>
    pending.flatMap((activity) => {
      const what = GATEWAY_CALLS[activity.activityType];
      return what === undefined ? [] : [{ ...activity, what }];
    }),
  );
}

/** A retried call, and the result of its attempt if it is known. */
export type RetriedCall = GatewayCall & { result: TryOutcome };

/**
 * Retries every waiting gateway call of an order immediately, and waits for the results. The audit row is written
 * first, so that every requested retry is recorded.
 *
 * @param waitMs how long it waits for results; 20 s if absent
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`; `INVALID_STATE` when nothing waits
 */
export async function retryGatewayCalls(
  deps: GatewayCallDeps & { actor: Actor },
  orderNumber: string,
  reason: string,
  waitMs = WAIT_MS,
): Promise<RetriedCall[]> {
  if (reason.trim() === '' || reason.length > 1000) {
    throw new DomainError('BAD_REQUEST', 'The reason must be 1 to 1000 characters and not blank');
  }
  const order = await findOrderAnywhere(deps.sql, orderNumber);
  const workflows = await inspectOrder(deps, orderNumber);
  const calls = gatewayCallsOf(workflows);
  const waiting = calls.filter(({ state }) => state === 'waiting' || state === 'paused');
  if (waiting.length === 0) {
    const why = whyNothingWaits(order, workflows, calls);
    throw new DomainError('INVALID_STATE', `Nothing to retry: ${why}`);
  }
  await auditRetry(deps, order, reason, waiting);
  return Promise.all(
    waiting.map(async (call) => ({ ...call, result: await deps.inspector.tryNow(call, waitMs) })),
  );
}

async function auditRetry(
  { sql, actor }: GatewayCallDeps & { actor: Actor },
  { merchantId, orderNumber }: OrderRow,
  reason: string,
  waiting: readonly GatewayCall[],
): Promise<void> {
  const calls = waiting.map(({ workflowId, activityType, attempt, lastError }) => ({
    workflowId,
    activityType,
    attempt,
    lastError,
  }));
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
    VALUES (${actor.name}, ${actor.address}, 'order.retry', ${merchantId}, ${orderNumber}, ${sql.json({ reason, calls })})`;
}

function whyNothingWaits(
  { orderNumber, pendingOperation }: OrderRow,
  workflows: readonly WorkflowView[],
  [call]: readonly GatewayCall[],
): string {
  if (call?.state === 'running') return `the ${call.what} is being tried right now`;
  if (call) return `the ${call.what} is due now, and no worker has taken it: is one running?`;
  const isRunning = workflows.some(
    ({ workflowId, status }) => workflowId === orderNumber && status === 'RUNNING',
  );
  if (pendingOperation && !isRunning)
    return `order ${orderNumber} is ${pendingOperation.kind}, but has no workflow`;
  return `order ${orderNumber} waits for no call to the gateway`;
}
