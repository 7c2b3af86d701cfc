import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { readMoneyDays } from '../../src/ledger/merchant-money.ts';
import { sealLedgerLines } from '../../src/ledger/seal-ledger.ts';
import { countOrdersByDay, readOrderAttention } from '../../src/orders/lists/merchant-figures.ts';
import { listDisputes } from '../../src/orders/lists/list-disputes.ts';
import { sealOrderBlocks } from '../../src/orders/lists/order-blocks.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';
import { aMinutePasses, sealEverything } from '../support/seal-ledger.ts';
import { HOUR_MS, pick, random, writeMerchant, writePastOrders } from './past-orders.ts';

const test = databaseTest();
const DAY_MS = 24 * HOUR_MS;
const sandbox = (merchantId: string) => ({ merchantId, environment: 'sandbox' as const });

/** India is five and a half hours ahead of UTC all year. */
const indianDay = (at: Date) =>
  new Date(at.getTime() + 5.5 * HOUR_MS).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** The latest days with today, and tomorrow. */
const midnights = (days: number) =>
  Array.from({ length: days + 1 }, (_, index) =>
    indianDay(new Date(Date.now() - (days - 1 - index) * DAY_MS)),
  );

/** Compares what depends on today's date: read again where the day has ended in between. */
async function expectEqualOnOneDay(
  read: () => Promise<unknown>,
  readTruth: () => Promise<unknown>,
): Promise<void> {
  const day = indianDay(new Date());
  const [found, truth] = [await read(), await readTruth()];
  if (indianDay(new Date()) !== day) return expectEqualOnOneDay(read, readTruth);
  expect(found).toEqual(truth);
}

/** The counts by day and status, from all orders. */
async function trueCounts(sql: Sql, merchantId: string, days: number) {
  const rows = await sql<{ createdAt: Date; status: OrderStatus }[]>`
    SELECT created_at, status FROM orders WHERE merchant_id = ${merchantId}
      AND environment = 'sandbox'`;
  return Array.from({ length: days }, (_, index) => {
    const day = indianDay(new Date(Date.now() - (days - 1 - index) * DAY_MS));
    const ofDay = rows.filter(({ createdAt }) => indianDay(createdAt) === day);
    const count = (status: OrderStatus) => ofDay.filter((row) => row.status === status).length;
    return {
      day,
      byStatus: Object.fromEntries(ORDER_STATUSES.map((status) => [status, count(status)])),
    };
  });
}

test('the orders of each day are counted exactly, in no block, in blocks, and after they change', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  const days = 6;
  const assertExact = () =>
    expectEqualOnOneDay(
      () => countOrdersByDay(sql, sandbox(merchantId), midnights(days)),
      () => trueCounts(sql, merchantId, days),
    );
  await assertExact();

  // Most days are longer than a block, and the oldest orders are older than the first day.
  const anyTime = () => new Date(Date.now() - 2 * 60_000 - random() * 9 * DAY_MS);
  const some = (count: number) => Array.from({ length: count }, () => ({ createdAt: anyTime() }));
  await writePastOrders(sql, merchantId, [
    ...some(250),
    { environment: 'production', createdAt: new Date() },
  ]);
  await assertExact();
  expect(await sealOrderBlocks(sql, 7)).toBeGreaterThan(30);
  await assertExact();

  await sql`UPDATE orders SET status = 'COMPLETED' WHERE merchant_id = ${merchantId}
    AND status = 'DELIVERED'`;
  await writePastOrders(sql, merchantId, [{ createdAt: new Date() }, ...some(20)]);
  await assertExact();
});

