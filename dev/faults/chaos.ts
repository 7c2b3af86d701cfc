import { setTimeout as delay } from 'node:timers/promises';
import { startCanaryRun, type CanaryRun } from '../canaries/canary-run.ts';
import { createRandom } from '../gateway-simulator/random.ts';
import { createMerchantClient } from '../load/client.ts';
import { create, send } from '../load/commands.ts';
import { addBalance } from '../load/moods.ts';
import { violationText, type Report } from '../load/oracle/report.ts';
import { newLoadOrder, type LoadOrder } from '../load/order.ts';
import { startPeople } from '../load/people.ts';
import { ordersOf, perform, type PlannedOrder } from '../load/plan.ts';
import { controlSimulator } from '../load/simulator.ts';
import { endFaults, faultText, inflict, type Disturbed } from './faults.ts';
import { MERCHANTS, planRun, type Lane, type RunPlan, type RunSize } from './plan.ts';
import { withRun, type Run, type RunOptions } from './run.ts';
import { testChecks } from './self-test.ts';
import { reportAtTheEnd } from './settle.ts';

/** Of each merchant of a run with a known outcome. */
const ENDPOINTS = [
  'answers 200',
  'sometimes answers 500',
  'sometimes hangs',
  'is sometimes down',
  'always answers 500',
  'answers 200',
] as const;

/** The five attempts of a webhook fit into the run. */
const KNOWN_SETTINGS = { WEBHOOK_RETRY_DELAYS_SECONDS: '2,4,8,16' };

/** Seconds instead of production's hours: an order without a dispute completes within seconds. */
const OPEN_SETTINGS = {
  // The API checks its answers.
  NODE_ENV: 'test',
  COMPLETION_WINDOW_SECONDS: '6',
  DISPUTE_ANSWER_SECONDS: '8',
  SWEEP_AFTER_SECONDS: '2',
  WEBHOOK_RETRY_DELAYS_SECONDS: '1,1,2,2',
};

/** The last ones let an overloaded machine recover. */
const OPEN_CLIENT = { waitsMs: [100, 200, 400, 1000, 2000, 4000, 8000] };

function optionsOf({ outcome, seed }: RunSize, canaries: CanaryRun | undefined): RunOptions {
  if (!canaries) {
    const random = createRandom(seed);
    const merchants = ENDPOINTS.map((behaviour) => ({ behaviour, random }));
    const settings = KNOWN_SETTINGS;
    return { outcome, merchants, settings, hasProduction: true };
  }
  return {
    outcome,
    marks: canaries.marks,
    settings: { ...OPEN_SETTINGS, ...canaries.settings },
    merchants: Array.from({ length: MERCHANTS.open }, () => ({
      ...OPEN_CLIENT,
      path: canaries.webhookPath(),
    })),
    hasProduction: true,
    apis: 1,
    workers: 1,
    // The data is temporary, so PostgreSQL does not wait for the disk.
    postgresSettings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  };
}

/** How orders wait between their acts, by outcome: in an open one deadlines pass within seconds. */
const PACE = { known: 1, open: 0.2 } as const;
/** The service must be back by then after a fault has ended. */
export const BACK_WITHIN_MS = 30_000;

/** The result of a run. */
export interface ChaosResult {
  readonly report: Report;
  /** Of each measured turn: how long the service was away after its end, in milliseconds. */
  readonly backMs: readonly number[];
  /** Reasons why the run failed, beside the report's violations. */
  readonly failures: readonly string[];
}

type Log = (line: string) => void;

/**
 * Starts the production-like shape, runs the orders and faults of a plan against it, waits until nothing is under
 * way, and checks everything. The folder with the logs stays if the run fails.
 *
 * @param options `isTested`: afterwards the data is changed in every known way, and each must be found
 */
export async function runChaos(
  size: RunSize,
  log: Log,
  options: { readonly isTested: boolean } = { isTested: false },
): Promise<ChaosResult> {
  await using canaries = size.outcome === 'open' ? await startCanaryRun() : undefined;
  return await withRun(
    async () => optionsOf(size, canaries),
    async (run) => {
      run.keep(true);
      log(`${run.cluster.members.map(({ name }) => name).join(', ')} run`);
      await controlSimulator(run.deps.simulator, 'POST', '/seed', { seed: size.seed });
      await addBalance(run.deps.simulator);
      const { environment, cluster, deps } = run;
      const service = { environment: environment(), apiBaseUrl: cluster.apiBaseUrl };
      const disturbed: Disturbed = {
        run,
        people: await startPeople(service, deps),
        copiedAtMs: { postgres: 0, temporal: 0 },
        lost: [],
        isTemporalRestored: false,
        suspended: new Set<string>(),
        kills: 0,
      };
      const { backMs, failures } = await carryOut(disturbed, planRun(size), canaries, log);
      const report = await reportAtTheEnd(disturbed, log);
      await showOrders(run, report, log);
      const untested = options.isTested ? await testChecks(run, log) : [];
      const leaked = (await canaries?.search(run, log)) ?? [];
      const all = [...failures, ...endedByThemselves(disturbed), ...untested, ...leaked];
      if (all.length + report.violations.length === 0) run.keep(false);
      else log(`the logs are in ${run.folder}`);
      return { report, backMs, failures: all };
    },
  );
}

