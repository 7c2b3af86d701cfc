import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { SEAL_BLOCKS_WORKFLOW, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { newOrderOf } from '../../src/orders/commands/create-order.ts';
import type { OrderFilter } from '../../src/orders/lists/list-orders.ts';
import { listOrders, orderPageQuery } from '../../src/orders/lists/list-orders.ts';
import {
  ORDERS_PER_BLOCK as ORDERS_PER_BLOCK_IN_SERVICE,
  sealOrderBlocks,
} from '../../src/orders/lists/order-blocks.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { cursorOf } from '../../src/http/input/cursor.ts';
import { anOrder } from '../support/api-client.ts';
import type { Merchant } from '../support/merchant.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

interface OrderPage {
  content: Order[];
  totalElements: number;
  totalPages: number;
  number: number;
  size: number;
  next: string | null;
}
const HOUR_MS = 3_600_000;
const ORDERS_PER_BLOCK = 7;
const MATCHED = 'shop-1';
const BUYER = 'Regular.Buyer@example.com';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

/** The same random numbers in each run, from 0 to 1. */
let seed = 20_261_120;
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
const filterOf = ({ merchantId }: Merchant): OrderFilter => ({
  merchantId,
  environment: 'sandbox',
});

/** Orders of the past hours in any status, several of them created at the same moment. */
async function writePastOrders(
  service: TestService,
  { merchantId }: Merchant,
  count: number,
): Promise<void> {
  const startMs = Date.now() - 30 * HOUR_MS;
  const rows = Array.from({ length: count }, (_, index) => {
    const request = { merchantId, environment: 'sandbox' as const, idempotencyKey: randomUUID() };
    const newOrder = newOrderOf({ ...request, body: anOrder() }, service.config.durations);
    const at = new Date(startMs + Math.floor(random() * count) * 1000);
    const times = { createdAt: at, updatedAt: at, paymentLinkExpiresAt: at };
    const merchantOrderId = index % 10 === 0 ? MATCHED : null;
    const terms = service.sql.json({ ...newOrder.terms });
    const buyerEmail = index % 7 === 0 ? BUYER : `buyer-${index}@example.com`;
    const status = pick(ORDER_STATUSES);
    return {
      ...newOrder,
      ...times,
      gateway: 'razorpay',
      merchantOrderId,
      buyerEmail,
      terms,
      status,
    };
  });
  await service.sql`INSERT INTO orders ${service.sql(rows)}`;
}

interface Listed {
  orderNumber: string;
  status: OrderStatus;
  merchantOrderId: string | null;
  buyerEmail: string;
  createdAt: Date;
}

/** The list as the contract describes it, computed from all orders. */
async function everyMatching(service: TestService, filter: OrderFilter): Promise<string[]> {
  const rows = await service.sql<Listed[]>`
    SELECT order_number, status, merchant_order_id, buyer_email, created_at FROM orders
    WHERE merchant_id = ${filter.merchantId} AND environment = ${filter.environment}`;
  const { status, merchantOrderId, buyerEmail, createdFrom, createdTo } = filter;
  return rows
    .filter(
      (row) =>
        (status === undefined || row.status === status) &&
        (merchantOrderId === undefined || row.merchantOrderId === merchantOrderId) &&
        (buyerEmail === undefined || row.buyerEmail.toLowerCase() === buyerEmail.toLowerCase()) &&
        (createdFrom === undefined || row.createdAt >= createdFrom) &&
        (createdTo === undefined || row.createdAt < createdTo),
    )
    .sort(
      (one, other) =>
        other.createdAt.getTime() - one.createdAt.getTime() ||
        (one.orderNumber < other.orderNumber ? 1 : -1),
    )
    .map(({ orderNumber }) => orderNumber);
}

/** A random filter; its times are equal to, between and beyond the orders' times. */
async function anyFilter(service: TestService, base: OrderFilter): Promise<OrderFilter> {
  const rows = await service.sql<{ createdAt: Date }[]>`
    SELECT created_at FROM orders WHERE merchant_id = ${base.merchantId}`;
  const moment = () => {
    const shiftMs = pick([0, 0, 1, -1, 500, 20 * HOUR_MS, -20 * HOUR_MS]);
    return pick([undefined, new Date(pick(rows).createdAt.getTime() + shiftMs)]);
  };
  return {
    ...base,
    status: pick([undefined, undefined, ...ORDER_STATUSES]),
    merchantOrderId: pick([undefined, undefined, undefined, MATCHED]),
    buyerEmail: pick([undefined, undefined, undefined, BUYER, BUYER.toLowerCase()]),
    createdFrom: moment(),
    createdTo: moment(),
  };
}

async function assertListsAreExact(
  service: TestService,
  base: OrderFilter,
  times: number,
): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const filter = time === 0 ? base : await anyFilter(service, base);
    const expected = await everyMatching(service, filter);
    const size = pick([1, 3, 10, 100]);
    const last = Math.ceil(expected.length / size);
    for (const number of [0, Math.floor(last / 2), Math.max(0, last - 1), last + 1]) {
      const { orders: listed, totalElements } = await listOrders(service.sql, filter, {
        skip: number * size,
        size,
      });
      const numbers = listed.map(({ orderNumber }) => orderNumber);
      const page = expected.slice(number * size, (number + 1) * size);
      expect({ filter, totalElements, numbers }).toEqual({
        filter,
        totalElements: expected.length,
        numbers: page,
      });
    }
    expect({ filter, numbers: await followed(service, filter, size) }).toEqual({
      filter,
      numbers: expected,
    });
  }
}

