import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeCapture } from '../../src/payments/queries.ts';
import { untilBlocked } from '../support/locks.ts';
import { writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ time: 'real' });
});
afterAll(() => service?.stop());

test('a capture waits for a step that moves the clock of its session, and neither dies of it', async () => {
  const merchant = await service.newMerchant({ webhooks: false });
  const { order_number: orderNumber, amount_paise: amountPaise } = await writeOrder(
    service,
    merchant,
  );
  const sessionId = `ps_${orderNumber}`;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, state, expires_at)
    VALUES (${sessionId}, ${orderNumber}, 'sandbox', 'OPEN', service_now())`;
  const of = { gatewayPaymentId: 'pay_1', utr: null } as const;
  const capture = { ...of, orderNumber, sessionId, amountPaise };
  const capturing = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR UPDATE`;
    const written = writeCapture(service.sql, { ...capture, environment: 'sandbox' });
    // Should it deadlock, this one is told; the other must not be unheard meanwhile.
    written.catch(() => undefined);
    await untilBlocked(service, 'INSERT INTO payments');
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
