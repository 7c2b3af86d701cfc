import { expect } from 'vitest';
import { writeCapture } from '../../src/payments/queries.ts';
import { capturedWhole } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

test('a capture waits for a step that moves the clock of its session, and neither dies of it', async ({
  service,
  orders,
}) => {
  const { order_number: orderNumber, amount_paise: amountPaise } = await orders.write();
  const sessionId = `ps_${orderNumber}`;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, state, expires_at)
    VALUES (${sessionId}, ${orderNumber}, 'sandbox', 'OPEN', service_now())`;
  const payment = capturedWhole('pay_1', amountPaise);
  const capture = { orderNumber, sessionId, payment };
  const capturing = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const written = writeCapture(service.sql, { ...capture, environment: 'sandbox' });
    // Should it deadlock, this one is told; the other must not be unheard meanwhile.
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
