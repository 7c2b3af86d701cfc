import { type PaymentRef, refundWorkflowId } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';
import type { PendingActivity, WorkflowInspector } from '../../temporal/pending-activities.ts';
import { gatewayCallsOf, within } from '../gateway/gateway-calls.ts';

/** Money that normally moves within seconds counts as stuck after this time. */
const STUCK_AFTER_MINUTES = 5;

export type StuckKind =
  | 'closing'
  | 'releasing'
  | 'refunding'
  | 'refunding_surplus'
  | 'refunding_again'
  | 'holding';

/** A movement of money, or the closing of a payment session, that takes longer than it should. */
export interface StuckMoney {
  kind: StuckKind;
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  amountPaise: number;
  /** When it was due or began. */
  since: Date;
  /** False for a release that is due but may not begin, for example because the merchant is not active. */
  hasBegun: boolean;
  /** The workflow that retries it. Null for a hold, which reconciliation retries. */
  workflowId: string | null;
  /** When the gateway last refused a hold. */
  refusedAt: Date | null;
}

type StuckRow = Omit<StuckMoney, 'workflowId'> & PaymentRef;

/**
 * Finds closings, releases, refunds (also repeated ones and those of surplus payments) and holds that have been in
 * progress for more than five minutes, the longest first.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function findStuckMoney(
  sql: Sql,
  limit: number,
): Promise<{ stuck: StuckMoney[]; hasMore: boolean }> {
  const most = limit + 1;
  const rows = await sql<StuckRow[]>`
    SELECT * FROM (
      (${pendingOperations(sql, most)}) UNION ALL (${dueReleases(sql, most)})
      UNION ALL (${surplusRefunds(sql, most)}) UNION ALL (${failedRefunds(sql, most)})
      UNION ALL (${holds(sql, most)})
    ) found ORDER BY since, order_number, kind LIMIT ${most}`;
  const stuck = rows.slice(0, limit).map(({ gateway, gatewayPaymentId, ...row }) => ({
    ...row,
    workflowId: workflowOf(row, { gateway, gatewayPaymentId }),
  }));
  return { stuck, hasMore: rows.length > limit };
}

function workflowOf(
  { kind, orderNumber }: Pick<StuckRow, 'kind' | 'orderNumber'>,
  payment: PaymentRef,
): string | null {
  if (kind === 'holding') return null;
  const isOrders = kind !== 'refunding_surplus' && kind !== 'refunding_again';
  return isOrders ? orderNumber : refundWorkflowId(payment);
}

/** A subquery, because an index cannot be searched for the result of a volatile function. */
const stuckSince = (sql: Sql) =>
  sql`(SELECT service_now() - ${STUCK_AFTER_MINUTES} * interval '1 minute')`;

function pendingOperations(sql: Sql, most: number) {
  return sql`
    SELECT pending_operation->>'kind' AS kind, order_number, merchant_id, environment, amount_paise,
      updated_at AS since, true AS has_begun, NULL::timestamptz AS refused_at, gateway,
      gateway_payment_id
    FROM shared.orders WHERE pending_operation IS NOT NULL AND updated_at < ${stuckSince(sql)}
    ORDER BY updated_at, order_number LIMIT ${most}`;
}

function dueReleases(sql: Sql, most: number) {
  return sql`
    SELECT 'releasing', order_number, merchant_id, environment, amount_paise, completes_at, false,
      NULL, gateway, gateway_payment_id
    FROM shared.orders
    WHERE completes_at < ${stuckSince(sql)} AND pending_operation IS NULL
    ORDER BY completes_at, order_number LIMIT ${most}`;
}

function surplusRefunds(sql: Sql, most: number) {
  return sql`
    SELECT 'refunding_surplus', s.order_number, o.merchant_id, o.environment, s.amount_paise,
      s.started_at, true, NULL, s.gateway, s.gateway_payment_id
    FROM surplus_refunds s JOIN shared.orders o USING (order_number)
    WHERE s.processed_at IS NULL AND s.started_at < ${stuckSince(sql)}
    ORDER BY s.started_at LIMIT ${most}`;
}

/** Refunds of orders that failed after they were made. */
function failedRefunds(sql: Sql, most: number) {
  return sql`
    SELECT 'refunding_again', o.order_number, o.merchant_id, o.environment, o.amount_paise,
      max(t.at), true, NULL::timestamptz, o.gateway, o.gateway_payment_id
    FROM shared.ledger_transfers t JOIN shared.orders o USING (order_number)
    WHERE t.operation = 'refund_failed' AND t.gateway_payment_id = o.gateway_payment_id
      AND has_failed_refund(o.status, o.refund_processed_at)
    GROUP BY o.order_number, o.merchant_id, o.environment, o.amount_paise, o.gateway, o.gateway_payment_id
    HAVING max(t.at) < ${stuckSince(sql)}
    ORDER BY max(t.at) LIMIT ${most}`;
}

function holds(sql: Sql, most: number) {
  return sql`
    SELECT 'holding', o.order_number, o.merchant_id, o.environment, o.amount_paise, p.captured_at,
      p.hold_started_at IS NOT NULL, p.hold_refused_at, p.gateway, p.gateway_payment_id
    FROM payments p JOIN shared.orders o ON o.order_number = p.order_number
      AND o.gateway = p.gateway AND o.gateway_payment_id = p.gateway_payment_id
    WHERE p.held_at IS NULL AND p.captured_at < ${stuckSince(sql)}
      AND o.status = ANY(${HOLDING_STATUSES}) AND o.pending_operation IS NULL
    ORDER BY p.captured_at LIMIT ${most}`;
}

/** Each needs a request to Temporal. A page shows no more. */
const MAX_INSPECTED = 10;

/** A page waits no longer for Temporal. */
const INSPECT_TIMEOUT_MS = 2000;

export type StuckCall =
  /** The call that is retried. */
  | Pick<PendingActivity, 'state' | 'attempt' | 'lastError' | 'lastTriedAt' | 'nextTryAt'>
  /**
   * `none`: the workflow runs and waits for no call to the gateway. `no_workflow`: there is no running
   * workflow, and the order needs to be recovered. `unknown`: Temporal was not asked, or could not be
   * reached in time.
   */
  | { state: 'none' | 'no_workflow' | 'unknown' };

/**
 * Asks Temporal for the state of stuck movements of money: at most the first ten, concurrently, for
 * at most two seconds. Never throws because of Temporal.
 */
export async function inspectStuck(
  inspector: WorkflowInspector,
  stuck: readonly StuckMoney[],
): Promise<(StuckMoney & { call: StuckCall })[]> {
  const callOf = async ({ workflowId }: StuckMoney, index: number): Promise<StuckCall> => {
    if (index >= MAX_INSPECTED || workflowId === null) return { state: 'unknown' };
    try {
      const inspected = inspector.inspect(workflowId, INSPECT_TIMEOUT_MS);
      const view = await within(inspected, INSPECT_TIMEOUT_MS);
      if (view?.status !== 'RUNNING') return { state: 'no_workflow' };
      return gatewayCallsOf([view])[0] ?? { state: 'none' };
    } catch {
      return { state: 'unknown' };
    }
  };
  return Promise.all(stuck.map(async (one, index) => ({ ...one, call: await callOf(one, index) })));
}