const MOST_SHOWN = 5;

/** Logs what operators see of the first orders that violations are about. */
async function showOrders(run: Run, { violations }: Report, log: Log): Promise<void> {
  const texts = violations.map(violationText).join(' ');
  const orderNumbers = new Set(texts.match(/ORD[0-9A-Z]{26}/g));
  for (const orderNumber of [...orderNumbers].slice(0, MOST_SHOWN)) {
    log(await run.admin('order', 'show', '--order', orderNumber).catch(String));
  }
}

/** While no server is away, a process of the service ends only if it is killed. */
function endedByThemselves({ run: { cluster, deps }, kills }: Disturbed): string[] {
  const restarts = cluster.members
    .filter(({ name }) => /^(api|worker)-/.test(name))
    .reduce((sum, member) => sum + member.restarts, 0);
  if (deps.outcome === 'known' || restarts <= kills) return [];
  return [`processes were started again ${restarts} times, and ${kills} of them were killed`];
}

/** Runs the orders beside the lanes of faults, and then ends all faults. */
async function carryOut(
  disturbed: Disturbed,
  plan: RunPlan,
  canaries: CanaryRun | undefined,
  log: Log,
) {
  const { run } = disturbed;
  const end = new AbortController();
  const lanes = (isBackground: boolean) =>
    plan.lanes
      .filter(({ kind }) => (kind === 'background') === isBackground)
      .map((lane) => runLane(disturbed, lane, end.signal, log));
  const background = Promise.all(lanes(true));
  // A failure is thrown at the end.
  background.catch(() => undefined);
  try {
    const [failures, backMs] = await Promise.all([
      runOrders(ordersOf(run.deps, run.merchants, plan.orders), plan.overMs, (order) =>
        canaries?.visitDuring(run, order),
      ),
      Promise.all(lanes(false)),
    ]);
    log('the faults are over, and the merchants and buyers have done everything');
    for (const [index, { receiver }] of run.merchants.entries()) {
      const isOpen = run.deps.outcome === 'open';
      if (isOpen || ENDPOINTS[index] !== 'always answers 500') receiver.behave('answers 200');
    }
    end.abort();
    await background;
    await endFaults(disturbed);
    await canaries?.visitAfterwards(run);
    return { failures, backMs: backMs.flat() };
  } finally {
    end.abort();
  }
}

/** Of so many orders, one is looked at when it was created. */
const VISITED = 3;

/** Runs all orders, begun evenly over the time. @returns the errors of those that could not be ended */
async function runOrders(
  orders: readonly PlannedOrder[],
  overMs: number,
  visit: (order: LoadOrder) => Promise<void> | undefined,
): Promise<string[]> {
  const ended = await Promise.allSettled(
    orders.map(async (order, place) => {
      await delay((overMs * place) / orders.length);
      for (const [index, { waitMs }] of order.plan.pauses.entries()) {
        if (index > 0) await delay(waitMs * PACE[order.deps.outcome]);
        await perform(order, index);
        if (index === 0 && place % VISITED === 0) await visit(order);
      }
    }),
  );
  return ended
    .filter((one) => one.status === 'rejected')
    .map(({ reason }) => `an order was given up: ${String(reason)}`);
}

/** Inflicts the turns of a lane. @returns how long the service was away after each, if that is measured */
async function runLane(
  disturbed: Disturbed,
  { kind, turns }: Lane,
  signal: AbortSignal,
  log: Log,
): Promise<number[]> {
  const { run } = disturbed;
  const backMs: number[] = [];
  if (kind === 'measured') await untilServed(run);
  do {
    for (const { waitMs, faults } of turns) {
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const at = new Date().toISOString().slice(11, 19);
      const what = `${at} ${faults.map(faultText).join(' and ')}`;
      await Promise.all(faults.map((fault) => inflict(disturbed, fault, signal)));
      if (run.deps.outcome === 'open') log(what);
      if (kind !== 'measured') continue;
      const endedAt = performance.now();
      const ms = (await untilServed(run)) ? performance.now() - endedAt : Infinity;
      backMs.push(ms);
      log(`${what}; served after ${(ms / 1000).toFixed(1)} s`);
    }
  } while (kind === 'background' && !signal.aborted);
  return backMs;
}

const PROBE_PAISE = 49_950;
const AGAIN_AFTER_MS = 250;
const GIVEN_UP_AFTER_MS = 180_000;

/**
 * Makes orders until one was created, paid and delivered with only 2xx, each request sent once.
 *
 * @returns false if none was
 */
async function untilServed({ cluster, deps, merchant }: Run): Promise<boolean> {
  const client = createMerchantClient(cluster.apiBaseUrl, merchant.keys, { repeatedForMs: 0 });
  const isServed = async () => {
    const order = newLoadOrder(deps, { ...merchant, client }, PROBE_PAISE);
    await create(order);
    const answers = [await send(order, 'pay'), await send(order, 'deliver')];
    return answers.every(({ status }) => status === 200);
  };
  const endsAt = performance.now() + GIVEN_UP_AFTER_MS;
  while (performance.now() < endsAt) {
    // What is not answered is not remembered: it may have happened or not.
    if (await isServed().catch(() => false)) return true;
    await delay(AGAIN_AFTER_MS);
  }
  return false;
}
