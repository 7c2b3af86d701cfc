import { expect } from 'vitest';
import { endSession, writeCapture } from '../../src/payments/queries.ts';
import { capturedWhole, JUST_ASKED, SANDBOX } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

test('a capture waits for a step that moves the clock of its session, and both succeed', async ({
  service,
  orders,
}) => {
  const { orderNumber, amountPaise } = await orders.write();
  const sessionId = `ps_${orderNumber}`;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, state, expires_at)
    VALUES (${sessionId}, ${orderNumber}, 'sandbox', 'razorpay', 'OPEN', service_now())`;
  const payment = capturedWhole('pay_1', amountPaise);
  const capture = { orderNumber, sessionId, payment, askedAt: JUST_ASKED };
  const capturing = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const written = writeCapture(service.sql, { ...capture, ...SANDBOX });
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
  const { orderNumber } = await orders.write();
  const sessionId = `ps_${orderNumber}`;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, state, expires_at)
    VALUES (${sessionId}, ${orderNumber}, 'sandbox', 'razorpay', 'OPEN', service_now())`;
  await service.sql`
    UPDATE orders SET open_session_id = ${sessionId} WHERE order_number = ${orderNumber}`;
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

test('a capture that is reported again with nothing new does not wait for its order; a refund of it does', async ({
  service: { sql },
  orders,
}) => {
  const { orderNumber, amountPaise } = await orders.write();
  const payment = capturedWhole('pay_again', amountPaise);
  const report = (changes = {}) =>
    writeCapture(sql, {
      orderNumber,
      sessionId: null,
      payment: { ...payment, ...changes },
      askedAt: JUST_ASKED,
      ...SANDBOX,
    });
  expect(await report()).toBe('fits');
  const refunded = await sql.begin(async (tx) => {
    await tx`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    expect(await report()).toBe('fits');
    const fits = report({ refundedPaise: 100 });
    fits.catch(() => undefined);
    await untilBlocked({ sql }, 'write_capture');
    return { fits };
  });
  expect(await refunded.fits).toBe('unfit');
  expect(await report()).toBe('unfit');
});
