import { describe, expect } from 'vitest';
import { claimSurplus, finishSurplus } from '../../../src/payments/funds/refund-queries.ts';
import type { PaymentRef } from '../../../src/contracts/ids.ts';
import type { OrderRef } from '../../support/api-client.ts';
import { atRazorpay } from '../../support/gateway.ts';
import { untilBlocked } from '../../support/locks.ts';
import { writePayment } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const AMOUNT_PAISE = 49_950;
const WRONG_PAISE = 49_900;

const test = serviceTest({ time: 'real' });

/** A recorded capture that is to be refunded and has not been yet. */
async function aSurplus(
  service: TestService,
  { order_number: orderNumber }: OrderRef,
  amountPaise: number,
): Promise<PaymentRef> {
  const capture = { orderNumber, amountPaise, environment: 'sandbox' } as const;
  const payment = atRazorpay(await writePayment(service, capture));
  await claimSurplus(service.sql, payment);
  return payment;
}

describe('a capture of a wrong amount that was refunded before the cancel', () => {
  test('is the `refund` of the CANCELLED order and of its webhook', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, pay } = await orders.beingPaid();
    const paymentId = await pay({ amountPaise: WRONG_PAISE });
    await until(async () => {
      const rows = await service.sql`SELECT 1 FROM surplus_refunds
        WHERE gateway_payment_id = ${paymentId} AND processed_at IS NOT NULL`;
      return rows.length === 1;
    });
    expect((await merchant.sandbox.read(order)).refund).toBeNull();
    const { body } = await merchant.sandbox.cancel(order);
    const refund = { amount: 499, reason: 'wrong_amount', processed_at: expect.any(String) };
    expect(body.data).toMatchObject({ status: 'CANCELLED', refund });
    expect((await merchant.sandbox.read(order)).refund).toEqual(body.data.refund);
    const [webhook] = await merchant.receiver.until(
      1,
      ({ event, body: sent }) =>
        event === 'ORDER_CANCELLED' && sent.data['order_number'] === order.order_number,
    );
    expect(webhook?.body.data['refund']).toEqual(body.data.refund);
  });

  test('is shown with its own time, even if a later capture is refunded sooner', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const earlier = await aSurplus(service, order, WRONG_PAISE);
    expect((await merchant.sandbox.cancel(order)).status).toBe(200);
    const later = await aSurplus(service, order, AMOUNT_PAISE);
    await finishSurplus(service.sql, later);
    const refund = { amount: 499, reason: 'wrong_amount' };
    expect((await merchant.sandbox.read(order)).refund).toEqual({ ...refund, processed_at: null });
    await finishSurplus(service.sql, earlier);
    expect((await merchant.sandbox.read(order)).refund).toEqual({
      ...refund,
      processed_at: expect.any(String),
    });
  });
});

describe('a refund that ends at the moment of the cancel is shown', () => {
  test('when the cancel waits for it', async ({ service, merchant }) => {
    const order = await merchant.sandbox.create();
    const surplus = await aSurplus(service, order, WRONG_PAISE);
    const cancelling = await service.sql.begin(async (sql) => {
      await sql`SELECT FROM orders WHERE order_number = ${order.order_number} FOR NO KEY UPDATE`;
      const answer = merchant.sandbox.cancel(order);
      await untilBlocked(service, 'record_step');
      await sql`UPDATE surplus_refunds SET processed_at = service_now()
        WHERE gateway_payment_id = ${surplus.gatewayPaymentId}`;
      return { answer };
    });
    expect((await cancelling.answer).status).toBe(200);
    expect((await merchant.sandbox.read(order)).refund?.processed_at).toEqual(expect.any(String));
  });

  test.for([
    ['its end', finishSurplus],
    ['its beginning', claimSurplus],
  ] as const)('when %s waits for the cancel', async ([what, write], { service, merchant }) => {
    const order = await merchant.sandbox.create();
    const capture = {
      orderNumber: order.order_number,
      amountPaise: WRONG_PAISE,
      environment: 'sandbox',
    } as const;
    const isBegun = what === 'its end';
    const surplus = isBegun
      ? await aSurplus(service, order, WRONG_PAISE)
      : atRazorpay(await writePayment(service, capture));
    const writing = await service.sql.begin(async (sql) => {
      await sql`UPDATE orders SET status = 'CANCELLED' WHERE order_number = ${order.order_number}`;
      const written = write(service.sql, surplus);
      await untilBlocked(service, '_surplus(');
      return { written };
    });
    await writing.written;
    const [row] = await service.sql<Record<string, unknown>[]>`
      SELECT refund_amount_paise, refund_processed_at FROM orders
      WHERE order_number = ${order.order_number}`;
    expect(row).toEqual(
      isBegun
        ? { refundAmountPaise: null, refundProcessedAt: expect.any(Date) }
        : { refundAmountPaise: WRONG_PAISE, refundProcessedAt: null },
    );
  });
});
