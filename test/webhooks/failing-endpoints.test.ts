import { expect } from 'vitest';
import { findFailingEndpoints } from '../../src/webhooks/endpoints/endpoint-figures.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test('an endpoint fails from the first failed attempt after its last success', async ({
  database: { sql, serviceSql },
}) => {
  await sql`
    INSERT INTO merchants (merchant_id, name, email)
    SELECT 'mer_' || n, 'Shop ' || n, 'a@example.com' FROM generate_series(1, 5) n`;
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, webhook_url)
    SELECT 'mer_' || n, 'production', 'https://shop' || n || '.example.com/hook?secret=s'
    FROM generate_series(1, 4) n`;
  await sql`
    INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
      amount_paise, description, buyer_email, buyer_phone, payment_token,
      payment_link_expires_at, terms, created_at, updated_at)
    VALUES ('ORD1', 'mer_1', 'sandbox', 'razorpay', 'k', '\\x00', 500, 'd', 'b', 'p', 't', now(), '{}',
      now(), now())`;
  await sql`
    INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
    VALUES ('evt_1', 'ORD1', 1, 1, 'ORDER_CREATED', now(), '{}')`;
  await sql`
    INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type)
    VALUES ('dlv_1', 'evt_1', 'mer_1', 'production', 'ORDER_CREATED')`;
  /** Attempts of a merchant, one for each error; null is a success. */
  const attempts = (merchantId: string, errors: (string | null)[]) => sql`
    INSERT INTO webhook_attempts (delivery_id, merchant_id, environment, kind, at, url, duration_ms,
      error)
    SELECT 'dlv_1', ${merchantId}, 'production', 'scheduled',
      timestamptz '2026-11-20T00:00:00Z' + n * interval '1 minute', 'https://x', 5, error
    FROM unnest(${errors}::text[]) WITH ORDINALITY AS attempt (error, n)`;
  // The first recovers, the second never succeeded, the third failed twice after a success.
  await attempts('mer_1', ['answered 500', null]);
  await attempts('mer_2', ['answered 404', 'answered 500']);
  await attempts('mer_3', ['answered 404', null, 'timed out', 'answered 503']);

  const { endpoints, hasMore } = await findFailingEndpoints(serviceSql, 10);
  expect(hasMore).toBe(false);
  expect(endpoints).toEqual([
    {
      merchantId: 'mer_2',
      merchantName: 'Shop 2',
      environment: 'production',
      host: 'shop2.example.com',
      failingSince: new Date('2026-11-20T00:01:00Z'),
      lastFailedAt: new Date('2026-11-20T00:02:00Z'),
      lastError: 'answered 500',
    },
    expect.objectContaining({
      merchantId: 'mer_3',
      failingSince: new Date('2026-11-20T00:03:00Z'),
      lastError: 'answered 503',
    }),
  ]);
  expect(await findFailingEndpoints(serviceSql, 1)).toMatchObject({
    endpoints: [{ merchantId: 'mer_2' }],
    hasMore: true,
  });
});
