import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { createOrder, decide } from '../src/domain/index.ts';
import { compareOrders } from '../src/orders/wake/compare-orders.ts';
import type { OrderRow } from '../src/orders/rows.ts';
import { findOrderByNumber } from '../src/orders/lists/find-orders.ts';
import { createStepRecorder } from '../src/orders/steps/record-step.ts';
import { backUp } from '../dev/orders/backup.ts';
import { writeOrder } from './fixtures.ts';
import { countOption } from '../src/main/process/command-line.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { createClient, openOrders } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService } from './servers.ts';

const OPTIONS = {
  orders: countOption(undefined, 'the number of open orders; 10000 by default', 200),
} as const;
const COMPARISONS = 3;
const ROUNDS = 3;
/** The kinds of damage, in the order of {@link damageAndWait}. */
const DAMAGES = ['terminated', 'not started', 'row ahead', 'row behind'];
/** Orders with each kind of damage, in each round. */
const DAMAGED = 10;
const POLL_MS = 250;
const TARGET_SECONDS = 60;
/** Longer than the target, to measure how far it was missed. */
const GIVE_UP_SECONDS = 300;

/** How soon the service repairs orders whose row and workflow differ. */
export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'How soon the service repairs orders whose row and workflow differ, among 10,000 open ones, ten of each kind in a round.',
  options: OPTIONS,
  async run({ quick, values }) {
    const count = values.orders ?? (quick ? 500 : 10_000);
    return withService({}, async (service) => {
      const bench = { ...service, ...partsOf(service) };
      const orders = await openOrders(service, count);
      const comparisons = await timeComparisons(bench);
      const repaired: number[][] = DAMAGES.map(() => []);
      for (let round = 1; round <= ROUNDS; round += 1) {
        const seconds = await damageAndWait(bench, orders);
        console.log(
          `round ${round}${seconds.map((one) => `${one.toFixed(1)} s`.padStart(10)).join('')}`,
        );
        seconds.forEach((one, kind) => repaired[kind]?.push(one));
      }
      const slowest = repaired[0]?.map((_, round) =>
        Math.max(...repaired.map((ofKind) => ofKind[round] ?? Number.NaN)),
      );
      return {
        measurements: [
          {
            id: 'comparison',
            title: `a comparison of ${count} open orders`,
            unit: 'seconds',
            rounds: comparisons,
          },
          ...DAMAGES.map((title, kind) => ({
            id: title,
            title: `repaired: ${title}, the slowest of ${DAMAGED}`,
            unit: 'seconds',
            rounds: repaired[kind] ?? [],
          })),
          { id: 'slowest', title: 'the slowest of all', unit: 'seconds', rounds: slowest ?? [] },
        ],
        targets: [{ of: 'slowest', atMost: TARGET_SECONDS }],
      };
    });
  },
};

type Bench = BenchService & ReturnType<typeof partsOf>;

/** The parts of the service that compare orders, on the same database. */
const partsOf = (service: BenchService) => ({
  durations: service.config.durations,
  paymentLinkMs: service.config.durations.paymentLinkMs,
  recordStep: createStepRecorder(service),
  post: createClient(service),
  log: pino({ level: 'fatal' }),
});

/** Compares intact orders. Once Temporal's visibility is up to date, no order differs. */
async function timeComparisons(bench: Bench): Promise<number[]> {
  const times: number[] = [];
  for (let index = 1; index <= COMPARISONS; index += 1) {
    const startedAt = performance.now();
    const { compared, woken } = await compareOrders(bench);
    times.push((performance.now() - startedAt) / 1000);
    console.log(`${compared} open orders compared, of which ${woken} differed`);
  }
  return times;
}

/** A damaged order, and whether the service has repaired it. */
interface Damaged {
  orderNumber: string;
  isRepaired(): Promise<boolean>;
}

/** @returns for each kind of damage the seconds until the last such order is repaired */
async function damageAndWait(bench: Bench, orders: OrderRow[]): Promise<number[]> {
  const take = () => orders.splice(Math.floor(Math.random() * orders.length), 1)[0]!;
  const damages: ((order: OrderRow) => Promise<() => Promise<Damaged>>)[] = [
    (order) => prepareTerminated(bench, order),
    () => prepareNeverStarted(bench),
    (order) => prepareRowAhead(bench, order),
    (order) => prepareRowBehind(bench, order),
  ];
  const prepared = await Promise.all(
    damages.map((prepare) => Promise.all(Array.from({ length: DAMAGED }, () => prepare(take())))),
  );
  const startedAt = performance.now();
  const damaged = await Promise.all(
    prepared.map((ofKind) => Promise.all(ofKind.map((damage) => damage()))),
  );
  return Promise.all(
    damaged.map(async (ofKind) => {
      await Promise.all(ofKind.map((one) => waitUntilRepaired(one, startedAt)));
      return (performance.now() - startedAt) / 1000;
    }),
  );
}

async function waitUntilRepaired(
  { orderNumber, isRepaired }: Damaged,
  startedAt: number,
): Promise<void> {
  while (!(await isRepaired())) {
    if (performance.now() - startedAt > GIVE_UP_SECONDS * 1000) {
      throw new Error(`${orderNumber} is not repaired after ${GIVE_UP_SECONDS} s`);
    }
    await delay(POLL_MS);
  }
}

async function isRunning(client: Client, orderNumber: string): Promise<boolean> {
  const { status } = await client.workflow.getHandle(orderNumber).describe();
  return status.name === 'RUNNING';
}

async function prepareTerminated({ client }: Bench, { orderNumber }: OrderRow) {
  return async () => {
    await client.workflow.getHandle(orderNumber).terminate('A benchmark');
    return { orderNumber, isRepaired: () => isRunning(client, orderNumber) };
  };
}

/** As if Temporal was restored from a backup older than the order. */
async function prepareNeverStarted(bench: Bench) {
  const { orderNumber } = await writeOrder(bench.merchantId, bench);
  return async () => {
    await bench.sql`DELETE FROM order_wakeups WHERE order_number = ${orderNumber}`;
    const isRepaired = async () => (await bench.workflows.find(orderNumber)).state === 'running';
    return { orderNumber, isRepaired };
  };
}

/** As if Temporal was restored from a backup older than the order's cancellation. */
async function prepareRowAhead(bench: Bench, order: OrderRow) {
  const { orderNumber, terms, createdAt, paymentLinkExpiresAt } = order;
  const { state } = createOrder(terms, createdAt.getTime(), paymentLinkExpiresAt.getTime());
  const closing = decide(state, { type: 'cancel' }, Date.now());
  if (closing.outcome === 'refused') throw closing.error;
  const closingState = { ...state, pendingOperation: closing.state.pendingOperation };
  const closed = decide(closingState, { type: 'sessionClosed' }, Date.now());
  if (closed.outcome === 'refused') throw closed.error;
  return async () => {
    await bench.recordStep({ orderNumber, step: closed.step }, 86_400_000);
    const isRepaired = async () => (await bench.workflows.find(orderNumber)).state === 'closed';
    return { orderNumber, isRepaired };
  };
}

/** As if the database was restored from a backup older than the order's delivery. */
async function prepareRowBehind({ ownerSql, post }: Bench, { orderNumber }: OrderRow) {
  await post(`/test-helpers/orders/${orderNumber}/pay`);
  const restore = await backUp({ sql: ownerSql }, orderNumber);
  await post(`/orders/${orderNumber}/deliver`);
  return async () => {
    await restore();
    const isRepaired = async () =>
      (await findOrderByNumber(ownerSql, orderNumber)).status === 'DELIVERED';
    return { orderNumber, isRepaired };
  };
}
