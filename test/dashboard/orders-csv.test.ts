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

test('amounts are rupees with two decimals, times are ISO-8601, and no cell is a formula', async ({
  database: { serviceSql: sql },
}) => {
  const merchantId = await writeMerchant(sql);
  await writePastOrders(sql, merchantId, [
    {
      orderNumber: `ORD${merchantId}`,
      status: 'REFUNDED',
      merchantOrderId: '-1042',
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
    'order_number,merchant_order_id,status,amount,description,buyer_name,buyer_email,buyer_phone,created_at,paid_at,utr,dispute_raised_at,dispute_reason,dispute_ended_at,refund_amount,refund_reason,refund_processed_at,cancelled_at,updated_at',
  );
  expect(rows.join('\r\n')).toBe(
    `ORD${merchantId},'-1042,REFUNDED,499.50,"'=HYPERLINK(""https://evil.example"",""a, b"")","'@आशा ""A"" Rao\nline two",asha@example.com,'+919876543210,2026-11-22T10:00:00.123Z,2026-11-22T10:00:00.123Z,,,,,499.00,merchant_refund,,,2026-11-22T10:00:00.123Z\r\n`,
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
