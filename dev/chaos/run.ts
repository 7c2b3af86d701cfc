import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../gateway-simulator/random.ts';
import type { ProductionLike } from '../production-like/start.ts';
import { newMemory } from '../load/memory.ts';
import { checkEverything } from './check-everything.ts';
import { startMerchant, type LoadMerchant } from '../load/merchant.ts';
import { durationOf, faultText, planFaults, type Fault } from './fault-plan.ts';
import { inflict } from './faults.ts';
import { addBalance } from '../load/moods.ts';
import { simulatorAccessOf } from '../load/simulator.ts';
import { planMoods, startMoods } from './moods.ts';
import { planOrders, type OrderPlan } from './order-plan.ts';
import { runOrder } from './order-run.ts';
import { untilServed } from './probe.ts';
import type { Report } from './report.ts';
import type { OrderRunDeps } from './running-order.ts';
import { startSuspensions } from './suspensions.ts';
import { compareWithGateway, untilNothingIsUnderWay } from './under-way.ts';

/**
 * What a run sets, beside the defaults of the product: a client may send as fast as it likes, and the
 * five attempts of a webhook fit into the run.
 */
export const CHAOS_SETTINGS = {
  RATE_LIMIT_PER_SECOND: '100000',
  BUYER_RATE_LIMIT_PER_SECOND: '100000',
  WEBHOOK_RETRY_DELAYS_SECONDS: '2,4,8,16',
} as const;

/** Of each merchant; the last one is suspended again and again. */
const ENDPOINTS = [
  'answers 200',
  'sometimes answers 500',
  'sometimes hangs',
  'is sometimes down',
  'always answers 500',
  'answers 200',
] as const;

/** The service must be back by then after a fault has ended. */
export const BACK_WITHIN_MS = 30_000;
/** Between the service being back and the next fault. */
const PAUSE_MS = 5000;
/** An estimate, by which the orders are distributed over the run. */
const BACK_AFTER_MS = 5000;
/** The service waits up to ten minutes before it attempts a delivery to an endpoint that was full. */
const ALL_DONE_WITHIN_MS = 15 * 60_000;
/** The alert of the comparison itself stays open meanwhile. */
const REFUNDS_MADE_WITHIN_MS = 60_000;
/** An alert may be cleared by a Schedule of every minute. */
const CHECKED_AGAIN_AFTER_MS = 30_000;
const MOST_CHECKS = 4;

/** The size of a run, and what determines it. */
export interface ChaosOptions {
  readonly orders: number;
  readonly faults: number;
  readonly seed: number;
}

/** The result of a run. */
export interface ChaosResult {
  readonly report: Report;
  /** Of each fault: how long the service was away after its end, in milliseconds. */
  readonly backMs: readonly number[];
  /** Reasons why the run failed, beside the report's. */
  readonly failures: readonly string[];
}

type Log = (line: string) => void;

