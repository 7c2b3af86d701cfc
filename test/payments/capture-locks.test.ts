import { expect } from 'vitest';
import { writeCallback, writeCapture } from '../../src/payments/captures/capture-queries.ts';
import { claimSurplus } from '../../src/payments/funds/refund-queries.ts';
import {
  endSession,
  markSessionOpen,
  reserveSession,
} from '../../src/payments/sessions/session-queries.ts';
import { atRazorpay, capturedWhole, SANDBOX } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import type { Orders } from '../support/orders.ts';
import { writePayment } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

/** An order with a session in a state. */
async function withSession({ sql }: TestService, orders: Orders, state: 'OPEN' | 'OPENING') {
  const order = await orders.write();
  const sessionId = `ps_${order.orderNumber}`;
  await sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, state, created_at, expires_at)
    VALUES (${sessionId}, ${order.orderNumber}, 'sandbox', 'razorpay', ${state},
      service_now() - interval '1 minute', service_now() + interval '10 minutes')`;
  await sql`
    UPDATE orders SET open_session_id = ${sessionId} WHERE order_number = ${order.orderNumber}`;
  return { order, orderNumber: order.orderNumber, sessionId };
}

test('a capture waits for a step that moves the clock of its session, and both succeed', async ({
  service,
  orders,
}) => {
  const { order, orderNumber, sessionId } = await withSession(service, orders, 'OPEN');
  const payment = { ...capturedWhole('pay_1', order), sessionId };
  const capturing = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const written = writeCapture(service.sql, { at: SANDBOX, payment });
    // In a deadlock this statement gets the error; the other one's result must be awaited too.
    written.catch(() => undefined);
    await untilBlocked(service, 'write_capture');
    await sql`
      UPDATE payment_sessions SET expires_at = expires_at - interval '1 minute'
      WHERE session_id = ${sessionId}`;
    return { written };
  });
  await capturing.written;
  const rows =
    await service.sql`SELECT state FROM payment_sessions WHERE session_id = ${sessionId}`;
  expect(rows).toEqual([{ state: 'PAID' }]);
});

test('a session that is paid at the moment of its end stays the open session', async ({
  service,
  orders,
}) => {
  const { orderNumber, sessionId } = await withSession(service, orders, 'OPEN');
  const ending = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const ended = endSession(service.sql, sessionId, 'CLOSED');
    ended.catch(() => undefined);
    await untilBlocked(service, 'SET open_session_id = NULL');
    await sql`UPDATE payment_sessions SET state = 'PAID' WHERE session_id = ${sessionId}`;
    return { ended };
  });
  await ending.ended;
  const rows = await service.sql`
    SELECT s.state, o.open_session_id FROM payment_sessions s JOIN orders o USING (order_number)
    WHERE session_id = ${sessionId}`;
  expect(rows).toEqual([{ state: 'PAID', openSessionId: sessionId }]);
});

test('a session that has opened at the moment when it fails stays open, so that it is closed at the gateway', async ({
  service,
  orders,
}) => {
  const { orderNumber, sessionId } = await withSession(service, orders, 'OPENING');
  const failing = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const failed = endSession(service.sql, sessionId, 'FAILED');
    failed.catch(() => undefined);
    await untilBlocked(service, 'SET open_session_id = NULL');
    const opened = { gatewaySessionId: `qr_${orderNumber}`, upiIntent: 'upi://pay', pageUrl: '' };
    expect(await markSessionOpen(service.sql, sessionId, opened)).toBe(true);
    return { failed };
  });
  expect(await failing.failed).toBe(false);
  const rows = await service.sql`
    SELECT state FROM payment_sessions WHERE session_id = ${sessionId}`;
  expect(rows).toEqual([{ state: 'OPEN' }]);
});

test('a session that has opened at the moment when another one would replace it is kept', async ({
  service,
  orders,
}) => {
  const { orderNumber, sessionId } = await withSession(service, orders, 'OPENING');
  const reserving = await service.sql.begin(async (sql) => {
    await sql`
      UPDATE payment_sessions SET state = 'OPEN', gateway_session_id = 'qr_late', upi_intent = 'upi://pay', page_url = ''
      WHERE session_id = ${sessionId}`;
    const reserved = reserveSession(service.sql, orderNumber, `${sessionId}_2`, 60_000);
    reserved.catch(() => undefined);
    await untilBlocked(service, 'reserve_payment_session');
    return { reserved };
  });
  expect(await reserving.reserved).toBe('open');
});

test('a callback about a capture that is known does not wait for its order', async ({
  service: { sql },
  orders,
}) => {
  const order = await orders.write();
  const payment = capturedWhole('pay_again', order);
  const report = (changes = {}) =>
    writeCallback(sql, {
      ...SANDBOX,
      eventId: 'evt_again',
      event: 'payment.captured',
      body: '{}',
      reports: { type: 'capture', ...payment, gatewaySessionId: null, ...changes },
    });
  expect(await report()).toBeDefined();
  await writeCapture(sql, { at: SANDBOX, payment });
  await sql.begin(async (tx) => {
    await tx`SELECT FROM orders WHERE order_number = ${order.orderNumber} FOR UPDATE`;
    expect(await report()).toBeUndefined();
    expect(await report({ refundedPaise: 100 })).toBeDefined();
  });
});

test.for([
  [0, 'wrong_amount'],
  [40, undefined],
] as const)(
  'the claim of a surplus waits for its order, and sees that %i paise were refunded',
  async ([refundedPaise, reason], { service: { sql }, service, orders }) => {
    const { orderNumber } = await orders.write();
    const capture = { orderNumber, amountPaise: 100, environment: 'sandbox' } as const;
    const gatewayPaymentId = await writePayment(service, capture);
    const { claimed } = await sql.begin(async (tx) => {
      await tx`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
      const claiming = claimSurplus(sql, atRazorpay(gatewayPaymentId));
      claiming.catch(() => undefined);
      await untilBlocked(service, 'claim_surplus');
      // The payment is not locked before its order.
      await tx`
      UPDATE payments SET refunded_paise = ${refundedPaise} WHERE order_number = ${orderNumber}`;
      return { claimed: claiming };
    });
    expect((await claimed)?.reason).toBe(reason);
  },
);

test('a session whose order was paid while the gateway opened it does not open', async ({
  service: { sql },
  orders,
}) => {
  const { orderNumber } = await orders.write();
  const sessionId = `ps_${orderNumber}`;
  await sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, state, expires_at, ended_at)
    VALUES (${sessionId}, ${orderNumber}, 'sandbox', 'razorpay', 'OPENING', service_now(), service_now())`;
  const opened = { gatewaySessionId: 'qr_late', upiIntent: 'upi://pay', pageUrl: 'https://x' };
  expect(await markSessionOpen(sql, sessionId, opened)).toBe(false);
});