/** The lines of a payment: captured, then released or refunded, some on another day. */
async function writeLines(sql: Sql, merchantId: string, count: number): Promise<void> {
  const anyTime = () => new Date(Date.now() - random() * 5 * DAY_MS);
  await writePastOrders(
    sql,
    merchantId,
    Array.from({ length: count }, () => ({ createdAt: anyTime() })),
  );
  const orders = await sql<{ orderNumber: string; amountPaise: number }[]>`
    SELECT order_number, amount_paise FROM orders o WHERE merchant_id = ${merchantId}
      AND NOT EXISTS (SELECT FROM payments p WHERE p.order_number = o.order_number)`;
  for (const { orderNumber, amountPaise } of orders) {
    const id = `pay_${randomUUID()}`;
    await sql`INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
      VALUES ('razorpay', ${id}, 'sandbox', ${orderNumber}, ${amountPaise})`;
    const line = (operation: string, debit: string, credit: string) => sql`
      INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
        environment, debit_account, credit_account, amount_paise, booked_at)
      VALUES ('razorpay', ${id}, ${operation}, ${orderNumber}, ${merchantId}, 'sandbox', ${debit},
        ${credit}, ${amountPaise}, ${anyTime()})`;
    const isSurplus = random() < 0.2;
    const account = isSurplus ? 'surplus' : 'merchant_held';
    await line('capture', 'gateway_clearing', account);
    const out = pick(['release', 'refund', 'none']);
    if (out === 'refund') await line('refund', account, 'refunds');
    if (out === 'release' && !isSurplus) await line('release', account, 'merchant_available');
  }
}

async function trueMoney(sql: Sql, merchantId: string) {
  const lines = await sql<{ at: Date; debit: string; credit: string; amountPaise: number }[]>`
    SELECT booked_at AS at, debit_account AS debit, credit_account AS credit, amount_paise
    FROM ledger_transfers WHERE merchant_id = ${merchantId}
      AND 'surplus' NOT IN (debit_account, credit_account)`;
  const ofDays = Map.groupBy(lines, ({ at }) => indianDay(at));
  return [...ofDays]
    .map(([day, ofDay]) => {
      const sum = (field: 'debit' | 'credit', account: string) =>
        ofDay.reduce((paise, line) => paise + (line[field] === account ? line.amountPaise : 0), 0);
      return {
        day,
        paidPaise: sum('debit', 'gateway_clearing'),
        releasedPaise: sum('credit', 'merchant_available'),
        refundedPaise: sum('credit', 'refunds'),
        heldChangePaise: sum('credit', 'merchant_held') - sum('debit', 'merchant_held'),
      };
    })
    .toSorted((one, two) => (one.day < two.day ? -1 : 1));
}

test('the money of a merchant is the sum of its ledger lines, sealed or not', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  const other = await writeMerchant(sql);
  const assertExact = async () =>
    expect(await readMoneyDays(sql, sandbox(merchantId))).toEqual(await trueMoney(sql, merchantId));
  await assertExact();
  await writeLines(sql, merchantId, 40);
  await writeLines(sql, other, 10);
  await assertExact();

  expect(await sealEverything(sql, 7)).toBeGreaterThan(50);
  const [sealed] =
    await sql`SELECT sealed_to = (SELECT max(transfer_id) FROM ledger_transfers) AS all
    FROM ledger_seal`;
  expect(sealed).toEqual({ all: true });
  await assertExact();
  expect(await sealEverything(sql)).toBe(0);
  await writeLines(sql, merchantId, 15);
  await assertExact();
  await sealEverything(sql);
  await assertExact();
});

/** Runs `during` while a transaction has written a line and not committed it. */
async function whileLineIsUncommitted(
  { sql }: TestDatabase,
  merchantId: string,
  during: () => Promise<void>,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await writeLines(transaction as unknown as Sql, merchantId, 1);
    await during();
  });
}

test('a line is not lost that is committed after one with a larger id was noted for sealing', async ({
  database,
}) => {
  const { serviceSql: sql } = database;
  const merchantId = await writeMerchant(sql);
  await sealEverything(sql);
  await whileLineIsUncommitted(database, merchantId, async () => {
    await writeLines(sql, merchantId, 3);
    await aMinutePasses(sql);
    await sealLedgerLines(sql);
    await aMinutePasses(sql);
    expect(await sealLedgerLines(sql)).toBe(0);
  });
  expect(await readMoneyDays(sql, sandbox(merchantId))).toEqual(await trueMoney(sql, merchantId));
  expect(await sealEverything(sql)).toBeGreaterThanOrEqual(3);
  expect(await readMoneyDays(sql, sandbox(merchantId))).toEqual(await trueMoney(sql, merchantId));
});

