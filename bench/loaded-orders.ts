import postgres from 'postgres';
import type { Sql } from '../src/db/client.ts';
import { jsonRow } from '../src/db/client.ts';
import { sealLedgerLines } from '../src/ledger/seal-ledger.ts';
import { sealOrderBlocks } from '../src/orders/lists/order-blocks.ts';
import { newSandboxOrder } from './fixtures.ts';

const ORDERS_PER_STATEMENT = 20_000;

/** Orders are created evenly over this time: the pages' figures of 30 days then cover all of them. */
const DAYS = 29;
const BUYERS = 50_000;

/** The number of a loaded order, in the form of the service's; `index` counts from 1, the newest last. */
export const orderNumberOf = (merchantId: string, index: number) =>
  `ORD${String(index).padStart(10, '0')}${merchantId.slice(-16)}`;

/**
 * Loads sandbox orders of a merchant with their payments and ledger lines: most COMPLETED, two in a
 * hundred REFUNDED, eight CANCELLED, and 2,000 with an open dispute; those of the latest day PAID.
 */
export async function loadOrders(sql: Sql, merchantId: string, orders: number): Promise<void> {
  const common = jsonRow(sql, {
    ...newSandboxOrder(merchantId),
    gateway: 'razorpay',
    requestHash: '',
    buyerLanguage: 'en',
    stepNumber: 5,
    disputeCount: 0,
    reversedPaise: 0,
  });
  for (let from = 0; from < orders; from += ORDERS_PER_STATEMENT) {
    await sql`
      WITH numbers AS (
        SELECT i, now() - interval '1 hour'
            - (${orders}::integer - i) * (interval '1 day' * ${DAYS}::integer / ${orders}::integer) AS at,
          CASE
            WHEN i > ${orders - orders / DAYS}::float THEN 'PAID'
            WHEN i % 500 = 7 THEN 'DISPUTE_OPEN'
            WHEN i % 50 = 0 THEN 'REFUNDED'
            WHEN i % 12 = 0 THEN 'CANCELLED'
            ELSE 'COMPLETED' END AS status
        FROM generate_series(${from + 1}::integer, ${from + ORDERS_PER_STATEMENT}::integer) AS i
        WHERE i <= ${orders}::integer
      ), written AS (
        INSERT INTO orders
        SELECT new_order.* FROM numbers, LATERAL jsonb_populate_record(NULL::orders, ${common}
          || jsonb_build_object(
            'order_number', 'ORD' || lpad(i::text, 10, '0') || ${merchantId.slice(-16)}::text,
            'payment_token', ${merchantId}::text || i, 'idempotency_key', i,
            'merchant_order_id', 'SHOP-' || i,
            'buyer_email', 'buyer' || i % ${BUYERS}::integer || '@example.com',
            'buyer_phone', '+91' || 9000000000 + i % ${BUYERS},
            'created_at', at, 'updated_at', at, 'payment_link_expires_at', at, 'status', status)
          || CASE WHEN status = 'CANCELLED' THEN '{}' ELSE jsonb_build_object('paid_at', at,
            'gateway_payment_id', 'pay_' || ${merchantId}::text || i, 'payment_utr', 400000000000 + i) END
          || jsonb_build_object('dispute_count',
            (status = 'DISPUTE_OPEN' OR i % 100 = 50)::integer)) AS new_order
        RETURNING order_number, gateway_payment_id, payment_utr, amount_paise, created_at, status,
          dispute_count
      ), disputed AS (
        INSERT INTO disputes (order_number, number, merchant_id, environment, reason, raised_by,
          raised_at, respond_by, resolution, ending, ended_at)
        SELECT order_number, 1, ${merchantId}, 'sandbox',
          'It never arrived, and the seller does not answer.', 'buyer', created_at,
          CASE WHEN is_open THEN created_at + interval '33 days' END,
          CASE WHEN NOT is_open THEN 'Sent again.' END,
          CASE WHEN NOT is_open THEN 'resolved_by_merchant' END,
          CASE WHEN NOT is_open THEN created_at + interval '3 hours' END
        FROM written, LATERAL (SELECT status = 'DISPUTE_OPEN' AS is_open) AS state
        WHERE dispute_count = 1
      ), captured AS (
        INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise,
          utr, captured_at, held_at)
        SELECT 'razorpay', gateway_payment_id, 'sandbox', order_number, amount_paise, payment_utr,
          created_at, created_at
        FROM written WHERE gateway_payment_id IS NOT NULL
      )
      INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
        merchant_id, environment, debit_account, credit_account, amount_paise, at, booked_at)
      SELECT 'razorpay', gateway_payment_id, line.operation, order_number, ${merchantId}, 'sandbox',
        line.debit::ledger_account, line.credit::ledger_account, amount_paise, created_at, created_at
      FROM written JOIN (VALUES
        ('capture', 'gateway_clearing', 'merchant_held', NULL),
        ('release', 'merchant_held', 'merchant_available', 'COMPLETED'),
        ('refund', 'merchant_held', 'refunds', 'REFUNDED')
      ) AS line (operation, debit, credit, only_of)
        ON only_of IS NULL OR only_of = written.status::text
      WHERE gateway_payment_id IS NOT NULL`;
  }
}

/** Does what the Schedules do with old orders and ledger lines, and what autovacuum does. */
export async function runHousekeeping(url: string, sql: Sql): Promise<void> {
  const withoutTimeout = postgres(url, { max: 1, onnotice: () => {} });
  await sealOrderBlocks(sql);
  await sealLedgerLines(sql);
  // Lines are sealed when they are a minute old; these are not waited for.
  await withoutTimeout`UPDATE ledger_seal SET next_at = '-infinity'`;
  await sealLedgerLines(sql);
  await withoutTimeout`VACUUM ANALYZE`;
  await withoutTimeout.end();
}
