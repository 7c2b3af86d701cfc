import type { Sql } from '../../src/db/client.ts';
import { orderNumberOf } from '../loaded-orders.ts';

const DELIVERIES_PER_STATEMENT = 10_000;
const AUDIT_ROWS_PER_STATEMENT = 50_000;

/** The kinds of steps of an order that was disputed and completed. */
const WHOLE_ORDER = [
  'PAYMENT_SUCCESS',
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
  'EVIDENCE_SUBMITTED',
  'DISPUTE_RESOLVED',
  'RELEASE_STARTED',
  'ORDER_COMPLETED',
];

/** The id of the delivery of an order's ORDER_CREATED. */
export const deliveryIdOf = (merchantId: string, index: number) =>
  `dlv_${orderNumberOf(merchantId, index).slice(3)}`;

/**
 * Loads the first step of the newest orders with its event, its delivery and an attempt: one in a
 * hundred FAILED, one in a thousand PENDING, the others DELIVERED.
 *
 * @param range the indexes of the first and the last order
 */
export async function loadDeliveries(
  sql: Sql,
  merchantId: string,
  { first, last }: { first: number; last: number },
): Promise<void> {
  for (let from = first; from <= last; from += DELIVERIES_PER_STATEMENT) {
    const to = Math.min(last, from + DELIVERIES_PER_STATEMENT - 1);
    await sql`
      WITH own AS (
        SELECT i, order_number, created_at, status FROM orders,
          generate_series(${from}::integer, ${to}::integer) AS i
        WHERE order_number = 'ORD' || lpad(i::text, 10, '0') || ${merchantId.slice(-16)}::text
      ), steps AS (
        INSERT INTO order_steps (order_number, step_number, merchant_id, kind, at, status, step)
        SELECT order_number, 1, ${merchantId}, 'ORDER_CREATED', created_at, 'ACCEPTED', '{}' FROM own
      ), events AS (
        INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
        SELECT 'evt_' || substr(order_number, 4), order_number, 1, 1, 'ORDER_CREATED', created_at,
          jsonb_build_object('event', 'ORDER_CREATED', 'order_number', order_number, 'data',
            repeat('x', 800))
        FROM own
      ), deliveries AS (
        INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type,
          state, next_attempt_at, created_at, settled_at)
        SELECT 'dlv_' || substr(order_number, 4), 'evt_' || substr(order_number, 4), ${merchantId},
          'sandbox', 'ORDER_CREATED', CASE WHEN i % 100 = 0 THEN 'FAILED'
            WHEN i % 1000 = 1 THEN 'PENDING' ELSE 'DELIVERED' END::delivery_state,
          CASE WHEN i % 1000 = 1 THEN now() + interval '1 hour' END, created_at,
          CASE WHEN i % 1000 <> 1 THEN created_at END
        FROM own
      )
      INSERT INTO webhook_attempts (delivery_id, merchant_id, environment, kind, at, url,
        status_code, duration_ms, error)
      SELECT 'dlv_' || substr(order_number, 4), ${merchantId}, 'sandbox', 'scheduled', created_at,
        'https://shop.example/webhooks', CASE WHEN is_failed THEN 500 ELSE 200 END, 20 + i % 80,
        CASE WHEN is_failed THEN 'answered 500' END
      FROM own, LATERAL (SELECT i % 100 = 0 OR i % 1000 = 1 AS is_failed) AS attempt`;
  }
}

/** Adds the further steps of one order, as if it had been disputed and then completed. */
export async function loadWholeOrder(sql: Sql, orderNumber: string): Promise<void> {
  await sql`
    INSERT INTO order_steps
      (order_number, step_number, merchant_id, kind, at, status, step, details)
    SELECT order_number, 1 + number, merchant_id, kind, created_at + number * interval '1 minute', status, '{}',
      jsonb_build_object('reason', repeat('A sentence of somewhat usual length. ', 10))
    FROM orders, unnest(${WHOLE_ORDER}::text[]) WITH ORDINALITY AS steps (kind, number)
    WHERE order_number = ${orderNumber}`;
}

/** Writes audit rows of one year: by twenty operators and the merchant, about its orders. */
export async function loadAudit(sql: Sql, merchantId: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += AUDIT_ROWS_PER_STATEMENT) {
    await sql`
      INSERT INTO audit_log (at, actor, address, action, merchant_id, subject, details)
      SELECT now() - (${rows} - n) * interval '30 seconds',
        CASE WHEN n % 3 = 0 THEN 'merchant:owner@example.com'
          ELSE 'operator:operator' || n % 20 || '@example.com' END,
        '203.0.113.' || n % 250,
        (ARRAY['order.retry', 'delivery.retry', 'dispute.decide', 'key.rotate'])[1 + n % 4],
        ${merchantId}, 'subject ' || n, '{"reason": "A reason that was given"}'
      FROM generate_series(${from + 1}::integer, ${from + AUDIT_ROWS_PER_STATEMENT}::integer) n
      WHERE n <= ${rows}`;
  }
}
