import { setTimeout as delay } from 'node:timers/promises';
import type { OrderStatus } from '../../../src/domain/index.ts';
import type { Run } from '../../faults/run.ts';
import { COMMANDS, create, send, type CommandName } from '../../load/commands.ts';
import { inParallel } from '../../load/in-parallel.ts';
import { newLoadOrder, readOrder, type LoadOrder } from '../../load/order.ts';

/** A run whose orders are made by a drill. */
export interface Drill extends Run {
  /** Every order that was made. */
  readonly orders: DrillOrder[];
}

const AMOUNT_PAISE = 49_950;
const READ_EVERY_MS = 250;
const REPEATS_AT_ONCE = 4;
/** A recorded payment that its order has not taken is applied again after 30 s, each minute. */
const APPLIED_WITHIN_MS = 100_000;

/** The calls of each kind of order after its creation, and the status in which they leave it. */
const KINDS = {
  completed: { calls: ['pay', 'deliver', 'advanceOneDay'], ends: 'COMPLETED' },
  accepted: { calls: [], ends: 'ACCEPTED' },
  paid: { calls: ['pay'], ends: 'PAID' },
  refunded: { calls: ['pay', 'dispute', 'accept'], ends: 'REFUNDED' },
  delivered: { calls: ['pay', 'deliver'], ends: 'DELIVERED' },
  cancelled: { calls: ['cancel'], ends: 'CANCELLED' },
  resolved: { calls: ['pay', 'deliver', 'dispute', 'resolve'], ends: 'DELIVERED' },
  disputed: { calls: ['pay', 'dispute', 'submitEvidence'], ends: 'DISPUTE_UNDER_REVIEW' },
} as const satisfies Record<string, { calls: readonly CommandName[]; ends: OrderStatus }>;
type Kind = keyof typeof KINDS;

/** The next call of an order that was left open, and its status after that. */
const NEXT: Partial<Record<Kind, { call: CommandName; ends: OrderStatus }>> = {
  accepted: { call: 'cancel', ends: 'CANCELLED' },
  paid: { call: 'deliver', ends: 'DELIVERED' },
  delivered: { call: 'advanceOneDay', ends: 'COMPLETED' },
  disputed: { call: 'resolve', ends: 'DELIVERED' },
};
/** The kinds of orders that can be continued. */
export const OPEN_KINDS = ['accepted', 'paid', 'delivered', 'disputed'] as const;

/** An order of a drill. */
export interface DrillOrder extends LoadOrder {
  readonly kind: Kind;
}

/**
 * Makes orders of all kinds in turn until it is finished, and reads an order four times a second.
 *
 * @param concurrency how many orders make their calls at the same time
 * @returns `finish` starts no further orders; it resolves when those under way have made all their calls
 */
export function startLoad(
  drill: Drill,
  concurrency: number,
): { readonly finish: () => Promise<void> } {
  const { orders, merchant } = drill;
  const first = orders.length;
  const kinds = Object.keys(KINDS) as Kind[];
  let isFinished = false;
  const makeOneAfterAnother = async () => {
    while (!isFinished) {
      await makeCalls(newOrder(drill, kinds[(orders.length - first) % kinds.length]));
    }
  };
  const readOrders = async () => {
    for (let next = 0; !isFinished; next += 1) {
      const known = orders.slice(first).filter(({ orderNumber }) => orderNumber !== '');
      const order = known[next % known.length];
      const path = `/orders/${order?.orderNumber}`;
      if (order) await merchant.client.send({ method: 'GET', path });
      await delay(READ_EVERY_MS);
    }
  };
  const running = [...Array.from({ length: concurrency }, makeOneAfterAnother), readOrders()];
  return {
    async finish() {
      isFinished = true;
      await Promise.all(running);
    },
  };
}

/** Makes a number of orders of the given kinds in turn, several at the same time. */
export async function makeOrders(
  drill: Drill,
  count: number,
  kinds: readonly Kind[],
  concurrency: number,
): Promise<DrillOrder[]> {
  const orders = Array.from({ length: count }, (_, index) =>
    newOrder(drill, kinds[index % kinds.length]),
  );
  await inParallel(orders, concurrency, makeCalls);
  return orders;
}

/** Makes one more call of each order that was left open. */
export const continueOrders = (orders: readonly DrillOrder[], concurrency: number) =>
  inParallel(orders, concurrency, async (order) => {
    const next = NEXT[order.kind];
    if (next === undefined) return;
    order.acknowledged.finalStatus = next.ends;
    await send(order, next.call);
  });

/**
 * Acts as merchants do after data was lost: creates lost orders again, with their Idempotency-Keys, and
 * repeats the calls whose steps are lost. What was refused before is forgotten: only the lost data explains it.
 *
 * @param stepsOf the recorded steps of an order; undefined if the order is lost
 * @returns how many orders were created again, and how many calls were made
 */
export async function repeatLost(
  orders: readonly DrillOrder[],
  stepsOf: (orderNumber: string) => readonly string[] | undefined,
): Promise<{ created: number; calls: number }> {
  const repeated = { created: 0, calls: 0 };
  await inParallel(orders, REPEATS_AT_ONCE, async (order) => {
    forgetSurprises(order);
    const steps = stepsOf(order.orderNumber);
    if (steps === undefined) {
      repeated.created += 1;
      order.acknowledged.commands.splice(0);
      order.acknowledged.orderNumbers.clear();
      await create(order);
    }
    repeated.calls += await makeMissingCalls(order, steps ?? []);
  });
  return repeated;
}

function newOrder({ deps, merchant, orders }: Drill, kind: Kind = 'completed'): DrillOrder {
  const order = { ...newLoadOrder(deps, merchant, AMOUNT_PAISE), kind };
  order.acknowledged.finalStatus = KINDS[kind].ends;
  order.acknowledged.mostCaptures = 1;
  orders.push(order);
  return order;
}

async function makeCalls(order: DrillOrder): Promise<void> {
  await create(order);
  await makeMissingCalls(order, []);
}

/** Makes the calls of an order whose steps are not recorded, in their order. @returns how many */
async function makeMissingCalls(order: DrillOrder, recorded: readonly string[]): Promise<number> {
  const missing = KINDS[order.kind].calls.filter((name) => !recorded.includes(COMMANDS[name].step));
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
  const deadline = Date.now() + APPLIED_WITHIN_MS;
  for (;;) {
    const now = await readOrder(order);
    if (now?.status === 'PAID') {
      forgetSurprises(order);
      return true;
    }
    if (now?.status !== 'ACCEPTED' || Date.now() > deadline) return false;
    await delay(READ_EVERY_MS);
  }
}

function forgetSurprises({ deps: { memory }, orderNumber }: DrillOrder): void {
  const others = memory.surprises.filter(({ subject }) => subject !== orderNumber);
  memory.surprises.splice(0, Infinity, ...others);
}
