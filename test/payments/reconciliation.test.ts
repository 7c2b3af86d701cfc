import { describe, expect } from 'vitest';
import { SCHEDULE_IDS } from '../../src/contracts/ids.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import type { OrderRef } from '../support/api-client.ts';
import {
  captureAtGateway,
  capturedWhole,
  madeAtGateway,
  reconcileLater,
  SANDBOX,
} from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

describe('reconciliation finds what a lost callback did not report', () => {
  test('a payment makes its order PAID', async ({ service, orders }) => {
    const { pay, untilStatus } = await orders.beingPaid();
    await pay();
    await reconcileLater(service);
    await untilStatus('PAID');
  });

  test('a payment makes its order PAID even if the session has expired', async ({
    service,
    orders,
  }) => {
    const { pay, advance, untilStatus } = await orders.beingPaid();
    await advance(15 * 60);
    await pay();
    await reconcileLater(service);
    await untilStatus('PAID');
  });

  test('a failed payment is reported: PAYMENT_FAILED', async ({ service, orders }) => {
    const { order, pay } = await orders.beingPaid();
    await pay({ vpa: 'failure@razorpay' });
    await reconcileLater(service);
    const failures = () => service.sql`
      SELECT 1 FROM order_events
      WHERE order_number = ${order.order_number} AND type = 'PAYMENT_FAILED'`;
    await until(async () => (await failures()).length === 1);
    await reconcileLater(service);
    expect(await failures()).toHaveLength(1);
  });

  test('a payment after the cancel is refunded to the buyer', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, pay, read } = await orders.beingPaid();
    expect((await merchant.sandbox.cancel(order)).status).toBe(200);
    const paymentId = await pay({ late: true });
    await reconcileLater(service);
    await until(async () => (await read()).refund?.processed_at !== undefined);
    await until(async () => (await read()).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });

  test('in one run, however many sessions there are to check', async ({ service, orders }) => {
    const { order } = await orders.beingPaid();
    await service.sql`
      INSERT INTO payment_sessions
        (session_id, order_number, environment, gateway, state, gateway_session_id, expires_at,
          next_check_at)
      SELECT 'ps_' || n, ${order.order_number}, 'sandbox', 'razorpay', 'OPEN', 'qr_unknown_' || n,
        service_now() + interval '15 minutes', service_now()
      FROM generate_series(1, 450) n`;
    expect((await reconcileLater(service)).sessions).toBeGreaterThan(450);
    await service.sql`DELETE FROM payment_sessions WHERE gateway_session_id LIKE 'qr_unknown_%'`;
  });

  test('by the Schedule, without a request', async ({ service, orders }) => {
    const { pay, untilStatus } = await orders.beingPaid();
    await pay();
    const { client } = service.temporal;
    await service.clock.advance(121_000);
    await ensureSchedules(client, { sweepAfterMs: 1000 });
    await untilStatus('PAID');
    for (const id of Object.values(SCHEDULE_IDS)) await client.schedule.getHandle(id).delete();
  });

  test('by a later run, if the gateway was unavailable', async ({ service, orders, gateway }) => {
    const { pay, read, untilStatus } = await orders.beingPaid();
    await pay();
    const { endFault } = await gateway.addFault({ kind: 'error' });
    await reconcileLater(service);
    expect((await read()).status).toBe('ACCEPTED');
    await endFault();
    await reconcileLater(service);
    await untilStatus('PAID');
  });
});

describe('reconciliation repeats a Signal that was lost between the database and the workflow', () => {
  test('the order becomes PAID', async ({ service, orders }) => {
    const order = await orders.start();
    await order.capture();
    await reconcileLater(service);
    await order.untilStatus('PAID');
  });

  test('a capture that the order cannot take is refunded to the buyer', async ({
    service,
    orders,
  }) => {
    const [cancelled, paid, accepted] = [
      await orders.in('CANCELLED'),
      await orders.in('PAID'),
      await orders.in('ACCEPTED'),
    ];
    const paymentIds = [
      await cancelled.capture(),
      await paid.capture(),
      await captureAtGateway(service, {
        ...(await accepted.row()),
        amountPaise: AMOUNT_PAISE + 100,
      }),
    ];
    await reconcileLater(service);
    for (const paymentId of paymentIds) {
      await until(async () => {
        const [refund] = await madeAtGateway(service, paymentId, 'refunds');
        return refund?.status === 'processed';
      });
    }
    const statuses = [await cancelled.row(), await paid.row(), await accepted.row()];
    expect(statuses.map(({ status }) => status)).toEqual(['CANCELLED', 'PAID', 'ACCEPTED']);
  });

  test('a payment that came through no payment session is treated the same', async ({
    service,
    orders,
  }) => {
    const order = await orders.start();
    const gatewayPaymentId = await order.capture();
    const paid = { orderNumber: order.orderNumber, amountPaise: AMOUNT_PAISE };
    const payment = { ...capturedWhole(gatewayPaymentId, paid), sessionId: 'ps_of_nobody' };
    await writeCapture(service.sql, { at: SANDBOX, payment });
    await reconcileLater(service);
    await order.untilStatus('PAID');
  });
});

describe("a PAID order's funds", () => {
  const transfersOf = async (service: TestService, order: OrderRef) => {
    const [row] = await service.sql<{ gatewayPaymentId: string }[]>`
      SELECT gateway_payment_id FROM orders WHERE order_number = ${order.order_number}`;
    return madeAtGateway(service, row?.gatewayPaymentId ?? '', 'transfers');
  };

  test('are held at the gateway for the merchant, once', async ({ service, merchant }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await reconcileLater(service);
    await reconcileLater(service);
    expect(await transfersOf(service, order)).toMatchObject([
      { amount: AMOUNT_PAISE, on_hold: true, status: 'processed' },
    ]);
  });

  test('are held in one run even if the holds of many others fail, each of which is tried once', async ({
    service,
    merchant,
  }) => {
    const stuck = await service.newMerchant({ webhooks: false });
    await service.sql`
      WITH stuck AS (
        INSERT INTO orders (order_number, merchant_id, environment, gateway, idempotency_key, request_hash,
          amount_paise, description, buyer_email, buyer_phone, payment_token, status,
          gateway_payment_id, payment_link_expires_at, terms, created_at, updated_at)
        SELECT 'ORDSTUCK' || n, ${stuck.merchantId}, 'production', 'razorpay', n, '', 50000, '', '', '',
          'stuck' || n, 'PAID', 'pay_stuck' || n, now(), '{}', now(), now()
        FROM generate_series(1, 250) n
        RETURNING order_number, gateway_payment_id
      )
      INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
      SELECT 'razorpay', gateway_payment_id, 'production', order_number, 50000 FROM stuck`;
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await reconcileLater(service);
    expect(await transfersOf(service, order)).toMatchObject([
      { amount: AMOUNT_PAISE, on_hold: true },
    ]);
    const tried = service.logged.filter((line) =>
      JSON.stringify(line).includes('razorpay is not configured for production'),
    );
    expect(tried).toHaveLength(250);
  });

  test('are released by lifting that hold', async ({ service, merchant }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await reconcileLater(service);
    // Far ahead of Temporal's clock, the database would find the end of the window late.
    await service.clock.set(0);
    await merchant.sandbox.command(order, 'deliver');
    await merchant.sandbox.help(order, 'advance', { seconds: 24 * 3600 });
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect(await transfersOf(service, order)).toMatchObject([
      { amount: AMOUNT_PAISE, on_hold: false },
    ]);
  });
});
