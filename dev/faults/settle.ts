import { checkWhenQuiet } from '../load/oracle/check-everything.ts';
import { untilRight, type Report } from '../load/oracle/report.ts';
import { compareWithGateway, underWay } from '../load/oracle/under-way.ts';
import { untilDone } from '../load/simulator.ts';
import { allowedIn, recoverAll, type Disturbed } from './faults.ts';
import type { Run } from './run.ts';

/** The service waits up to ten minutes before it attempts a delivery to an endpoint that was full. */
const ALL_DONE_WITHIN_MS = 15 * 60_000;
const REFUNDS_MADE_WITHIN_MS = 60_000;

const ACT_EVERY_LOOKS = 15;
const MOST_RETRIED = 5;
/** The service checks a session for the last time an hour after its end: the clock is moved by this much. */
const ADVANCE_MS = 10 * 60_000;
const MOST_ADVANCES = 15;

/**
 * Waits until everything is over, compares it with the gateway, and checks it. If the outcome is open, it acts as
 * operators do meanwhile, and moves the clock.
 */
export async function reportAtTheEnd(
  disturbed: Disturbed,
  log: (line: string) => void,
): Promise<Report> {
  const { run } = disturbed;
  const checked = run.checked();
  const allowed = allowedIn(disturbed);
  if (run.deps.outcome === 'open') {
    // Repeated after a restore: Temporal's list of workflows lags behind, also for those that have just closed.
    await recoverAll(run);
    await untilDone(async () => {
      if (await hasRunningDeadline(run)) throw new Error('A deadline of some seconds still runs');
    });
    const compare = () => untilDone(() => compareWithGateway(checked));
    await compare();
    return checkWhenQuiet(checked, run.deps.memory, allowed, {
      withinMs: ALL_DONE_WITHIN_MS,
      log,
      async between(looks) {
        const aheadMs = (looks + 1) * ADVANCE_MS;
        if (looks < MOST_ADVANCES) await untilDone(() => moveClock(run, aheadMs));
        if (looks % ACT_EVERY_LOOKS < ACT_EVERY_LOOKS - 1) return;
        // As it is made every day: it alerts about refunds at the gateway itself that have failed.
        await compare();
        await untilDone(() => retryWaiting(run));
      },
    });
  }
  // The first comparison finds what a callback that was lost would have said, such as a refund that failed; the next
  // one clears the alert about it, which stays open meanwhile.
  for (const withinMs of [ALL_DONE_WITHIN_MS, REFUNDS_MADE_WITHIN_MS]) {
    const look = async () => ({ counts: {}, violations: await underWay(checked, allowed) });
    await untilRight(look, { withinMs, log });
    await compareWithGateway(checked);
  }
  return checkWhenQuiet(checked, run.deps.memory, allowed, { withinMs: ALL_DONE_WITHIN_MS, log });
}

/** Moves the database's clock forward, by which reconciliation checks sessions. */
const moveClock = ({ withSql }: Run, aheadMs: number) =>
  withSql((sql) =>
    sql.unsafe(`
      CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
      AS 'SELECT clock_timestamp() + interval ''${aheadMs} milliseconds'''`),
  );

/** True while a deadline of some seconds runs: if the clock were moved, it would be handled late, and extended. */
async function hasRunningDeadline({ withSql }: Run): Promise<boolean> {
  const rows = await withSql(
    (sql) => sql`
      SELECT FROM orders o WHERE pending_operation IS NULL AND (status::text LIKE 'DISPUTE%'
        OR (status = 'DELIVERED' AND release_tried_for IS DISTINCT FROM completes_at
          AND NOT is_reversed(o.gateway, o.gateway_payment_id))) LIMIT 1`,
  );
  return rows.length > 0;
}

/**
 * Acts as an operator who does not wait: a release that a chargeback blocked would continue within an
 * hour of its end, and a failed gateway call is retried at growing intervals.
 */
async function retryWaiting({ withSql, admin }: Run): Promise<void> {
  const waiting = await withSql(
    (sql) => sql<{ orderNumber: string }[]>`
      SELECT order_number FROM orders o
      WHERE (pending_operation->>'kind' IN ('releasing', 'refunding') OR status = 'DELIVERED'
          OR (status = 'REFUNDED' AND refund_processed_at IS NULL))
        AND NOT EXISTS (SELECT FROM alerts a
          WHERE a.subject = o.order_number AND a.cleared_at IS NULL)
      ORDER BY updated_at LIMIT ${MOST_RETRIED}`,
  );
  const reason = ['--reason', 'Its money is expected'];
  for (const { orderNumber } of waiting) {
    // A call that is under way just now cannot be retried.
    await admin('order', 'retry', '--order', orderNumber, ...reason).catch(() => undefined);
  }
}
