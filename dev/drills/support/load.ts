import { setTimeout as delay } from 'node:timers/promises';
import type { OrderStatus } from '../../../src/domain/index.ts';
import type { Run } from '../../faults/run.ts';
import { COMMANDS, create, send, type CommandName } from '../../load/commands.ts';
import { inParallel } from '../../load/in-parallel.ts';
import type { Allowed } from '../../load/oracle/service.ts';
import { newLoadOrder, readOrder, untilFound, type LoadOrder } from '../../load/order.ts';

/** A run whose orders are made by a drill. */
export interface Drill extends Run, Load {
  /** What stops when the drill ends. */
  readonly ends: AsyncDisposableStack;
}

/** Orders of all kinds that are made in turn. */
interface Load {
  /** Every order of the drill. */
  readonly orders: DrillOrder[];
  /** Makes orders until it is finished, and reads their list four times a second; it resolves after a while. */
  startLoad(): Promise<void>;
  /** Starts no further orders; it resolves when those under way have made all their calls. */
  finishLoad(): Promise<void>;
}

/** What a fault leaves behind. */
export interface Outcome {
  /** What the check of everything allows; nothing by default. */
  readonly allowed?: Allowed;
  /** Proves what holds once nothing is under way. */
  readonly afterwards: () => Promise<void>;
}

/** How long orders are made before a fault, and after it. */
export const LOAD_MS = 8000;

/** How many orders of the load make their calls at the same time. */
const CONCURRENCY = 4;
const OPEN_CONCURRENCY = 12;
const AMOUNT_PAISE = 49_950;
const READ_EVERY_MS = 250;

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
const OPEN = LOAD.filter((calls) => !['pay', undefined].includes(calls.at(-1)));

/** An order of a drill. */
export interface DrillOrder extends LoadOrder {
  readonly calls: Calls;
}

/** The load of a run, before its start. */
export function createLoad({ deps, merchant }: Run): Load {
  const orders: DrillOrder[] = [];
  const running: Promise<void>[] = [];
  let isFinished = false;
  function* callsInTurn() {
    for (let begun = 0; !isFinished; begun += 1) yield LOAD[begun % LOAD.length] ?? [];
  }
  const readOrders = async () => {
    while (!isFinished) {
      await merchant.client.send({ method: 'GET', path: '/orders' });
      await delay(READ_EVERY_MS);
    }
  };
  return {
    orders,
    async startLoad() {
      const makeOrder = (calls: Calls) => makeCalls(newOrder({ deps, merchant, orders }, calls));
      running.push(inParallel(callsInTurn(), CONCURRENCY, makeOrder), readOrders());
      await delay(LOAD_MS);
    },
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
export async function makeOpenOrders(drill: Drill, count: number) {
  const open = Array.from({ length: count }, (_, index) => {
    const calls = OPEN[index % OPEN.length] ?? [];
    return { last: calls.at(-1), order: newOrder(drill, calls.slice(0, -1)) };
  });
  await inParallel(open, OPEN_CONCURRENCY, ({ order }) => makeCalls(order));
  return {
    orderNumbers: open.map(({ order }) => order.orderNumber),
    continue: () =>
      inParallel(open, OPEN_CONCURRENCY, async ({ last, order }) => {
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

/** Makes the calls of an order whose steps are not recorded, in their order. @returns how many */
export async function makeMissingCalls(
  order: DrillOrder,
  recorded: readonly string[],
): Promise<number> {
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
  const status = await untilFound(order, 'payment', async () => {
    const found = (await readOrder(order))?.status ?? 'unknown';
    return found === 'ACCEPTED' ? undefined : found;
  });
  if (status === 'PAID') forgetSurprises(order);
  return status === 'PAID';
}

/** Forgets what was refused: lost data explains it. */
export function forgetSurprises({ deps: { memory }, orderNumber }: DrillOrder): void {
  const others = memory.surprises.filter(({ subject }) => subject !== orderNumber);
  memory.surprises.splice(0, Infinity, ...others);
}
