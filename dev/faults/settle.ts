import { setTimeout as delay } from 'node:timers/promises';
import { checkEverything, checkWhenQuiet } from '../load/oracle/check-everything.ts';
import type { Report, Violation } from '../load/oracle/report.ts';
import { compareWithGateway, underWay, untilNothingIsUnderWay } from '../load/oracle/under-way.ts';
import { untilDone } from '../load/simulator.ts';
import { allowedIn, recoverAll, type Disturbed } from './faults.ts';
import type { Run } from './run.ts';

/** The service waits up to ten minutes before it attempts a delivery to an endpoint that was full. */
const ALL_DONE_WITHIN_MS = 15 * 60_000;
/** The alert of the comparison itself stays open meanwhile. */
const REFUNDS_MADE_WITHIN_MS = 60_000;
/** An alert may be cleared by a Schedule of every minute. */
const RIGHT_WITHIN_MS = 90_000;

const LOOK_EVERY_MS = 1000;
const RETRY_EVERY_LOOKS = 15;
const MOST_RETRIED = 5;
/** The service checks a session for the last time an hour after its end: the clock is moved by this much. */
const ADVANCE_MS = 10 * 60_000;
const MOST_ADVANCES = 15;

/** Waits until everything is over, compares it with the gateway, and checks it. */
export async function reportAtTheEnd(
  disturbed: Disturbed,
  log: (line: string) => void,
): Promise<Report> {
  const { run } = disturbed;
  if (run.deps.outcome === 'open') return reportOfOpen(disturbed);
  const checked = run.checked();
  await untilNothingIsUnderWay(checked, ALL_DONE_WITHIN_MS, log);
  // It finds what a callback that was lost would have said, such as a refund that failed; the next one
  // clears the alert about it.
  await compareWithGateway(checked);
  await untilNothingIsUnderWay(checked, REFUNDS_MADE_WITHIN_MS, log);
  await compareWithGateway(checked);
  const waits = { quietWithinMs: ALL_DONE_WITHIN_MS, rightWithinMs: RIGHT_WITHIN_MS, log };
  return checkWhenQuiet(checked, run.deps.memory, {}, waits);
}

/** Acts as operators do, moves the clock, and repeats the checks until there are no faults, or the time is up. */
async function reportOfOpen(disturbed: Disturbed): Promise<Report> {
  const { run } = disturbed;
  const endsAt = performance.now() + ALL_DONE_WITHIN_MS;
  // Repeated after a restore: Temporal's list of workflows lags behind, also for those that have just closed.
  await recoverAll(run);
  await untilDone(async () => {
    if (await hasRunningDeadline(run)) throw new Error('A deadline of some seconds still runs');
  });
  await compareWithGateway(run.checked());
  for (let looks = 0; ; looks += 1) {
    const report = await reportNow(disturbed);
    const { violations } = report;
    if (violations.length === 0 || performance.now() > endsAt) return report;
    // The daily comparison alerts about them, and the next look sees its alert.
    if (await haveFailedReversals(run, violations)) await compareWithGateway(run.checked());
    if (looks < MOST_ADVANCES) await moveClock(run, (looks + 1) * ADVANCE_MS);
    if (looks % RETRY_EVERY_LOOKS === RETRY_EVERY_LOOKS - 1) await retryWaiting(run);
    await delay(LOOK_EVERY_MS);
  }
}

async function reportNow(disturbed: Disturbed): Promise<Report> {
  const { checked, deps } = disturbed.run;
  const allowed = allowedIn(disturbed);
  const left = await underWay(checked(), allowed);
  if (left.length > 0) return { counts: {}, violations: left };
  return checkEverything(checked(), deps.memory, allowed);
}

/** Moves the database's clock forward, by which reconciliation checks sessions. */
const moveClock = ({ withSql }: Run, aheadMs: number) =>
  withSql((sql) =>
    sql.unsafe(`
      CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
      AS 'SELECT clock_timestamp() + interval ''${aheadMs} milliseconds'''`),
  );

/**
 * True if a refund was made at the gateway itself from the hold of each of these payments, and failed: the
 * transfer stays smaller by it.
 */
async function haveFailedReversals(
  { withSql }: Run,
  violations: readonly Violation[],
): Promise<boolean> {
  const failed = await withSql(
    (sql) => sql<{ subject: string }[]>`
      SELECT gateway_subject(gateway, gateway_payment_id) AS subject FROM gateway_reversals
      WHERE state = 'failed'`,
  );
  const subjects = new Set(failed.map(({ subject }) => subject));
  return violations.every(({ about }) => about.some((one) => subjects.has(one)));
}

/** True while a deadline of some seconds runs: if the clock were moved, it would be handled late, and extended. */
async function hasRunningDeadline({ withSql }: Run): Promise<boolean> {
  const rows = await withSql(
    (sql) => sql`
      SELECT FROM orders o WHERE pending_operation IS NULL AND (status::text LIKE 'DISPUTE%'
        OR (status = 'DELIVERED' AND release_tried_for IS DISTINCT FROM completes_at
          AND NOT is_reversed(o))) LIMIT 1`,
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