const secondsText = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Runs orders and faults against the service, waits until nothing is under way, and checks everything. */
export async function runChaos(
  cluster: ProductionLike,
  { orders, faults, seed }: ChaosOptions,
  log: Log,
): Promise<ChaosResult & Pick<OrderRunDeps, 'acknowledged'>> {
  const acknowledged = newMemory();
  const random = createRandom(seed);
  const orderPlans = planOrders(orders, ENDPOINTS.length, random);
  const faultPlans = planFaults(faults, random);
  const moodPlan = planMoods(random);
  const { environment } = cluster.facts;
  const service = { environment, apiBaseUrl: cluster.apiBaseUrl };
  const merchants: LoadMerchant[] = [];
  for (const behaviour of ENDPOINTS) {
    const options = { actor: 'chaos', behaviour, memory: acknowledged, random };
    merchants.push(await startMerchant(service, options));
  }
  const simulator = simulatorAccessOf(cluster);
  await addBalance(simulator);
  const suspensions = startSuspensions({ environment }, merchants.at(-1)?.merchantId ?? '');
  const moods = startMoods(simulator, moodPlan);
  try {
    const deps = { merchants, simulator, environment, acknowledged };
    const overMs = faultPlans.reduce((sum, plan) => sum + cycleMsOf(plan), 0);
    const allOrders = runOrders(deps, orderPlans, overMs);
    const backMs = await runFaults(cluster, deps, faultPlans, log);
    const failures = await allOrders;
    log('the faults are over, and the merchants and buyers have done everything');
    for (const [index, { receiver }] of merchants.entries()) {
      if (ENDPOINTS[index] !== 'always answers 500') receiver.behave('answers 200');
    }
    await suspensions.end();
    await moods.end();
    await untilNothingIsUnderWay(cluster, ALL_DONE_WITHIN_MS, log);
    // It finds what a callback that was lost would have said, such as a refund that failed; the next one
    // clears the alert about it.
    await compareWithGateway(cluster);
    await untilNothingIsUnderWay(cluster, REFUNDS_MADE_WITHIN_MS, log);
    await compareWithGateway(cluster);
    const report = await checkOnceNothingIsUnderWay(cluster, acknowledged, log);
    return { report, backMs, failures, acknowledged };
  } finally {
    await suspensions.end();
    await moods.end();
    for (const { receiver } of merchants) receiver.stop();
  }
}

const cycleMsOf = (faults: readonly Fault[]) => durationOf(faults) + BACK_AFTER_MS + PAUSE_MS;

/** Runs all orders, begun evenly over the time. @returns the errors of those that could not be ended */
async function runOrders(
  deps: OrderRunDeps,
  plans: readonly OrderPlan[],
  overMs: number,
): Promise<string[]> {
  const ended = await Promise.allSettled(
    plans.map(async (plan, index) => {
      await delay((overMs * index) / plans.length);
      await runOrder(deps, plan);
    }),
  );
  return ended
    .filter((one) => one.status === 'rejected')
    .map(({ reason }) => `an order was given up: ${String(reason)}`);
}

/** Inflicts the faults one after the other. @returns how long the service was away after each */
async function runFaults(
  cluster: ProductionLike,
  { merchants, acknowledged }: OrderRunDeps,
  plans: readonly Fault[][],
  log: Log,
): Promise<number[]> {
  const [probed] = merchants;
  if (!probed) throw new Error('A run has merchants');
  await untilServed(probed, acknowledged);
  const backMs: number[] = [];
  for (const [index, faults] of plans.entries()) {
    await delay(PAUSE_MS);
    const at = new Date().toISOString().slice(11, 19);
    await Promise.all(faults.map((fault) => inflict(cluster, fault)));
    const endedAt = performance.now();
    const outcome = await untilServed(probed, acknowledged);
    const ms = outcome === 'served' ? performance.now() - endedAt : Infinity;
    backMs.push(ms);
    const what = faults.map(faultText).join(' and ');
    log(`${at} fault ${index + 1}: ${what}; ${outcome} after ${secondsText(ms)}`);
  }
  return backMs;
}

/** Checks, and again while there are violations: something may still have been under way. */
async function checkOnceNothingIsUnderWay(
  cluster: ProductionLike,
  acknowledged: OrderRunDeps['acknowledged'],
  log: Log,
): Promise<Report> {
  for (let count = 1; ; count += 1) {
    await untilNothingIsUnderWay(cluster, ALL_DONE_WITHIN_MS, log);
    const isLast = count === MOST_CHECKS;
    try {
      const report = await checkEverything(cluster, acknowledged);
      if (report.violations.length === 0 || isLast) return report;
      log(`${report.violations.length} violations; checked again in half a minute`);
    } catch (error) {
      if (isLast) throw error;
      log(`${String(error)}; checked again in half a minute`);
    }
    await delay(CHECKED_AGAIN_AFTER_MS);
  }
}
