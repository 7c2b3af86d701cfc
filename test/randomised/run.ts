import { setTimeout as delay } from 'node:timers/promises';
import { addBalance } from '../../dev/load/moods.ts';
import { newTestOrder, perform, type TestOrder } from './acts.ts';
import { openAlerts } from './alerts.ts';
import { disturb, endDisturbances } from './disturbances.ts';
import { simulatorOf } from './gateway.ts';
import { captureProblems, invariantProblems, ledgerProblems } from './money-checks.ts';
import { orderProblems, webhookProblems, workflowProblems } from './order-checks.ts';
import { planOf, type Plan } from './plan.ts';
import { problemReport, summaryOf } from './report.ts';
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
    const testOrders = plan.orders.map(({ amountPaise, merchant }) =>
      newTestOrder(system.merchants[merchant]!.client, amountPaise),
    );
    const problems = await Promise.race([
      problemsAfter(system, plan, testOrders),
      system.processes.failed,
    ]);
    if (problems.length > 0) throw new Error(await problemReport(system, plan, problems));
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return `seed ${seed}: ${await summaryOf(system)}; ${seconds} s`;
  } finally {
    await system.stop();
  }
}

/** Carries the plan out, and returns the faults that are left. */
async function problemsAfter(
  system: System,
  plan: Plan,
  testOrders: readonly TestOrder[],
): Promise<string[]> {
  await addBalance(simulatorOf(system));
  await carryOut(system, plan, testOrders);
  await endDisturbances(system);
  // Repeated after a restore: Temporal's list of workflows lags behind, also for those that have just closed.
  await system.recoverAll();
  return problemsAtTheEnd(system, testOrders);
}

/** Runs the actions in order, several at a time; those of one order, and disturbances, one by one. */
async function carryOut(
  system: System,
  { turns }: Plan,
  testOrders: readonly TestOrder[],
): Promise<void> {
  const queue = turns.values();
  const latest = new Map<number | 'disturbance', Promise<void>>();
  const takeTurns = async () => {
    for (const turn of queue) {
      const key = 'order' in turn ? turn.order : 'disturbance';
      const before = latest.get(key);
      const now = (async () => {
        await before;
        if ('order' in turn) await perform(system, testOrders[turn.order]!, turn.act);
        else await disturb(system, turn.disturbance);
      })();
      latest.set(key, now);
      await now;
    }
  };
  await Promise.all(Array.from({ length: ACTS_AT_ONCE }, takeTurns));
}

/** Repeats the checks until there are no faults, or the time is up. */
async function problemsAtTheEnd(
  system: System,
  testOrders: readonly TestOrder[],
): Promise<string[]> {
  const endsAt = performance.now() + SOUND_WITHIN_MS;
  await until(async () => !(await hasRunningDeadline(system)));
  await system.compareWithGateway();
  for (let looks = 0; ; looks += 1) {
    const problems = await problemsNow(system, testOrders);
    if (problems.length === 0 || performance.now() > endsAt) return problems;
    if (looks < MOST_ADVANCES) await system.advance(ADVANCE_MS);
    if (looks % RETRY_EVERY_LOOKS === RETRY_EVERY_LOOKS - 1) await retryWaiting(system);
    await delay(LOOK_EVERY_MS);
  }
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

async function problemsNow(system: System, testOrders: readonly TestOrder[]): Promise<string[]> {
  const alerts = await openAlerts(system);
  const problems = [
    ...alerts.unhealed,
    ...(await orderProblems(system, testOrders, alerts)),
    ...(await workflowProblems(system, alerts)),
    ...(await webhookProblems(system)),
    ...(await captureProblems(system, alerts)),
  ];
  if (problems.length > 0) return problems;
  // The complete proof of the ledger, once no fault contradicts it.
  return [...(await invariantProblems(system)), ...(await ledgerProblems(system, alerts))];
}
