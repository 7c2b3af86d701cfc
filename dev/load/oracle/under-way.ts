import { randomUUID } from 'node:crypto';
import type { AlertKind } from '../../../src/alerts/kinds.ts';
import {
  COMPARE_GATEWAY_WORKFLOW,
  ORDER_WORKFLOW,
  SEND_MAIL_WORKFLOW,
  TASK_QUEUE,
} from '../../../src/contracts/ids.ts';
import type { Sql } from '../../../src/db/client.ts';
import { HOLDING_STATUSES, isFinal, ORDER_STATUSES } from '../../../src/domain/index.ts';
import { violation, type Violation } from './report.ts';
import { withOwner, withTemporal, type Allowed, type CheckedService } from './service.ts';

/** Alerts whose cause disappears without an operator: one that is still open at the end is a fault. */
const HEALED_BY_THE_END: readonly string[] = [
  'callback_not_understood',
  'clock_skew',
  'order_behind',
  'refund_failed',
  'step_not_recorded',
  'surplus_capture',
  'workflow_missing',
  'wrong_amount',
] satisfies AlertKind[];

/**
 * Reads the open alerts, without those about refused proposals: an operator reads and clears them.
 *
 * @returns whether one that may stay open names an order or a payment, and those that may not be open
 */
export async function readAlerts(sql: Sql, { alerts: mayBeOpen }: Allowed) {
  const alerts = await sql<{ kind: string; subject: string; message: string; names: string[] }[]>`
    SELECT kind, subject, details->>'message' AS message, ARRAY[subject, details->>'orderNumber',
      gateway_subject(details->>'gateway', details->>'gatewayPaymentId')] AS names
    FROM alerts WHERE cleared_at IS NULL
      AND NOT (kind = 'proposal_not_carried_out' AND subject IN (SELECT proposal_id FROM proposals WHERE outcome <> 'done'))`;
  const isForOperators = ({ kind }: { kind: string }) =>
    mayBeOpen === true && !HEALED_BY_THE_END.includes(kind);
  // Without its row no step of an order can be recorded; the gateway may refuse its surplus refund permanently.
  const explaining = alerts
    .filter(({ kind }) => kind === 'order_without_row' || kind === 'gateway_refused')
    .map(({ subject }) => subject);
  const named = new Set(alerts.filter(isForOperators).flatMap(({ names }) => names));
  return {
    isAbout: (subject: string) => named.has(subject),
    violations: alerts
      .filter((one) => !isForOperators(one) && !(mayBeOpen && explaining.includes(one.subject)))
      .map(({ kind, subject, message }) =>
        violation('alert', subject, `the alert ${kind} is open: ${message}`),
      ),
  };
}

/**
 * What is still under way, or will be: operations at the gateway, deadlines that have passed, deliveries,
 * captures that no order has applied, refunds of surplus, holds, mails, workflows other than those of open orders,
 * and alerts that may not stay.
 */
export async function underWay(service: CheckedService, allowed: Allowed): Promise<Violation[]> {
  const { rows, open, alerts } = await withOwner(service, async (sql) => ({
    rows: await readUnderWay(sql),
    open: await sql<{ orderNumber: string }[]>`
      SELECT order_number FROM orders WHERE status <> ALL(${ORDER_STATUSES.filter(isFinal)})`,
    alerts: await readAlerts(sql, allowed),
  }));
  const waiting = new Set(open.map(({ orderNumber }) => orderNumber));
  const found = [...rows, ...(await otherWorkflows(service, waiting))].filter(
    ({ what }) => what !== 'holds' || allowed.isOpen !== true,
  );
  return [
    ...alerts.violations,
    ...found
      .filter(({ subject, about }) => ![subject, about ?? ''].some(alerts.isAbout))
      .map(({ what, subject }) => violation('under way', subject, what)),
  ];
}

interface Item {
  readonly what: string;
  readonly subject: string;
  /** The payment. */
  readonly about?: string | null;
}

async function readUnderWay(sql: Sql): Promise<Item[]> {
  return sql<Item[]>`
    SELECT 'pending operations' AS what, order_number AS subject, NULL AS about FROM orders
      WHERE pending_operation IS NOT NULL
    UNION ALL SELECT 'waiting disputes', order_number, NULL FROM orders
      WHERE waiting_dispute_id IS NOT NULL
    UNION ALL SELECT 'passed deadlines', order_number, NULL FROM orders_with_dispute
      WHERE pending_operation IS NULL AND (
        (status = 'ACCEPTED' AND payment_link_expires_at < service_now())
        OR (status = 'DELIVERED' AND completes_at < service_now())
        OR (status IN ('DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW') AND dispute_respond_by < service_now()))
    UNION ALL SELECT 'orders to wake', order_number, NULL FROM wakeups
    UNION ALL SELECT 'deliveries', e.order_number, NULL FROM webhook_deliveries
      JOIN order_events e USING (event_id) WHERE state = 'PENDING'
    UNION ALL SELECT 'unapplied captures', order_number, gateway_subject(gateway, gateway_payment_id)
      FROM payments p WHERE is_whole AND NOT EXISTS (
        SELECT FROM ledger_transfers t WHERE t.gateway = p.gateway AND t.operation = 'capture'
          AND t.gateway_payment_id = p.gateway_payment_id)
    UNION ALL SELECT 'reported payments', order_number, gateway_subject(gateway, gateway_payment_id)
      FROM unconfirmed_callbacks WHERE order_number IS NOT NULL
    UNION ALL SELECT 'surplus refunds', p.order_number, gateway_subject(p.gateway, p.gateway_payment_id)
      FROM surplus_refunds s JOIN payments p USING (gateway, gateway_payment_id)
      WHERE processed_at IS NULL
    UNION ALL SELECT 'refunds to make again', order_number, NULL FROM orders o
      WHERE has_failed_refund(o.status, o.refund_processed_at)
    UNION ALL SELECT 'holds', order_number, gateway_subject(p.gateway, p.gateway_payment_id)
      FROM payments p JOIN orders o USING (order_number)
      WHERE p.held_at IS NULL AND o.gateway_payment_id = p.gateway_payment_id
        AND o.status = ANY(${HOLDING_STATUSES})
    UNION ALL SELECT 'mails', 'SMTP_URL', NULL FROM mails WHERE sealed IS NOT NULL`;
}

/** Workflows that should end by themselves: all but those of open orders. */
async function otherWorkflows(service: CheckedService, open: ReadonlySet<string>): Promise<Item[]> {
  return withTemporal(service, async ({ workflow }) => {
    const items: Item[] = [];
    for await (const { type, workflowId } of workflow.list({
      query: 'ExecutionStatus = "Running"',
    })) {
      if (type === ORDER_WORKFLOW && open.has(workflowId)) continue;
      // What alerts call it.
      const subject =
        type === SEND_MAIL_WORKFLOW ? 'SMTP_URL' : workflowId.replace(/^refund-(\w+)-/, '$1:');
      items.push({ what: 'other workflows', subject });
    }
    return items;
  });
}

/** Compares every payment with the gateway, as the Schedule does once a day. */
export async function compareWithGateway(service: CheckedService): Promise<void> {
  const options = { workflowId: `compare-${randomUUID()}`, taskQueue: TASK_QUEUE };
  await withTemporal(service, ({ workflow }) =>
    workflow.execute(COMPARE_GATEWAY_WORKFLOW, options),
  );
}
