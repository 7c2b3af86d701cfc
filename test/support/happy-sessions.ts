import { expect } from 'vitest';
import { markSessionOpen, writeCapture } from '../../src/payments/queries.ts';
import {
  breakGateway,
  capturedWhole,
  JUST_ASKED,
  payAtGateway,
  reconcile,
  SANDBOX,
} from './gateway.ts';
import { inParallel } from './in-parallel.ts';
import type { Merchant } from './merchant.ts';
import type { TestService } from './service.ts';

const AMOUNT_PAISE = 50_000;
const AT_ONCE = 16;
const SESSION_MINUTES = 15;
/** When reconciliation runs: each minute until the sessions have ended, and once an hour later. */
const RUN_MINUTES = [...Array.from({ length: SESSION_MINUTES + 1 }, (_, index) => index + 1), 77];

/** The minutes after which buyers pay, and how many queries to the gateway such an order costs. */
const PAYING: readonly { afterMinutes: number; questions: number }[] = [
  { afterMinutes: 1, questions: 1 },
  { afterMinutes: 4, questions: 2 },
  { afterMinutes: 12, questions: 3 },
];

interface OpenSession {
  orderNumber: string;
  sessionId: string;
  gatewaySessionId: string;
}

/** Orders with one open payment session each, also at the gateway; their workflows are not started. */
async function openSessions(
  { sql, deps }: TestService,
  { merchantId }: Merchant,
  count: number,
): Promise<OpenSession[]> {
  const reserved = await sql<{ orderNumber: string; sessionId: string; expiresAt: Date }[]>`
    WITH created AS (
      INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
        amount_paise, description, buyer_email, buyer_phone, payment_token, status,
        payment_link_expires_at, terms, open_session_id, created_at, updated_at)
      SELECT 'ORDHAPPY' || n, ${merchantId}, 'sandbox', 'razorpay', 'happy' || n, '', ${AMOUNT_PAISE}, '', '', '',
        'happy' || n, 'ACCEPTED', service_now() + interval '1 day', '{}', 'ps_happy' || n,
        service_now(), service_now()
      FROM generate_series(1, ${count}::integer) n
      RETURNING order_number, open_session_id
    )
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, expires_at)
    SELECT open_session_id, order_number, 'sandbox', 'razorpay',
      service_now() + ${SESSION_MINUTES} * interval '1 minute' FROM created
    RETURNING order_number, session_id, expires_at`;
  const opened: OpenSession[] = [];
  await inParallel(reserved, AT_ONCE, async ({ orderNumber, sessionId, expiresAt }) => {
    const session = await deps.gateways.forOrder(SANDBOX).openSession({
      orderNumber,
      sessionId,
      amountPaise: AMOUNT_PAISE,
      expiresAtMs: expiresAt.getTime(),
      description: `Order ${orderNumber}`,
    });
    expect(await markSessionOpen(sql, sessionId, session)).toBe(true);
    opened.push({ orderNumber, sessionId, gatewaySessionId: session.gatewaySessionId });
  });
  return opened;
}

/** The buyer pays and a callback reports it: the order is PAID, and its money is set aside. */
async function payAndCallBack(service: TestService, session: OpenSession): Promise<void> {
  const { sql } = service;
  const { orderNumber, sessionId, gatewaySessionId } = session;
  const gatewayPaymentId = await payAtGateway(service, gatewaySessionId);
  const payment = capturedWhole(gatewayPaymentId, AMOUNT_PAISE);
  const capture = { ...SANDBOX, orderNumber, sessionId, payment, askedAt: JUST_ASKED };
  expect(await writeCapture(sql, capture)).toBe('fits');
  await sql`
    WITH held AS (
      UPDATE payments SET held_at = service_now() WHERE gateway_payment_id = ${gatewayPaymentId}
    )
    UPDATE orders SET status = 'PAID', gateway_payment_id = ${gatewayPaymentId},
      open_session_id = NULL WHERE order_number = ${orderNumber}`;
}

/**
 * Has orders paid at different times within their sessions' time, with callbacks that arrive, while
 * reconciliation runs each minute.
 *
 * @returns how many calls reconciliation has made to the gateway, and how many it should have made:
 *   about the orders, and one in each run for the newest chargebacks
 */
export async function askAboutHappyOrders(service: TestService, merchant: Merchant, count: number) {
  // The clock is stopped, so that no real time is added to these minutes.
  const startMs = Date.now();
  await service.clock.stopAt(new Date(startMs));
  const sessions = await openSessions(service, merchant, count);
  const groups = PAYING.map(({ afterMinutes }, index) => ({
    afterMinutes,
    sessions: sessions.filter((_, position) => position % PAYING.length === index),
  }));
  let calls = 0;
  for (const minute of RUN_MINUTES) {
    // Not on the full minute: a query is due a minute after the one in which it was last made.
    await service.clock.stopAt(new Date(startMs + minute * 60_000 + 20_000));
    for (const group of groups) {
      if (group.afterMinutes !== minute) continue;
      await inParallel(group.sessions, AT_ONCE, (session) => payAndCallBack(service, session));
    }
    const all = await breakGateway(service, { kind: 'late', delayMs: 0 });
    await reconcile(service);
    calls += await all.hits();
    await all.endFault();
  }
  await service.clock.set(0);
  const expected = groups.reduce(
    (sum, { sessions: own }, index) => sum + own.length * PAYING[index]!.questions,
    RUN_MINUTES.length,
  );
  return { calls, expected };
}
