import { setTimeout as delay } from 'node:timers/promises';
import type { OrderStatus } from '../../../src/domain/index.ts';
import { startMembers, stopMembers, type Run } from '../../faults/run.ts';
import { COMMANDS, create, send, type CommandName } from '../../load/commands.ts';
import { inParallel } from '../../load/in-parallel.ts';
import type { Allowed } from '../../load/oracle/service.ts';
import { newLoadOrder, readOrder, type LoadOrder } from '../../load/order.ts';
import type { MemberName } from '../../production-like/start.ts';
import { report, waitFor } from './report.ts';

/** A run whose orders are made by a drill. */
export interface Drill extends Run, Load {
  /** What stops when the drill ends. */
  readonly ends: AsyncDisposableStack;
}

/** Orders of all kinds that are made in turn. */
interface Load {
  /** Every order of the drill. */
  readonly orders: DrillOrder[];
  /** Makes orders until it is finished, and reads an order four times a second. */
  startLoad(): void;
  /** Starts no further orders; it resolves when those under way have made all their calls. */
  finishLoad(): Promise<void>;
}

/** What a fault leaves behind. */
export interface Outcome {
  /** What the check of everything allows; nothing by default. */
  readonly allowed?: Allowed;
  /** Proves what holds once nothing is under way. */
  readonly afterwards?: () => Promise<void>;
}

/** How long orders are made before a fault, and after it. */
export const LOAD_MS = 8000;

/** How many orders of the load make their calls at the same time. */
const CONCURRENCY = 4;

const AMOUNT_PAISE = 49_950;
const READ_EVERY_MS = 250;
const AT_ONCE = 4;
/** A recorded payment that its order has not taken is applied again after 30 s, each minute. */
const APPLIED_WITHIN_MS = 100_000;

/** The status after each call. */
const STATUS_AFTER = {
  pay: 'PAID',
  deliver: 'DELIVERED',
  advanceOneDay: 'COMPLETED',
  cancel: 'CANCELLED',
  dispute: 'DISPUTE_OPEN',
  submitEvidence: 'DISPUTE_UNDER_REVIEW',
  resolve: 'DELIVERED',
  accept: 'REFUNDED',
} as const satisfies Partial<Record<CommandName, OrderStatus>>;

/** Calls of an order after its creation. */
type Calls = readonly (keyof typeof STATUS_AFTER)[];

/** The calls of the orders of the load, which it makes in turn. */
const LOAD: readonly Calls[] = [
  ['pay', 'deliver', 'advanceOneDay'],
  [],
  ['pay'],
  ['pay', 'dispute', 'accept'],
  ['pay', 'deliver'],
  ['cancel'],
  ['pay', 'deliver', 'dispute', 'resolve'],
  ['pay', 'dispute', 'submitEvidence'],
];

/** The calls of orders that stay open, and are continued with the last of them. */
const OPEN: readonly Calls[] = [
  ['cancel'],
  ['pay', 'deliver'],
  ['pay', 'deliver', 'advanceOneDay'],
  ['pay', 'dispute', 'submitEvidence', 'resolve'],
];

/** An order of a drill. */
export interface DrillOrder extends LoadOrder {
  readonly calls: Calls;
}

/** The load of a run, before its start. */
export function createLoad({ deps, merchant }: Run): Load {
  const orders: DrillOrder[] = [];
  const running: Promise<void>[] = [];
  let isFinished = false;
  let begun = 0;
  const makeOneAfterAnother = async () => {
    while (!isFinished) {
      await makeCalls(newOrder({ deps, merchant, orders }, LOAD[begun++ % LOAD.length] ?? []));
    }
  };
  const readOrders = async () => {
    for (let next = 0; !isFinished; next += 1) {
      const known = orders.filter(({ orderNumber }) => orderNumber !== '');
      const order = known[next % known.length];
      const path = `/orders/${order?.orderNumber}`;
      if (order) await merchant.client.send({ method: 'GET', path });
      await delay(READ_EVERY_MS);
    }
  };
  return {
    orders,
    startLoad: () =>
      void running.push(...Array.from({ length: CONCURRENCY }, makeOneAfterAnother), readOrders()),
    async finishLoad() {
      isFinished = true;
      await Promise.all(running);
    },
  };
}

/**
 * Makes orders in four statuses that are not final.
 *
 * @returns continues each of them with another call
 */
