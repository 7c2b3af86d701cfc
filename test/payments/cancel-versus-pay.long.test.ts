import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { OrderBeingPaid } from '../support/gateway.ts';
import { simulator } from '../support/gateway.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

/** A cancel by a merchant who retries after a 500 or 502 with the same key, as clients should. */
async function cancelUntilAnswered({ cancel }: Pick<OrderBeingPaid, 'cancel'>) {
  const headers = { 'Idempotency-Key': randomUUID() };
  return repeated(() => cancel(headers));
}

test('of 1,000 cancels that race a payment, each has one winner and no money is lost', async ({
  service,
  orders,
}) => {
  const RACES = 1000;
  // With more, a slow machine's Temporal would take longer than the API waits.
  const CONCURRENT = 8;
  const races = Array.from({ length: RACES }).values();
  const orderNumbers: string[] = [];
  const cancelledOrders: string[] = [];
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (const _ of races) {
        const race = await orders.beingPaid();
        orderNumbers.push(race.order.order_number);
        const paid = race.pay().then(
          () => true,
          () => false,
        );
        const [cancelled, isPaid] = await Promise.all([cancelUntilAnswered(race), paid]);
        if (cancelled.status === 200) {
          expect(cancelled.body.data.status).toBe('CANCELLED');
          cancelledOrders.push(race.order.order_number);
        } else expect([cancelled.status, isPaid]).toEqual([400, true]);
      }
    }),
  );
  await until(async () => {
    const rows = await service.sql`
      SELECT 1 FROM orders WHERE order_number = ANY(${orderNumbers})
        AND (status = 'ACCEPTED' OR pending_operation IS NOT NULL)`;
    return rows.length === 0;
  });
  await assertCancelsWon(service, cancelledOrders);
  const [sums] = await service.sql<Record<string, number>[]>`
    SELECT count(*) FILTER (WHERE o.status = 'PAID' AND p.gateway_payment_id IS NULL) AS paid_without_capture,
      count(*) FILTER (WHERE o.status NOT IN ('PAID', 'CANCELLED')) AS other
    FROM orders o LEFT JOIN payments p ON p.gateway_payment_id = o.gateway_payment_id
    WHERE o.order_number = ANY(${orderNumbers})`;
  expect(sums).toEqual({ paidWithoutCapture: 0, other: 0 });
  await assertLedgerMatchesGateway(service);
});

/** Checks that no cancelled order is also paid, and that every capture of it was refunded. */
async function assertCancelsWon(service: TestService, orders: string[]): Promise<void> {
  const paid = await service.sql`
    SELECT order_number FROM order_steps
    WHERE order_number = ANY(${orders}) AND (status = 'PAID' OR kind = 'PAYMENT_SUCCESS')`;
  expect(paid).toEqual([]);
  await until(async () => {
    const kept = await service.sql`
      SELECT 1 FROM payments p LEFT JOIN surplus_refunds s USING (gateway_payment_id)
      WHERE p.order_number = ANY(${orders}) AND s.processed_at IS NULL`;
    return kept.length === 0;
  });
}

/** Checks that the ledger adds up and agrees with the gateway. */
async function assertLedgerMatchesGateway(service: TestService): Promise<void> {
  const { faults, accounts } = await verifyLedger(service.sql);
  expect(faults).toEqual([]);
  const balanceOf = (account: string) =>
    accounts.find((one) => one.environment === 'sandbox' && one.account === account)?.balancePaise;
  const { isBalanced, capturedPaise, refundedPaise, heldPaise, platformPaise } = await simulator<
    Record<string, number>
  >(service, 'GET', '/totals');
  expect({
    isBalanced,
    capturedPaise,
    refundedPaise,
    heldPaise: Number(heldPaise) + Number(platformPaise),
  }).toEqual({
    isBalanced: true,
    capturedPaise: -Number(balanceOf('gateway_clearing')),
    refundedPaise: balanceOf('refunds'),
    heldPaise: balanceOf('merchant_held'),
  });
}