test('nor one whose transaction began to write after all that had ended, and before the note', async ({
  database,
}) => {
  const { serviceSql: sql } = database;
  const merchantId = await writeMerchant(sql);
  await sealEverything(sql);
  await aMinutePasses(sql);
  const older = await database.sql.reserve();
  await older`BEGIN`;
  await older`SELECT pg_current_xact_id()`;
  await whileLineIsUncommitted(database, merchantId, async () => {
    await writeLines(older, merchantId, 1);
    await older`COMMIT`;
    older.release();
    await sealLedgerLines(sql);
    await aMinutePasses(sql);
    expect(await sealLedgerLines(sql)).toBe(0);
  });
  await sealEverything(sql);
  expect(await readMoneyDays(sql, sandbox(merchantId))).toEqual(await trueMoney(sql, merchantId));
});

test('needs attention: open disputes by deadline, and orders paid for more than a day', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  const startMs = Date.now();
  const hoursAgo = (hours: number) => new Date(startMs - hours * HOUR_MS);
  const paid = (hours: number) =>
    ({ status: 'PAID', createdAt: hoursAgo(hours + 1), paidAt: hoursAgo(hours) }) as const;
  const disputed = (status: OrderStatus, respondBy: Date) => ({
    status,
    createdAt: hoursAgo(60),
    dispute: {
      raisedAt: hoursAgo(50),
      respondBy,
      ...(status === 'DISPUTE_UNDER_REVIEW' && { evidenceAt: hoursAgo(1) }),
    },
  });
  await writePastOrders(sql, merchantId, [
    ...[30, 23, 90, 25].map(paid),
    disputed('DISPUTE_OPEN', hoursAgo(-10)),
    disputed('DISPUTE_OPEN', hoursAgo(-2)),
    disputed('DISPUTE_UNDER_REVIEW', hoursAgo(-1)),
    { ...disputed('DISPUTE_OPEN', hoursAgo(-1)), environment: 'production' },
  ]);
  const { disputes, undelivered } = await readOrderAttention(sql, sandbox(merchantId));
  const hoursLeft = (at: Date | null) => ((at?.getTime() ?? 0) - startMs) / HOUR_MS;
  expect(disputes.orders.map(({ disputeRespondBy }) => hoursLeft(disputeRespondBy))).toEqual([
    2, 10,
  ]);
  expect(undelivered.orders.map(({ paidAt }) => hoursLeft(paidAt))).toEqual([-90, -30, -25]);
  expect([disputes.count, undelivered.count]).toEqual([2, 3]);
});

test('disputes are listed part by part: running ones by deadline, ended ones the latest first', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  const startMs = Date.now();
  const minutes = (count: number) => new Date(startMs + count * 60_000);
  await writePastOrders(sql, merchantId, [
    ...[5, 1, 3, 3, 4].map((minute) => ({
      status: pick(['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'] as const),
      dispute: { respondBy: minutes(minute) },
    })),
    ...[-5, -1, -3, -3].map((minute) => ({
      status: 'COMPLETED' as const,
      dispute: { endedAt: minutes(minute) },
    })),
    { status: 'PAID' },
  ]);
  const read = async (list: 'running' | 'ended') => {
    const found: { orderNumber: string; minute: number }[] = [];
    for (;;) {
      const part = { skip: 0, after: found.at(-1)?.orderNumber, limit: 2 };
      const { rows, hasMore } = await listDisputes(sql, sandbox(merchantId), list, part);
      for (const { orderNumber, disputeEndedAt, disputeRespondBy } of rows) {
        const at = disputeEndedAt ?? disputeRespondBy;
        found.push({
          orderNumber,
          minute: ((at?.getTime() ?? 0) - startMs) / 60_000,
        });
      }
      if (!hasMore) return found.map(({ minute }) => minute);
    }
  };
  expect(await read('running')).toEqual([1, 3, 3, 4, 5]);
  expect(await read('ended')).toEqual([-1, -3, -3, -5]);
});
