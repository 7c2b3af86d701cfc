import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OrderStatus, StepKind } from '../../../src/domain/index.ts';
import type { MerchantClient } from '../../load/client.ts';

const DAY_SECONDS = 24 * 3600;
const READ_EVERY_MS = 250;
const REPEATS_AT_ONCE = 4;
/** A recorded payment that its order has not taken is applied again after 30 s, each minute. */
const APPLIED_WITHIN_MS = 100_000;

interface Call {
  /** The end of its path. */
  readonly operation: string;
  /** Whether it is a test helper of the sandbox, which acts as the buyer or moves the clock. */
  readonly isHelper?: boolean;
  readonly body?: object;
  /** The step that a successful answer acknowledges. */
  readonly step: StepKind;
}

/** What merchants and buyers do. */
const CALLS = {
  pay: { operation: 'pay', isHelper: true, step: 'PAYMENT_SUCCESS' },
  deliver: { operation: 'deliver', step: 'DELIVERY_CONFIRMED' },
  advance: {
    operation: 'advance',
    isHelper: true,
    body: { seconds: DAY_SECONDS },
    step: 'CLOCK_ADVANCED',
  },
  cancel: { operation: 'cancel', step: 'ORDER_CANCELLED' },
  dispute: {
    operation: 'dispute',
    isHelper: true,
    body: { reason: 'The parcel never came' },
    step: 'DISPUTE_RAISED',
  },
  evidence: {
    operation: 'dispute/evidence',
    body: { text: 'The courier has a signature' },
    step: 'EVIDENCE_SUBMITTED',
  },
  resolve: {
    operation: 'dispute/resolve',
    body: { resolution: 'A new parcel was sent' },
    step: 'DISPUTE_RESOLVED',
  },
  accept: { operation: 'dispute/accept', step: 'REFUND_STARTED' },
} as const satisfies Record<string, Call>;
type CallName = keyof typeof CALLS;

/** The calls of each kind of order after its creation, and the status in which they leave it. */
const KINDS = {
  completed: { calls: ['pay', 'deliver', 'advance'], ends: 'COMPLETED' },
  accepted: { calls: [], ends: 'ACCEPTED' },
  paid: { calls: ['pay'], ends: 'PAID' },
  refunded: { calls: ['pay', 'dispute', 'accept'], ends: 'REFUNDED' },
  delivered: { calls: ['pay', 'deliver'], ends: 'DELIVERED' },
  cancelled: { calls: ['cancel'], ends: 'CANCELLED' },
  resolved: { calls: ['pay', 'deliver', 'dispute', 'resolve'], ends: 'DELIVERED' },
  disputed: { calls: ['pay', 'dispute', 'evidence'], ends: 'DISPUTE_UNDER_REVIEW' },
} as const satisfies Record<string, { calls: readonly CallName[]; ends: OrderStatus }>;
/** The next call of an order that was left open, and its status after that. */
const NEXT: Partial<Record<Kind, { call: CallName; ends: OrderStatus }>> = {
  accepted: { call: 'cancel', ends: 'CANCELLED' },
  paid: { call: 'deliver', ends: 'DELIVERED' },
  delivered: { call: 'advance', ends: 'COMPLETED' },
  disputed: { call: 'resolve', ends: 'DELIVERED' },
};
/** A kind of order. */
export type Kind = keyof typeof KINDS;

/** A command that the API has carried out, and when its answer arrived. */
export interface Acknowledged {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly step: StepKind;
  readonly atMs: number;
}

/** An order as its merchant has it. */
export interface LoadOrder {
  readonly kind: Kind;
  readonly idempotencyKey: string;
  /** Set by the answer to its creation. */
  orderNumber: string | undefined;
  readonly acknowledged: Acknowledged[];
  /** Where its calls leave it. */
  ends: OrderStatus;
  /** The answer that ended its calls early, which only lost data explains. */
  refusal: string | undefined;
}

/** Orders of every kind, made through the API. */
export interface Load {
  readonly orders: LoadOrder[];
  /** Starts no further orders; resolves when those under way have made all their calls. */
  finish(): Promise<void>;
}

/**
 * Makes orders of all kinds in turn until it is finished, and reads an order four times a second.
 *
 * @param concurrency how many orders make their calls at the same time
 */
export function startLoad(client: MerchantClient, concurrency: number): Load {
  const orders: LoadOrder[] = [];
  const kinds = Object.keys(KINDS) as Kind[];
  let isFinished = false;
  const makeOneAfterAnother = async () => {
    while (!isFinished) {
      const order = newOrder(kinds[orders.length % kinds.length] ?? 'completed');
      orders.push(order);
      await makeCalls(client, order);
    }
  };
  const readOrders = async () => {
    for (let next = 0; !isFinished; next += 1) {
      const known = orders.filter(({ orderNumber }) => orderNumber !== undefined);
      const order = known[next % known.length];
      if (order?.orderNumber) {
        await client.send({ method: 'GET', path: `/orders/${order.orderNumber}` });
      }
      await delay(READ_EVERY_MS);
    }
  };
  const running = [...Array.from({ length: concurrency }, makeOneAfterAnother), readOrders()];
  return {
    orders,
    async finish() {
      isFinished = true;
      await Promise.all(running);
    },
  };
}

