import { setTimeout as delay } from 'node:timers/promises';
import { addBalance } from '../../dev/load/moods.ts';
import { checkEverything } from '../../dev/load/oracle/check-everything.ts';
import { countsText, type Report, type Violation } from '../../dev/load/oracle/report.ts';
import { underWay } from '../../dev/load/oracle/under-way.ts';
import { ordersOf, perform } from '../../dev/load/plan.ts';
import { disturb, endDisturbances } from './disturbances.ts';
import { planOf, type Plan } from './plan.ts';
import { violationReport } from './report.ts';
import { until } from '../support/until.ts';
import type { Host, System } from './system.ts';

/** The number of concurrent actions of merchants and buyers. */
const ACTS_AT_ONCE = 5;
/** A webhook may have reserved a time at its endpoint ten minutes ahead. */
const SOUND_WITHIN_MS = 12 * 60_000;
const LOOK_EVERY_MS = 1000;
const RETRY_EVERY_LOOKS = 15;
const MOST_RETRIED = 5;
/** The service checks a session for the last time an hour after its end: the clock is moved by this much. */
const ADVANCE_MS = 10 * 60_000;
const MOST_ADVANCES = 15;

/**
 * Runs the plan of a seed against a separate service, and checks everything until it is as it must be.
 *
 * @returns one line about the run
 * @throws Error that names the seed and every order with a fault
 */
export async function runSeed(host: Host, seed: number, orderCount: number): Promise<string> {
  const startedAt = performance.now();
  const plan = planOf(seed, orderCount);
  const system = await host.startSystem(seed);
  try {
    const report = await Promise.race([reportAfter(system, plan), system.processes.failed]);
    if (report.violations.length > 0) throw new Error(await violationReport(system, plan, report));
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return `seed ${seed}: ${countsText(report)}; ${seconds} s`;
  } finally {
    await system.stop();
  }
}

/** Carries the plan out, and reports the faults that are left. */
async function reportAfter(system: System, plan: Plan): Promise<Report> {
  await addBalance(system.simulator);
  await carryOut(system, plan);
  await endDisturbances(system);
  // Repeated after a restore: Temporal's list of workflows lags behind, also for those that have just closed.
  await system.recoverAll();
  return reportAtTheEnd(system);
}

/** Runs the actions in order, several at a time; those of one order, and disturbances, one by one. */
async function carryOut(system: System, { orders: plans, turns }: Plan): Promise<void> {
  const orders = ordersOf(system.deps, system.merchants, plans);
  const queue = turns.values();
  const latest = new Map<number | 'disturbance', Promise<void>>();
  const takeTurns = async () => {
    for (const turn of queue) {
      const key = 'order' in turn ? turn.order : 'disturbance';
      const before = latest.get(key);
      const now = (async () => {
        await before;
        if ('order' in turn) await perform(orders[turn.order]!, turn.part);
        else await disturb(system, turn.disturbance);
      })();
      latest.set(key, now);
      await now;
    }
  };
  await Promise.all(Array.from({ length: ACTS_AT_ONCE }, takeTurns));
}

/** Repeats the checks until there are no faults, or the time is up. */
async function reportAtTheEnd(system: System): Promise<Report> {
  const endsAt = performance.now() + SOUND_WITHIN_MS;
  await until(async () => !(await hasRunningDeadline(system)));
  await system.compareWithGateway();
  for (let looks = 0; ; looks += 1) {
    const report = await reportNow(system);
    const { violations } = report;
    if (violations.length === 0 || performance.now() > endsAt) return report;
    // The daily comparison alerts about them, and the next look sees its alert.
    if (await haveFailedReversals(system, violations)) await system.compareWithGateway();
    if (looks < MOST_ADVANCES) await system.advance(ADVANCE_MS);
    if (looks % RETRY_EVERY_LOOKS === RETRY_EVERY_LOOKS - 1) await retryWaiting(system);
    await delay(LOOK_EVERY_MS);
  }
}

async function reportNow({ checked, deps, allowed }: System): Promise<Report> {
  const left = await underWay(checked, allowed());
  if (left.length > 0) return { counts: {}, violations: left };
  return checkEverything(checked, deps.memory, allowed());
}

/**
 * True if a refund was made at the gateway itself from the hold of each of these payments, and failed: the
 * transfer stays smaller by it.
 */
async function haveFailedReversals(
  { sql }: System,
  violations: readonly Violation[],
): Promise<boolean> {
  const failed = await sql<{ subject: string }[]>`
    SELECT gateway_subject(gateway, gateway_payment_id) AS subject FROM gateway_reversals
    WHERE state = 'failed'`;
  const subjects = new Set(failed.map(({ subject }) => subject));
  return violations.every(({ about = [] }) => about.some((one) => subjects.has(one)));
}

/** True while a deadline of some seconds runs: if the clock were moved, it would be handled late, and extended. */
async function hasRunningDeadline({ sql }: System): Promise<boolean> {
  const rows = await sql`
    SELECT FROM orders o WHERE pending_operation IS NULL AND (status::text LIKE 'DISPUTE%'
      OR (status = 'DELIVERED' AND release_tried_for IS DISTINCT FROM completes_at
        AND NOT is_reversed(o))) LIMIT 1`;
  return rows.length > 0;
}

/**
 * Acts as an operator who does not wait: a release that a chargeback blocked would continue within an
 * hour of its end, and a failed gateway call is retried at growing intervals.
 */
async function retryWaiting({ sql, admin }: System): Promise<void> {
  const waiting = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM orders o
    WHERE (pending_operation->>'kind' IN ('releasing', 'refunding') OR status = 'DELIVERED'
        OR (status = 'REFUNDED' AND refund_processed_at IS NULL))
      AND NOT EXISTS (SELECT FROM alerts a
        WHERE a.subject = o.order_number AND a.cleared_at IS NULL)
    ORDER BY updated_at LIMIT ${MOST_RETRIED}`;
  for (const { orderNumber } of waiting) {
    await admin.run('order', 'retry', '--order', orderNumber, '--reason', 'Its money is expected');
  }
}