export async function makeOpenOrders(drill: Drill, count: number, concurrency: number) {
  const open = Array.from({ length: count }, (_, index) => {
    const calls = OPEN[index % OPEN.length] ?? [];
    return { last: calls.at(-1), order: newOrder(drill, calls.slice(0, -1)) };
  });
  await inParallel(open, concurrency, ({ order }) => makeCalls(order));
  return {
    orderNumbers: open.map(({ order }) => order.orderNumber),
    continue: () =>
      inParallel(open, concurrency, async ({ last, order }) => {
        if (last === undefined) return;
        order.acknowledged.finalStatus = STATUS_AFTER[last];
        await send(order, last);
      }),
  };
}

function newOrder(
  { deps, merchant, orders }: Pick<Drill, 'deps' | 'merchant' | 'orders'>,
  calls: Calls,
): DrillOrder {
  const order = { ...newLoadOrder(deps, merchant, AMOUNT_PAISE), calls };
  const last = calls.at(-1);
  order.acknowledged.finalStatus = last ? STATUS_AFTER[last] : 'ACCEPTED';
  order.acknowledged.mostCaptures = 1;
  orders.push(order);
  return order;
}

async function makeCalls(order: DrillOrder): Promise<void> {
  await create(order);
  await makeMissingCalls(order, []);
}

/** The kinds of the recorded steps of each order in the database. */
export async function recordedSteps({ withSql }: Drill): Promise<Map<string, string[]>> {
  const rows = await withSql(
    (sql) => sql<{ orderNumber: string; kinds: string[] }[]>`
      SELECT order_number, array_agg(kind) AS kinds FROM order_steps GROUP BY order_number`,
  );
  return new Map(rows.map(({ orderNumber, kinds }) => [orderNumber, kinds]));
}

/**
 * Acts as merchants do after data was lost: creates lost orders again, with their Idempotency-Keys, and
 * repeats the calls whose steps are lost. What was refused before is forgotten: only the lost data explains it.
 */
export async function repeatLost(drill: Drill): Promise<void> {
  const recorded = await recordedSteps(drill);
  let [created, calls] = [0, 0];
  await inParallel(drill.orders, AT_ONCE, async (order) => {
    forgetSurprises(order);
    const steps = recorded.get(order.orderNumber);
    if (steps === undefined) {
      created += 1;
      order.acknowledged.commands.splice(0);
      order.acknowledged.orderNumbers.clear();
      await create(order);
    }
    const made = await makeMissingCalls(order, steps ?? []);
    calls += made;
  });
  report(
    `merchants created ${created} lost orders again, with their keys, and made ${calls} calls`,
  );
}

/** Makes the calls of an order whose steps are not recorded, in their order. @returns how many */
async function makeMissingCalls(order: DrillOrder, recorded: readonly string[]): Promise<number> {
  const missing = order.calls.filter((name) => !recorded.includes(COMMANDS[name].step));
  for (const name of missing) {
    const { status } = await send(order, name);
    if (status !== 200 && (name !== 'pay' || !(await isPaidAnyway(order)))) break;
  }
  return missing.length;
}

/**
 * The gateway kept a payment that the database lost: reconciliation records and then applies it, also
 * before the call.
 */
async function isPaidAnyway(order: DrillOrder): Promise<boolean> {
  const applied = waitFor('the payment is applied', APPLIED_WITHIN_MS, async () => {
    const { status = 'unknown' } = (await readOrder(order)) ?? {};
    return status !== 'ACCEPTED' && status;
  });
  const isPaid = (await applied.catch(() => undefined)) === 'PAID';
  if (isPaid) forgetSurprises(order);
  return isPaid;
}

function forgetSurprises({ deps: { memory }, orderNumber }: DrillOrder): void {
  const others = memory.surprises.filter(({ subject }) => subject !== orderNumber);
  memory.surprises.splice(0, Infinity, ...others);
}

/**
 * Stops members, which hold newer data in memory than a restored server has, for some work, and starts them again.
 *
 * @param first is ready before the others start
 */
export async function whileStopped(
  drill: Drill,
  [first, ...others]: readonly [MemberName, ...MemberName[]],
  work: () => Promise<void>,
): Promise<void> {
  await stopMembers(drill, [...others, first]);
  await work();
  await startMembers(drill, [first]);
  await startMembers(drill, others);
}
