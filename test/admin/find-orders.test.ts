import postgres from 'postgres';
import { describe, expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { COLUMN_NAMES } from '../../src/db/client.ts';
import { EXPIRED_ACCESS } from '../../src/accounts/public.ts';
import { findCheckout } from '../../src/checkout/queries.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import { searchAllOrders } from '../../src/orders/lists/search-orders.ts';
import { findDisputeHistory } from '../../src/orders/lists/dispute-history.ts';
import { listDisputes } from '../../src/orders/lists/list-disputes.ts';
import { findOverdueOrders } from '../../src/orders/wake/wakeups.ts';
import { endSession, findHelperSession } from '../../src/payments/sessions/session-queries.ts';
import { findStuckMoney } from '../../src/payments/operators/stuck-money.ts';
import { findFailingSince } from '../../src/webhooks/resend/resend.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseTest } from '../support/fixtures.ts';

const ORDERS = 20_000;

const test = databaseTest();
test.beforeAll(({ database }) => fill(database.sql));

/** Order number N is ORDN, of buyer N % 1000, one second later than the one before. */
async function fill(sql: Sql): Promise<void> {
  await sql`INSERT INTO merchants (merchant_id, name, email)
    VALUES ('mer_1', 'A', 'a@example.com'), ('mer_2', 'B', 'b@example.com')`;
  await sql`
    INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
      merchant_order_id, amount_paise, description, buyer_email, buyer_phone, payment_token, status,
      step_number, gateway_payment_id, dispute_count, payment_link_expires_at, terms, created_at, updated_at)
    SELECT 'ORD' || n, 'mer_' || 1 + n % 2, 'sandbox', 'razorpay', 'k' || n, '\\x00', 'cart-' || n % 5000,
      500 + n, 'd', 'Buyer' || n % 1000 || '@Example.com',
      '+91' || lpad((n % 1000)::text, 10, '0'), 't' || n,
      CASE WHEN n % 100 = 0 THEN 'DISPUTE_OPEN' ELSE 'PAID' END::order_status, 1, 'pay_' || n, (n % 50 = 0)::int,
      now(), '{}', at, at
    FROM generate_series(1, ${ORDERS}) n,
      LATERAL (SELECT timestamptz '2026-11-20T00:00:00Z' + n * interval '1 second' AS at) times`;
  await sql`
    INSERT INTO disputes (order_number, number, merchant_id, environment, raised_by, raised_at, respond_by, ended_at)
    SELECT order_number, 1, merchant_id, environment, 'buyer', now(),
      CASE WHEN status = 'DISPUTE_OPEN' THEN at END, CASE WHEN status = 'PAID' THEN at END
    FROM orders,
      LATERAL (SELECT now() + (${ORDERS} - substr(order_number, 4)::integer) * interval '1 second' AS at) times
    WHERE dispute_count = 1`;
  await sql`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, utr,
      held_at, gateway_transfer_id, gateway_refund_id)
    SELECT 'razorpay', 'pay_' || n, 'sandbox', 'ORD' || n, 500 + n, 'UTR' || n,
      CASE WHEN n % 1000 > 0 THEN now() END, 'trf_' || n, 'rfnd_' || n
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, expires_at, request_id)
    SELECT 'ps_' || n, 'ORD' || n, 'sandbox', 'razorpay', now(), 'opened-by-' || n
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO gateway_reversals
      (gateway, reversal_id, gateway_payment_id, order_number, kind, amount_paise, state)
    SELECT 'razorpay', 'disp_' || n, 'pay_' || n, 'ORD' || n, 'chargeback', 500, 'open'
    FROM generate_series(1, ${ORDERS}, 5) n`;
  await sql`
    INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, named_ids)
    SELECT 'razorpay', 'sandbox', 'e' || n, 'payment.failed', '',
      ARRAY['acc_platform', 'pay_failed_' || n, 'ORD' || n]
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO surplus_refunds
      (gateway, gateway_payment_id, order_number, amount_paise, reason, reference)
    SELECT 'razorpay', 'pay_' || n, 'ORD' || n, 500, 'late_payment', 'SURPLUS' || n
    FROM generate_series(2, ${ORDERS}, 5) n`;
  await sql`
    INSERT INTO outside_settlements (order_number, outcome, amount_paise, reference, reason, actor)
    SELECT 'ORD' || n, 'refunded', 500, 'BANK' || n, 'R', 'test' FROM generate_series(1, ${ORDERS}, 5) n`;
  await sql`
    INSERT INTO audit_log (at, actor, action, merchant_id, subject)
    SELECT now() - n * interval '1 second', 'cli:' || n % 500, 'action.' || n % 500, 'mer_' || n % 500, 'ORD' || n
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO order_commands
      (order_number, command_id, name, body, actor, reason, request_id, merchant_id, written_at, received_at)
    SELECT 'ORD' || n, 'cmd_' || n, CASE WHEN n % 500 = 0 THEN 'decide' ELSE 'deliver' END, '{}',
      'key:' || n % 500, '', 'req-' || n, 'mer_' || 1 + n % 2, now() - n * interval '1 second', now()
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO order_steps
      (order_number, step_number, merchant_id, kind, at, recorded_at, status, step, in_audit_list, request_id)
    SELECT 'ORD' || n, 2, 'mer_' || CASE WHEN n % 500 = 0 THEN 1 ELSE 2 END,
      CASE WHEN n % 500 = 0 THEN 'RELEASE_STARTED' ELSE 'PAYMENT_SUCCESS' END, now(),
      now() - n * interval '1 second', 'PAID', '{}', true, 'created-by-' || n
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
    SELECT 'evt_' || n, 'ORD' || n, 1, 1, 'ORDER_CREATED', now(), '{}'
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO webhook_deliveries (delivery_id, event_id, merchant_id, environment, event_type, state)
    SELECT 'dlv_' || n, 'evt_' || n, 'mer_1', 'sandbox', 'ORDER_CREATED',
      CASE WHEN n % 1000 = 0 THEN 'PENDING' ELSE 'DELIVERED' END::delivery_state
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`
    INSERT INTO webhook_attempts (delivery_id, merchant_id, environment, kind, at, url, status_code,
      duration_ms, error)
    SELECT 'dlv_' || n, 'mer_1', 'sandbox', 'scheduled', now(), 'https://a.example', 200, 1,
      CASE WHEN n % 1000 = 0 THEN 'answered 500' END
    FROM generate_series(1, ${ORDERS}) n`;
  await sql`VACUUM ANALYZE`;
}

const find = async (database: TestDatabase, text: string, merchantId?: string) => {
  const { rows } = await searchAllOrders(
    database.sql,
    { text, merchantId },
    { skip: 0, limit: 50 },
  );
  return rows.map(({ orderNumber }) => orderNumber);
};

describe("an operator's search", () => {
  test('shows the fields that distinguish orders', async ({ database }) => {
    const { rows } = await searchAllOrders(database.sql, { text: 'req-7' }, { skip: 0, limit: 50 });
    expect(rows).toMatchObject([
      {
        orderNumber: 'ORD7',
        merchantId: 'mer_2',
        environment: 'sandbox',
        merchantOrderId: 'cart-7',
        status: 'PAID',
        amountPaise: 507,
        buyerEmail: 'Buyer7@Example.com',
        buyerPhone: '+910000000007',
        erasedAt: null,
        createdAt: new Date('2026-11-20T00:00:07Z'),
      },
    ]);
  });

  test("finds by the merchant's own id, the newest first", async ({ database }) => {
    const found = ['ORD15007', 'ORD10007', 'ORD5007', 'ORD7'];
    expect(await find(database, 'cart-7')).toEqual(found);
    expect(await find(database, 'cart-7', 'mer_2')).toEqual(found);
    expect(await find(database, 'cart-7', 'mer_1')).toEqual([]);
  });

  test('finds by the e-mail, in any letters', async ({ database }) => {
    const found = await find(database, 'bUYER7@example.com');
    expect([found.length, ...found.slice(0, 2)]).toEqual([20, 'ORD19007', 'ORD18007']);
  });

  test('finds by phone, with and without its country code', async ({ database }) => {
    const whole = await find(database, '+910000000042');
    expect(whole.slice(0, 2)).toEqual(['ORD19042', 'ORD18042']);
    expect(await find(database, '00000-00042')).toEqual(whole);
  });

  test("finds by the UTR of the buyer's payment, or of a settlement outside", async ({
    database,
  }) => {
    expect(await find(database, 'UTR10012')).toEqual(['ORD10012']);
    expect(await find(database, 'BANK11')).toEqual(['ORD11']);
    expect(await find(database, 'SURPLUS12')).toEqual(['ORD12']);
  });

  test.for([
    'req-7',
    'created-by-7',
    'opened-by-7',
    'ps_7',
    'pay_7',
    'trf_7',
    'rfnd_7',
    'pay_failed_7',
    'evt_7',
    'dlv_7',
  ])('finds by the reference %s', async (reference, { database }) => {
    expect(await find(database, reference)).toEqual(['ORD7']);
  });

  test('by an id that is in every callback finds a few orders', async ({ database }) => {
    expect(await find(database, 'acc_platform')).toHaveLength(20);
  });
});

/** PostgreSQL's plan of the last statement that a call makes, or of the last that contains a text. */
async function planOf(
  database: TestDatabase,
  call: (sql: Sql) => Promise<unknown>,
  containing = '',
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const statements: [string, never[]][] = [];
  const sql = postgres(database.url, {
    max: 1,
    transform: COLUMN_NAMES,
    connection: { ...settings },
    debug: (_, text, parameters) => void statements.push([text, parameters as never[]]),
  });
  try {
    await call(sql);
    const [[text, parameters] = ['', []]] = statements
      .filter(([statement]) => statement.includes(containing))
      .slice(-1);
    const rows = await sql.unsafe(`EXPLAIN ${text}`, parameters);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await sql.end();
  }
}

describe('an operator’s search uses an index among many rows', () => {
  test.for([
    ['the number', 'ORD01KAHV3Z8Q4N2M6P7R9T1W3X5Y', 'orders_pkey'],
    ["the merchant's own id", 'cart-7', 'orders_by_any_merchant_order_id'],
    ['the e-mail', 'buyer7@example.com', 'orders_by_any_buyer_email'],
    ['the phone', '+910000000007', 'orders_by_any_buyer_phone'],
    ['the UTR', 'UTR10007', 'payments_by_utr'],
    ['the UTR of a settlement', 'UTR10007', 'outside_settlements_by_reference'],
    ['the UTR of a surplus refund', 'UTR10007', 'surplus_refunds_by_reference'],
    ['the request that created it', 'x', 'order_steps_by_request'],
    ['the request of a command', 'x', 'order_commands_by_request'],
    ['the request for a payment session', 'x', 'payment_sessions_by_request'],
    ['the payment', 'x', 'payments_by_id'],
    ['the transfer', 'x', 'payments_by_transfer'],
    ['the refund', 'x', 'payments_by_refund'],
    ['the reversal', 'x', 'gateway_reversals_by_id'],
    ['an id in a callback', 'x', 'gateway_callbacks_by_named_ids'],
    ['the event', 'x', 'order_events_pkey'],
    ['the delivery', 'x', 'webhook_deliveries_pkey'],
  ] as const)('an order by %s', async ([_what, text, index], { database }) => {
    const part = { skip: 0, limit: 50 };
    const search = (sql: Sql) => searchAllOrders(sql, { text }, part);
    // Two merchants are so few that the index of each merchant's orders could be skipped through.
    const settings = { enable_indexonlyscan: 'off' };
    const plan = await planOf(database, search, ') found', settings);
    expect(plan).toContain(index);
    expect(plan).not.toContain('Seq Scan');
  });

  test('for running disputes', async ({ database }) => {
    const part = { skip: 0, after: 'ORD100', limit: 50 };
    const plan = await planOf(
      database,
      (sql) => listDisputes(sql, {}, 'running', part),
      'disputes d',
    );
    expect(plan).toContain('disputes_running');
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  });

  test.for([
    ['running', 'disputes_running'],
    ['ended', 'disputes_ended_by_merchant'],
  ] as const)('for the %s disputes of a merchant', async ([list, index], { database }) => {
    const owner = { merchantId: 'mer_1', environment: 'sandbox' } as const;
    // A page without a key counts up to 1,000 disputes: these are fewer, for which a scan is as good.
    const settings = { enable_seqscan: 'off', enable_sort: 'off' };
    for (const after of [undefined, 'ORD100']) {
      const part = { skip: 0, after, limit: 20 };
      const plan = await planOf(
        database,
        (sql) => listDisputes(sql, owner, list, part),
        'disputes d',
        settings,
      );
      expect(plan).toContain(index);
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    }
  });

  test('for stuck movements of money', async ({ database }) => {
    const plan = await planOf(database, (sql) => findStuckMoney(sql, 25));
    for (const index of ['orders_pending', 'orders_by_completion', 'payments_unheld']) {
      expect(plan).toContain(index);
    }
    expect(plan).not.toContain('Seq Scan on orders');
  });

  test('for orders that wait for their workflow', async ({ database }) => {
    const plan = await planOf(database, (sql) => findOverdueOrders(sql, 25));
    expect(plan).not.toContain('Seq Scan on orders');
  });

  test('for earlier disputes of a buyer and a merchant', async ({ database }) => {
    const order = await findOrderByNumber(database.sql, 'ORD100');
    const plan = await planOf(database, (sql) => findDisputeHistory(sql, order, 10), 'FROM orders');
    expect(plan).toContain('orders_disputed_by_email');
    expect(plan).toContain('orders_disputed_by_phone');
    expect(plan).not.toContain('Seq Scan on orders');
  });

  /** A thousand lines of each kind are later. */
  const ROW = `${Date.now() - 1_000_000}000.1`;
  test.for([
    ['an order', { orderNumber: 'ORD7' }, 'audit_log_by_subject'],
    ['a merchant', { merchantId: 'mer_7' }, 'audit_log_by_merchant'],
    ['an actor', { actor: 'cli:7' }, 'audit_log_by_actor'],
    ['an action', { action: 'action.7' }, 'audit_log_by_action'],
    ['anybody since a time', { since: new Date() }, 'audit_log_by_time'],
    ['anybody before a row', { olderThan: ROW }, 'audit_log_by_time'],
    ['an order before a row', { subject: 'ORD7', olderThan: ROW }, 'audit_log_by_subject'],
    ['a merchant before a row', { merchantId: 'mer_7', olderThan: ROW }, 'audit_log_by_merchant'],
    ['an actor before a row', { actor: 'cli:7', olderThan: ROW }, 'audit_log_by_actor'],
    ['an action before a row', { action: 'action.7', olderThan: ROW }, 'audit_log_by_action'],
  ] as const)('the audit of %s', async ([_what, filter, index], { database }) => {
    const plan = await planOf(database, (sql) => listAudit(sql, filter, 50));
    expect(plan).toContain(index);
    expect(plan).not.toMatch(/Seq Scan on (audit_log|order_commands|order_steps)/);
  });

  test.for([
    ['an order', { orderNumber: 'ORD7' }, 'order_commands_pkey', 'order_steps_pkey'],
    [
      'a merchant',
      { merchantId: 'mer_7' },
      'order_commands_by_merchant',
      'order_steps_by_merchant',
    ],
    ['an actor', { actor: 'key:7' }, 'order_commands_by_actor', ''],
    ['no person', { actor: 'service' }, 'order_commands_by_actor', 'order_steps_by_time'],
    ['a command', { action: 'dispute.decide' }, 'order_commands_by_name', ''],
    ['a kind of step', { action: 'RELEASE_STARTED' }, '', 'order_steps_by_kind'],
    ['anybody before a row', { olderThan: ROW }, 'order_commands_by_time', 'order_steps_by_time'],
  ] as const)('the commands and steps of %s', async ([_what, filter, ...indexes], { database }) => {
    const plan = await planOf(database, (sql) => listAudit(sql, filter, 50));
    for (const index of indexes) expect(plan).toContain(index);
    expect(plan).not.toMatch(/Seq Scan on (audit_log|order_commands|order_steps)/);
  });

  test('for failing deliveries', async ({ database }) => {
    const plan = await planOf(database, (sql) => findFailingSince(sql, new Date(0), {}));
    expect(plan).toContain('webhook_attempts_failed');
    expect(plan).toContain('webhook_deliveries_failed');
    expect(plan).not.toContain('Seq Scan on webhook_attempts');
  });

  test.for([
    ['one that ends', (sql: Sql) => endSession(sql, 'ps_7', 'CLOSED')],
    ["one on the buyer's page", (sql: Sql) => findCheckout(sql, 't7')],
    ["that of a helper's repeat", (sql: Sql) => findHelperSession(sql, 'ORD7', 'cmd_7')],
  ] as const)('for the payment session: %s', async ([_what, call], { database }) => {
    const plan = await planOf(database, call, 'payment_sessions');
    expect(plan).not.toMatch(/Seq Scan on (orders|payments|payment_sessions)/);
  });

  test.for([
    ['signUps', 'sign_ups_by_expiry'],
    ['links', 'one_time_links_by_expiry'],
    ['devices', 'known_devices_by_time'],
    ['forms', 'kept_forms_by_time'],
    ['attempts', 'account_attempts_by_time'],
  ] as const)('for expired access: %s', async ([name, index], { database }) => {
    // The tables are empty.
    const settings = { enable_seqscan: 'off' };
    const call = async (sql: Sql) => void (await EXPIRED_ACCESS[name](sql, 10));
    const plan = await planOf(database, call, 'DELETE', settings);
    expect(plan).toMatch(new RegExp(`${index}.*\\n.*(Index|Recheck) Cond`));
  });
});
