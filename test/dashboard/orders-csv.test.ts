import { Readable } from 'node:stream';
import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { ordersCsv } from '../../src/orders/lists/orders-csv.ts';
import type { MerchantSearch } from '../../src/orders/lists/search-orders.ts';
import { databaseTest } from '../support/fixtures.ts';
import { writeMerchant, writePastOrders } from './past-orders.ts';

const test = databaseTest();
const AT = new Date('2026-11-22T10:00:00.123Z');

async function csvOf(sql: Sql, merchantId: string, search: MerchantSearch = {}, rows?: number) {
  const owner = { merchantId, environment: 'sandbox' as const };
  const parts = await Readable.from(ordersCsv(sql, owner, search, rows)).toArray();
  return parts.join('');
}

test('the file has each found order once, newest first, however many are read at a time', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  const statuses = ['PAID', 'COMPLETED'] as const;
  await writePastOrders(
    sql,
    merchantId,
    Array.from({ length: 25 }, (_, index) => ({
      orderNumber: `ORD${merchantId}${String(index).padStart(2, '0')}`,
      status: statuses[index % 2]!,
      createdAt: new Date(AT.getTime() + Math.floor(index / 3)),
    })),
  );
  const numbers = (csv: string) =>
    csv
      .trim()
      .split('\r\n')
      .slice(1)
      .map((row) => Number(row.split(',')[0]?.slice(-2)));
  const all = Array.from({ length: 25 }, (_, index) => 24 - index);
  for (const rows of [1, 7, 25, 1000]) {
    expect(numbers(await csvOf(sql, merchantId, {}, rows))).toEqual(all);
  }
  const paid = await csvOf(sql, merchantId, { status: 'PAID' }, 4);
  expect(numbers(paid)).toEqual(all.filter((index) => index % 2 === 0));
});

test('amounts are rupees with two decimals, times are those of India and of UTC, references stay what they are, and no text is a formula', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  await writePastOrders(sql, merchantId, [
    {
      orderNumber: `ORD${merchantId}`,
      status: 'REFUNDED',
      merchantOrderId: '0042',
      amountPaise: 49_950,
      description: '=HYPERLINK("https://evil.example","a, b")',
      buyerName: '@आशा "A" Rao\nline two',
      createdAt: AT,
      paidAt: AT,
      refundAmountPaise: 49_900,
      refundReason: 'merchant_refund',
    },
  ]);
  const csv = await csvOf(sql, merchantId);
  const [head, ...rows] = csv.split('\r\n');
  expect(head).toBe(
    '\uFEFForder_number,merchant_order_id,status,amount,description,buyer_name,buyer_email,buyer_phone,created_at,created_at_ist,paid_at,paid_at_ist,gateway_payment_id,utr,delivered_at,delivered_at_ist,completed_at,completed_at_ist,released_at,released_at_ist,dispute_raised_at,dispute_raised_at_ist,dispute_reason,dispute_ended_at,dispute_ended_at_ist,refund_amount,refund_reason,refund_processed_at,refund_processed_at_ist,cancelled_at,cancelled_at_ist,updated_at,updated_at_ist',
  );
  expect(rows.join('\r\n')).toBe(
    `ORD${merchantId},"=""0042""",REFUNDED,499.50,"'=HYPERLINK(""https://evil.example"",""a, b"")","'@आशा ""A"" Rao\nline two",asha@example.com,"=""+919876543210""",2026-11-22T10:00:00.123Z,2026-11-22 15:30:00,2026-11-22T10:00:00.123Z,2026-11-22 15:30:00,,,,,,,,,,,,,,499.00,merchant_refund,,,,,2026-11-22T10:00:00.123Z,2026-11-22 15:30:00\r\n`,
  );
});

test('nothing is read that the reader does not ask for, and nothing after it has stopped', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  await writePastOrders(sql, merchantId, [{}, {}, {}, {}, {}]);
  const owner = { merchantId, environment: 'sandbox' as const };
  const parts = ordersCsv(sql, owner, {}, 1);
  await parts.next();
  await parts.next();
  // The third order is deleted before it is read.
  await sql`UPDATE orders SET merchant_id = ${await writeMerchant(sql)}
    WHERE merchant_id = ${merchantId} AND order_number <> (SELECT max(order_number) FROM orders
      WHERE merchant_id = ${merchantId})`;
  expect((await parts.next()).done).toBe(true);
});

test('the payment, and the times of delivery, completion and release are those of the order', async ({
  database,
}) => {
  const { serviceSql: sql } = database;
  const merchantId = await writeMerchant(sql);
  const orderNumber = `ORD${merchantId}`;
  await writePastOrders(sql, merchantId, [
    {
      orderNumber,
      status: 'COMPLETED',
      description: 'A kurta',
      gatewayPaymentId: 'pay_1',
      paidAt: AT,
    },
  ]);
  const at = (minutes: number) => new Date(AT.getTime() + minutes * 60_000);
  for (const [step, kind, minutes] of [
    [2, 'DELIVERY_CONFIRMED', 1],
    [3, 'ORDER_COMPLETED', 2],
  ] as const) {
    await sql`INSERT INTO order_steps (order_number, step_number, merchant_id, kind, at, status, step)
      VALUES (${orderNumber}, ${step}, ${merchantId}, ${kind}, ${at(minutes)}, 'COMPLETED', '{}')`;
  }
  await sql`INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
    VALUES ('razorpay', 'pay_1', 'sandbox', ${orderNumber}, 49950)`;
  await sql`INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
      environment, debit_account, credit_account, amount_paise, booked_at)
    VALUES ('razorpay', 'pay_1', 'release', ${orderNumber}, ${merchantId}, 'sandbox', 'merchant_held',
      'merchant_available', 49950, ${at(3)})`;
  const [names = [], cells = []] = (await csvOf(sql, merchantId))
    .split('\r\n')
    .map((row) => row.split(','));
  const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]));
  expect(row).toMatchObject({
    gateway_payment_id: 'pay_1',
    paid_at_ist: '2026-11-22 15:30:00',
    delivered_at: '2026-11-22T10:01:00.123Z',
    delivered_at_ist: '2026-11-22 15:31:00',
    completed_at: '2026-11-22T10:02:00.123Z',
    completed_at_ist: '2026-11-22 15:32:00',
    released_at: '2026-11-22T10:03:00.123Z',
    released_at_ist: '2026-11-22 15:33:00',
  });
});
