import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../gateway-simulator/random.ts';
import type { ProductionLike } from '../production-like/start.ts';
import { checkWhenQuiet } from '../load/oracle/check-everything.ts';
import { startMerchant, type LoadMerchant } from '../load/merchant.ts';
import { startPeople } from '../load/people/people.ts';
import { durationOf, faultText, planFaults, type Fault } from './fault-plan.ts';
import { inflict } from './faults.ts';
import { addBalance } from '../load/moods.ts';
import { simulatorAccessOf } from '../load/simulator.ts';
import { planMoods, startMoods } from './moods.ts';
import { newMemory, type Memory } from '../load/memory.ts';
import type { LoadDeps } from '../load/order.ts';
import { ordersOf, perform, planOrders, type PlannedOrder } from '../load/plan.ts';
import { untilServed } from './probe.ts';
import type { Report } from '../load/oracle/report.ts';
import type { CheckedService } from '../load/oracle/service.ts';
import { startSuspensions } from './suspensions.ts';
import { compareWithGateway, untilNothingIsUnderWay } from '../load/oracle/under-way.ts';

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
const RIGHT_WITHIN_MS = 90_000;

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
): Promise<ChaosResult & { readonly acknowledged: Memory }> {
  const acknowledged = newMemory();
  const random = createRandom(seed);
  const orderPlans = planOrders(
    { count: orders, merchants: ENDPOINTS.length, outcome: 'known' },
    random,
  );
  const faultPlans = planFaults(faults, random);
  const moodPlan = planMoods(random);
  const { environment } = cluster.facts;
  const service = { environment, apiBaseUrl: cluster.apiBaseUrl };
  const merchants: LoadMerchant[] = [];
  for (const behaviour of ENDPOINTS) {
    const options = { actor: 'chaos', behaviour, memory: acknowledged, random };
    merchants.push(await startMerchant(service, options));
  }
  const [first] = merchants;
  if (!first) throw new Error('A run has merchants');
  const checked = checkedServiceOf(cluster);
  const simulator = simulatorAccessOf(checked);
  await addBalance(simulator);
  const people = await startPeople(service, { memory: acknowledged, outcome: 'known' });
  const endRounds = people.begin();
  const suspensions = startSuspensions({ environment }, merchants.at(-1)?.merchantId ?? '');
  const moods = startMoods(simulator, moodPlan);
  try {
    const deps: LoadDeps = { simulator, environment, memory: acknowledged, outcome: 'known' };
    const overMs = faultPlans.reduce((sum, plan) => sum + cycleMsOf(plan), 0);
    const allOrders = runOrders(ordersOf(deps, merchants, orderPlans), overMs);
    const backMs = await runFaults(
      cluster,
      () => untilServed(deps, first, cluster.apiBaseUrl),
      faultPlans,
      log,
    );
    const failures = await allOrders;
    log('the faults are over, and the merchants and buyers have done everything');
    for (const [index, { receiver }] of merchants.entries()) {
      if (ENDPOINTS[index] !== 'always answers 500') receiver.behave('answers 200');
    }
    await endRounds();
    await people.end();
    await suspensions.end();
    await moods.end();
    const report = await checkAtTheEnd(checked, acknowledged, log);
    return { report, backMs, failures, acknowledged };
  } finally {
    await people.end();
    await suspensions.end();
    await moods.end();
    for (const { receiver } of merchants) receiver.stop();
  }
}

/** The service as the oracle needs it. */
export const checkedServiceOf = ({
  facts: { environment },
  migrationDatabaseUrl,
}: ProductionLike): CheckedService => ({
  environment,
  migrationDatabaseUrl,
  mailboxDataDir: environment['DATA_DIR'],
});

/** Waits until everything is over, compares it with the gateway, and checks it. */
async function checkAtTheEnd(checked: CheckedService, memory: Memory, log: Log): Promise<Report> {
  await untilNothingIsUnderWay(checked, ALL_DONE_WITHIN_MS, log);
  // It finds what a callback that was lost would have said, such as a refund that failed; the next one
  // clears the alert about it.
  await compareWithGateway(checked);
  await untilNothingIsUnderWay(checked, REFUNDS_MADE_WITHIN_MS, log);
  await compareWithGateway(checked);
  const waits = { quietWithinMs: ALL_DONE_WITHIN_MS, rightWithinMs: RIGHT_WITHIN_MS, log };
  return checkWhenQuiet(checked, memory, {}, waits);
}

const cycleMsOf = (faults: readonly Fault[]) => durationOf(faults) + BACK_AFTER_MS + PAUSE_MS;

/** Runs all orders, begun evenly over the time. @returns the errors of those that could not be ended */
async function runOrders(orders: readonly PlannedOrder[], overMs: number): Promise<string[]> {
  const ended = await Promise.allSettled(
    orders.map(async (order, place) => {
      await delay((overMs * place) / orders.length);
      for (const [index, { waitMs }] of order.plan.pauses.entries()) {
        if (index > 0) await delay(waitMs);
        await perform(order, index);
      }
    }),
  );
  return ended
    .filter((one) => one.status === 'rejected')
    .map(({ reason }) => `an order was given up: ${String(reason)}`);
}

/** Inflicts the faults one after the other. @returns how long the service was away after each */
async function runFaults(
  cluster: ProductionLike,
  untilBack: () => Promise<'served' | 'not served'>,
  plans: readonly Fault[][],
  log: Log,
): Promise<number[]> {
  await untilBack();
  const backMs: number[] = [];
  for (const [index, faults] of plans.entries()) {
    await delay(PAUSE_MS);
    const at = new Date().toISOString().slice(11, 19);
    await Promise.all(faults.map((fault) => inflict(cluster, fault)));
    const endedAt = performance.now();
    const outcome = await untilBack();
    const ms = outcome === 'served' ? performance.now() - endedAt : Infinity;
    backMs.push(ms);
    const what = faults.map(faultText).join(' and ');
    log(`${at} fault ${index + 1}: ${what}; ${outcome} after ${secondsText(ms)}`);
  }
  return backMs;
}