/** Makes a number of orders of the given kinds in turn, several at the same time. */
export async function makeOrders(
  client: MerchantClient,
  count: number,
  kinds: readonly Kind[],
  concurrency: number,
): Promise<LoadOrder[]> {
  const orders = Array.from({ length: count }, (_, index) =>
    newOrder(kinds[index % kinds.length] ?? 'accepted'),
  );
  const queue = orders.values();
  const take = async () => {
    for (const order of queue) await makeCalls(client, order);
  };
  await Promise.all(Array.from({ length: concurrency }, take));
  return orders;
}

/** Makes one more call of each order that was left open. */
export async function continueOrders(
  client: MerchantClient,
  orders: readonly LoadOrder[],
  concurrency: number,
): Promise<void> {
  const queue = orders.values();
  const take = async () => {
    for (const order of queue) {
      const next = NEXT[order.kind];
      if (next === undefined) continue;
      order.ends = next.ends;
      await makeCall(client, order, next.call);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, take));
}

const newOrder = (kind: Kind): LoadOrder => ({
  kind,
  idempotencyKey: randomUUID(),
  orderNumber: undefined,
  acknowledged: [],
  ends: KINDS[kind].ends,
  refusal: undefined,
});

async function makeCalls(client: MerchantClient, order: LoadOrder): Promise<void> {
  if (await create(client, order)) await makeMissingCalls(client, order, []);
}

/** Creates an order, again with the same key if it was lost. @returns whether it is created */
async function create(client: MerchantClient, order: LoadOrder): Promise<boolean> {
  const { idempotencyKey } = order;
  const { status, message, data } = await client.untilAnswered({
    method: 'POST',
    path: '/orders',
    idempotencyKey,
    body: {
      amount: 499.5,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Blue kurta, size M',
    },
  });
  if (data === null) {
    order.refusal = `create: ${status} ${message}`;
    return false;
  }
  order.orderNumber = data.order_number;
  const operation = 'create';
  order.acknowledged.push({ operation, idempotencyKey, step: 'ORDER_CREATED', atMs: Date.now() });
  return true;
}

/** Makes the calls of an order whose steps are not recorded, in their order. @returns how many */
async function makeMissingCalls(
  client: MerchantClient,
  order: LoadOrder,
  recorded: readonly string[],
): Promise<number> {
  const missing = KINDS[order.kind].calls.filter((name) => !recorded.includes(CALLS[name].step));
  for (const name of missing) {
    if (await makeCall(client, order, name)) continue;
    if (name !== 'pay' || !(await isPaidAnyway(client, order))) break;
  }
  return missing.length;
}

/**
 * The gateway kept a payment that the database lost: reconciliation records and then applies it, also
 * before the call.
 */
async function isPaidAnyway(client: MerchantClient, order: LoadOrder): Promise<boolean> {
  const deadline = Date.now() + APPLIED_WITHIN_MS;
  for (;;) {
    const { data } = await client.send({ method: 'GET', path: `/orders/${order.orderNumber}` });
    if (data?.status === 'PAID') {
      order.refusal = undefined;
      return true;
    }
    if (data?.status !== 'ACCEPTED' || Date.now() > deadline) return false;
    await delay(READ_EVERY_MS);
  }
}

/**
 * Acts as merchants do after data was lost: creates lost orders again, with their Idempotency-Keys, and
 * repeats the calls whose steps are lost.
 *
 * @param stepsOf the recorded steps of an order; undefined if the order is lost
 * @returns how many orders were created again, and how many calls were made
 */
export async function repeatLost(
  client: MerchantClient,
  orders: readonly LoadOrder[],
  stepsOf: (order: LoadOrder) => readonly string[] | undefined,
): Promise<{ created: number; calls: number }> {
  const repeated = { created: 0, calls: 0 };
  const queue = orders.values();
  const take = async () => {
    for (const order of queue) {
      order.refusal = undefined;
      const steps = stepsOf(order);
      if (steps === undefined) {
        repeated.created += 1;
        order.acknowledged.splice(0);
        if (!(await create(client, order))) continue;
      }
      repeated.calls += await makeMissingCalls(client, order, steps ?? []);
    }
  };
  await Promise.all(Array.from({ length: REPEATS_AT_ONCE }, take));
  return repeated;
}

/** Makes a call of an order that was created. @returns whether the API carried it out */
async function makeCall(
  client: MerchantClient,
  order: LoadOrder,
  name: CallName,
): Promise<boolean> {
  const { operation, isHelper = false, body, step }: Call = CALLS[name];
  const idempotencyKey = randomUUID();
  const path = `${isHelper ? '/test-helpers' : ''}/orders/${order.orderNumber}/${operation}`;
  const { status, message } = await client.untilAnswered({
    method: 'POST',
    path,
    idempotencyKey,
    ...(body && { body }),
  });
  if (status !== 200) order.refusal = `${operation}: ${status} ${message}`;
  else order.acknowledged.push({ operation, idempotencyKey, step, atMs: Date.now() });
  return status === 200;
}
