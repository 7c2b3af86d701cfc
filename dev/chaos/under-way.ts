import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HOLDING_STATUSES } from '../../src/domain/index.ts';
import { COMPARE_GATEWAY_WORKFLOW, ORDER_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { CheckedService } from './check-everything.ts';
import { withOwner, withTemporal } from './check-everything.ts';

const LOOK_EVERY_MS = 2000;

/** What is still under way, by name; empty once nothing is. */
type UnderWay = Record<string, number>;

/**
 * Waits until nothing is under way: operations at the gateway, deadlines that have passed, deliveries,
 * captures that no order has applied, refunds of surplus, holds, and workflows other than those of open
 * orders; and until no alert is open.
 *
 * @returns what is still under way when the time is up
 */
export async function untilNothingIsUnderWay(
  service: CheckedService,
  withinMs: number,
  log: (line: string) => void,
): Promise<UnderWay> {
  const endsAt = performance.now() + withinMs;
  let latest = '';
  for (;;) {
    const left = await underWay(service).catch(unanswered);
    const text = Object.entries(left)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
    if (text === '' || performance.now() > endsAt) return left;
    if (text !== latest) log(`under way: ${text}`);
    latest = text;
    await delay(LOOK_EVERY_MS);
  }
}

/** A server that has just been started again may not answer yet. */
const unanswered = (error: unknown): UnderWay => ({
  [`servers without an answer (${String(error)})`]: 1,
});

async function underWay(service: CheckedService): Promise<UnderWay> {
  const counts = await withOwner(service, async (sql) => {
    const [row] = await sql<UnderWay[]>`
      SELECT
        (SELECT count(*) FROM orders WHERE pending_operation IS NOT NULL)::integer
          AS "pending operations",
        (SELECT count(*) FROM orders WHERE waiting_dispute_id IS NOT NULL)::integer
          AS "waiting disputes",
        (SELECT count(*) FROM orders_with_dispute WHERE pending_operation IS NULL AND (
          (status = 'ACCEPTED' AND payment_link_expires_at < service_now())
          OR (status = 'DELIVERED' AND completes_at < service_now())
          OR (status IN ('DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW')
            AND dispute_respond_by < service_now())))::integer AS "passed deadlines",
        (SELECT count(*) FROM wakeups)::integer AS "orders to wake",
        (SELECT count(*) FROM webhook_deliveries WHERE state = 'PENDING')::integer AS "deliveries",
        (SELECT count(*) FROM payments p WHERE is_whole AND NOT EXISTS (
          SELECT FROM ledger_transfers t WHERE t.gateway = p.gateway AND t.operation = 'capture'
            AND t.gateway_payment_id = p.gateway_payment_id))::integer AS "unapplied captures",
        (SELECT count(*) FROM surplus_refunds WHERE processed_at IS NULL)::integer
          AS "surplus refunds",
        (SELECT count(*) FROM orders o WHERE has_failed_refund(o))::integer
          AS "refunds to make again",
        (SELECT count(*) FROM payments p JOIN orders o USING (order_number)
          WHERE p.held_at IS NULL AND o.gateway_payment_id = p.gateway_payment_id
            AND o.status = ANY(${HOLDING_STATUSES}))::integer AS "holds",
        (SELECT count(*) FROM mails WHERE sealed IS NOT NULL)::integer AS "mails",
        (SELECT count(*) FROM alerts WHERE cleared_at IS NULL)::integer AS "open alerts"`;
    return row ?? {};
  });
  const workflows = await otherWorkflows(service);
  return Object.fromEntries(
    Object.entries({ ...counts, 'other workflows': workflows }).filter(([, count]) => count > 0),
  );
}

/** Workflows that should end by themselves: all but those of orders. */
async function otherWorkflows(service: CheckedService): Promise<number> {
  const query = `ExecutionStatus = 'Running' AND WorkflowType != '${ORDER_WORKFLOW}'`;
  return withTemporal(service, async ({ workflow }) => (await workflow.count(query)).count);
}

/** Compares every payment with the gateway, as the Schedule does once a day. */
export async function compareWithGateway(service: CheckedService): Promise<void> {
  const options = { workflowId: `compare-${randomUUID()}`, taskQueue: TASK_QUEUE };
  await withTemporal(service, ({ workflow }) =>
    workflow.execute(COMPARE_GATEWAY_WORKFLOW, options),
  );
}