/** The orders of all pages, each of which begins after the last order of the page before it. */
async function followed(service: TestService, filter: OrderFilter, size: number) {
  const numbers: string[] = [];
  for (;;) {
    const after = numbers.at(-1);
    const page = await listOrders(service.sql, filter, { skip: 0, size, after });
    numbers.push(...page.orders.map(({ orderNumber }) => orderNumber));
    if (!page.hasMore) return numbers;
  }
}

async function assertBlocksAreTrue(service: TestService, { merchantId }: Merchant): Promise<void> {
  const wrong = await service.sql`
    SELECT b.ends_at, b.orders, b.by_status, counted.* FROM (
      SELECT *, lag(ends_at, 1, '-infinity') OVER (ORDER BY ends_at) AS begins_at
      FROM order_blocks WHERE merchant_id = ${merchantId}
    ) AS b, LATERAL (
      SELECT count(*) AS true_orders, ARRAY(
        SELECT count(*) FILTER (WHERE o.status = s) FROM unnest(enum_range(NULL::order_status)) AS s
        LEFT JOIN orders o ON o.merchant_id = ${merchantId}
          AND o.created_at >= b.begins_at AND o.created_at < b.ends_at
        GROUP BY s ORDER BY s)::integer[] AS true_by_status
      FROM orders WHERE merchant_id = ${merchantId}
        AND created_at >= b.begins_at AND created_at < b.ends_at
    ) AS counted
    WHERE b.orders <> true_orders OR b.by_status <> true_by_status`;
  expect(wrong).toEqual([]);
}

/** The blocks count what their orders are, and so many lists with them are exact. */
async function assertBlocksAreExact(service: TestService, shop: Merchant, times: number) {
  await assertBlocksAreTrue(service, shop);
  await assertListsAreExact(service, filterOf(shop), times);
}

const seal = (service: TestService) => sealOrderBlocks(service.sql, ORDERS_PER_BLOCK);

async function shopWithPast(service: TestService, count: number): Promise<Merchant> {
  const shop = await service.newMerchant({ webhooks: false });
  await writePastOrders(service, shop, count);
  return shop;
}

describe('a list with blocks', () => {
  test('is exact for every filter and page, before and after its orders are divided into blocks', async ({
    service,
  }) => {
    const shop = await shopWithPast(service, 150);
    await assertListsAreExact(service, filterOf(shop), 20);

    expect(await seal(service)).toBeGreaterThan(10);
    await assertBlocksAreExact(service, shop, 60);
  });

  test('stays exact when orders change, new ones are created, and old ones are imported', async ({
    service,
  }) => {
    const shop = await shopWithPast(service, 80);
    await seal(service);
    await service.sql`
      UPDATE orders SET status = 'COMPLETED'
      WHERE merchant_id = ${shop.merchantId} AND status IN ('PAID', 'DELIVERED')`;
    await writeOrder(service, shop);
    await service.sql`
      INSERT INTO orders
      SELECT imported.* FROM orders AS o, LATERAL jsonb_populate_record(o, jsonb_build_object(
        'order_number', 'ORDIMPORTED' || o.order_number, 'payment_token', o.order_number,
        'idempotency_key', 'imported ' || o.order_number)) AS imported
      WHERE o.merchant_id = ${shop.merchantId} LIMIT 5`;
    await assertBlocksAreExact(service, shop, 40);
  });

  test('stays exact while orders are written and changed as blocks are created', async ({
    service,
  }) => {
    const shop = await shopWithPast(service, 60);
    let isOver = false;
    const change = async () => {
      while (!isOver) {
        await service.sql`
          UPDATE orders SET status = ${pick(ORDER_STATUSES)} WHERE order_number = (
            SELECT order_number FROM orders WHERE merchant_id = ${shop.merchantId}
            ORDER BY random() LIMIT 1)`;
      }
    };
    const changing = Array.from({ length: 8 }, change);
    const [sealed, none] = await Promise.all([
      seal(service),
      seal(service),
      writeOrder(service, shop),
    ]);
    isOver = true;
    await Promise.all(changing);
    expect(sealed + none).toBeGreaterThan(3);
    await assertBlocksAreExact(service, shop, 20);
  });

  test('is divided into blocks by the workflow that the Schedule runs', async ({ service }) => {
    const shop = await service.newMerchant({ webhooks: false });
    await writePastOrders(service, shop, ORDERS_PER_BLOCK_IN_SERVICE + 1);
    const worker = await service.startWorker();
    const { client } = service.temporal;
    await client.workflow.execute(SEAL_BLOCKS_WORKFLOW, {
      workflowId: `seal-${randomUUID()}`,
      taskQueue: TASK_QUEUE,
    });
    await worker.stop();
    const [block] = await service.sql<{ orders: number }[]>`
      SELECT orders FROM order_blocks WHERE merchant_id = ${shop.merchantId}`;
    // Orders of the same moment are always in the same block.
    expect(block?.orders).toBeGreaterThanOrEqual(ORDERS_PER_BLOCK_IN_SERVICE);
    await assertListsAreExact(service, filterOf(shop), 5);
  });

  test('puts no orders of the last minute into blocks, and none while a transaction of that time is open', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ webhooks: false });
    for (let index = 0; index < 20; index += 1) await writeOrder(service, shop);
    const blocks = async () => {
      await seal(service);
      const [row] = await service.sql<{ count: number }[]>`
        SELECT count(*) FROM order_blocks WHERE merchant_id = ${shop.merchantId}`;
      return row?.count;
    };
    expect(await blocks()).toBe(0);
    await service.clock.set(2 * 60_000);
    expect(await blocks()).toBe(2);
    await service.clock.set(0);
  });
});

describe('GET /orders', () => {
  const list = async (merchant: Merchant, query: string) => {
    const { status, body } = await merchant.sandbox.get<OrderPage>(`/orders?${query}`);
    expect(status).toBe(200);
    const { content, next, ...metadata } = body.data;
    return { next, metadata, numbers: content.map(({ order_number }) => order_number) };
  };

  test('has the page metadata, newest first, 20 a page', async ({ merchant }) => {
    const made: string[] = [];
    for (let index = 0; index < 23; index += 1) {
      made.unshift((await merchant.sandbox.create()).order_number);
    }
    expect(await list(merchant, '')).toMatchObject({
      metadata: { totalElements: 23, totalPages: 2, number: 0, size: 20 },
      numbers: made.slice(0, 20),
    });
    expect(await list(merchant, 'page=1')).toMatchObject({
      metadata: { totalElements: 23, totalPages: 2, number: 1, size: 20 },
      numbers: made.slice(20),
    });
    expect(await list(merchant, 'page=7&size=5')).toMatchObject({
      metadata: { totalElements: 23, totalPages: 5, number: 7, size: 5 },
      numbers: [],
    });
  });

  test('keeps its order while new orders are created', async ({ merchant }) => {
    const before = await list(merchant, 'size=100');
    const more = await Promise.all(Array.from({ length: 10 }, () => merchant.sandbox.create()));
    const after = await list(merchant, 'size=100');
    expect(after.numbers.slice(more.length)).toEqual(before.numbers);
    expect(after.metadata).toMatchObject({ totalElements: before.metadata.totalElements + 10 });
  });

  test('by its cursor has every order once while new orders are created', async ({ service }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const made: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      made.unshift((await shop.sandbox.create()).order_number);
    }
    const first = await list(shop, 'size=2');
    await shop.sandbox.create();
    const second = await list(shop, `size=2&page=7&after=${first.next}`);
    await shop.sandbox.create();
    const third = await list(shop, `size=2&after=${second.next}`);
    expect([first, second, third].map(({ numbers }) => numbers)).toEqual([
      made.slice(0, 2),
      made.slice(2, 4),
      made.slice(4),
    ]);
    expect(second.metadata).toEqual({ totalElements: 6, totalPages: 3, number: 0, size: 2 });
    expect([third.next, (await list(shop, 'size=7')).next]).toEqual([null, null]);
    const filtered = await list(shop, `status=PAID&after=${first.next}`);
    expect(filtered).toMatchObject({ numbers: [], next: null, metadata: { totalElements: 0 } });
  });

  test('refuses a cursor that it has not given to this merchant', async ({ service, merchant }) => {
    const stranger = await service.newMerchant({ webhooks: false });
    for (let index = 0; index < 2; index += 1) await stranger.sandbox.create();
    const { next } = await list(stranger, 'size=1');
    for (const after of [next, 'x', '', cursorOf([1]), cursorOf([`ORD${'0'.repeat(26)}`])]) {
      const { status, body } = await merchant.sandbox.get(`/orders?after=${after}`);
      expect([status, body.validationErrors]).toEqual([
        400,
        { after: 'must be the `next` of an earlier response' },
      ]);
    }
  });

  test('filters by status, by merchant order id and by time', async ({ service }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const worker = await service.startWorker();
    const merchantOrderId = randomUUID();
    const [first, second, third] = [
      await shop.sandbox.create({ merchantOrderId }),
      await shop.sandbox.create(),
      await shop.sandbox.create({ merchantOrderId }),
    ] as const;
    await shop.sandbox.help(second, 'pay');
    await worker.stop();
    const numbers = async (query: string) => (await list(shop, query)).numbers;
    expect(await numbers('status=PAID')).toEqual([second.order_number]);
    expect(await numbers('status=COMPLETED')).toEqual([]);
    const own = [third.order_number, first.order_number];
    expect(await numbers(`merchantOrderId=${merchantOrderId}`)).toEqual(own);
    expect(await numbers(`merchantOrderId=${merchantOrderId}&status=PAID`)).toEqual([]);
    expect(await numbers(`createdFrom=${third.created_at}`)).toEqual([third.order_number]);
    const until = [second.order_number, first.order_number];
    expect(await numbers(`createdTo=${third.created_at}`)).toEqual(until);
    expect(await numbers(`createdFrom=${second.created_at}&createdTo=${third.created_at}`)).toEqual(
      [second.order_number],
    );
  });

  test('filters by the buyer’s exact email address, without regard to case', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const name = randomUUID();
    const first = await shop.sandbox.create({ buyerEmail: `${name}@example.com` });
    await shop.sandbox.create({ buyerEmail: `not-${name}@example.com` });
    const second = await shop.sandbox.create({ buyerEmail: `${name.toUpperCase()}@Example.com` });
    const found = [second.order_number, first.order_number];
    for (const email of [`${name}@example.com`, `${name}@EXAMPLE.COM`]) {
      expect(await list(shop, `buyerEmail=${email}`)).toMatchObject({
        metadata: { totalElements: 2, totalPages: 1, number: 0, size: 20 },
        numbers: found,
      });
    }
    const page = await list(shop, `buyerEmail=${name}@example.com&size=1&page=1`);
    expect(page).toMatchObject({
      metadata: { totalElements: 2, totalPages: 2, number: 1, size: 1 },
      numbers: [first.order_number],
    });
    const since = `createdFrom=${second.created_at}`;
    expect((await list(shop, `buyerEmail=${name}@example.com&${since}`)).numbers).toEqual([
      second.order_number,
    ]);
  });

  test('accepts every filter in the spelling of requests and of responses; of two, the request’s counts', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const [older, newer] = [
      await shop.sandbox.create({ merchantOrderId: 'older', buyerEmail: 'older@example.com' }),
      await shop.sandbox.create({ merchantOrderId: 'newer', buyerEmail: 'newer@example.com' }),
    ] as const;
    const numbers = async (query: string) => (await list(shop, query)).numbers;
    for (const query of [
      'merchantOrderId=newer',
      'merchant_order_id=newer',
      'buyerEmail=newer@example.com',
      'buyer_email=newer@example.com',
      `createdFrom=${newer.created_at}`,
      `created_from=${newer.created_at}`,
      'merchantOrderId=newer&merchant_order_id=older',
    ]) {
      expect([query, await numbers(query)]).toEqual([query, [newer.order_number]]);
    }
    for (const name of ['createdTo', 'created_to']) {
      expect(await numbers(`${name}=${newer.created_at}`)).toEqual([older.order_number]);
    }
  });

  test('of one buyer counts and skips in an index only, however many other orders there are', async ({
    service,
  }) => {
    const shop = await shopWithPast(service, 3000);
    await service.sql`VACUUM ANALYZE orders`;
    const filter = { ...filterOf(shop), buyerEmail: BUYER };
    const query = orderPageQuery(service.sql, filter, { skip: 200, size: 100 });
    const plan = await service.sql<{ 'QUERY PLAN': string }[]>`EXPLAIN ${query}`;
    const lines = plan.map((line) => line['QUERY PLAN']);
    expect(lines.filter((line) => line.includes('Seq Scan'))).toEqual([]);
    const counted = /Index Only Scan (Backward )?using orders_by_buyer_email/;
    // Before and after the blocks, of which there are none, and the entries before the page.
    expect(lines.filter((line) => counted.test(line))).toHaveLength(3);
  });

  test('shows no orders of another merchant or environment', async ({ service, merchant }) => {
    const stranger = await service.newMerchant({ webhooks: false });
    expect(await list(stranger, '')).toMatchObject({
      metadata: { totalElements: 0, totalPages: 0, number: 0, size: 20 },
      numbers: [],
    });
    const { body } = await merchant.production.get<OrderPage>('/orders');
    expect(body.data.totalElements).toBe(0);
  });
});
