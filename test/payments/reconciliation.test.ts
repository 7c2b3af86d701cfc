import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { RECONCILE_SCHEDULE_ID } from '../../src/contracts/ids.ts';
import { writeCapture } from '../../src/payments/queries.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import {
  breakGateway,
  captureAtGateway,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  simulator,
  withoutCallbacks,
  reconcile,
} from '../support/gateway.ts';
import { startOrder, startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Named {
  order_number: string;
}
const AMOUNT_PAISE = 49_950;

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
  await withoutCallbacks(service);
});
afterEach(() => simulator(service, 'DELETE', '/faults'));
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const read = async ({ order_number }: Named) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const untilStatus = (order: Named, status: string) =>
  until(async () => (await read(order)).status === status);

let minutes = 0;
/** Lets a minute pass for the database, and runs what the Schedule runs each minute. */
async function aMinuteLater(): Promise<{ sessions: number; captures: number }> {
  minutes += 1;
  await service.clock.set(minutes * 61_000);
  return reconcile(service);
}

async function anOrderBeingPaid() {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  const { gateway_session_id } = await sessionOf(service, order);
  return {
    order,
    pay: (attempt = {}) => payAtGateway(service, gateway_session_id, attempt),
    cancel: () => merchant.sandbox.post(`/orders/${order.order_number}/cancel`),
  };
}

describe('what a lost callback hid is found', () => {
  test('a payment makes its order PAID', async () => {
    const { order, pay } = await anOrderBeingPaid();
    await pay();
    await aMinuteLater();
    await untilStatus(order, 'PAID');
  });

  test('a payment makes its order PAID though the session has expired', async () => {
    const { order, pay } = await anOrderBeingPaid();
    await merchant.sandbox.help(order, 'advance', { seconds: 15 * 60 });
    await pay();
    await aMinuteLater();
    await untilStatus(order, 'PAID');
  });

  test('a failed attempt is told: PAYMENT_FAILED', async () => {
    const { order, pay } = await anOrderBeingPaid();
    await pay({ vpa: 'failure@razorpay' });
    await aMinuteLater();
    const failures = () => service.sql`
      SELECT 1 FROM order_events
      WHERE order_number = ${order.order_number} AND type = 'PAYMENT_FAILED'`;
    await until(async () => (await failures()).length === 1);
    await aMinuteLater();
    expect(await failures()).toHaveLength(1);
  });

  test('a payment that came after the cancel goes back to the buyer', async () => {
    const { order, pay, cancel } = await anOrderBeingPaid();
    await cancel();
    const paymentId = await pay({ late: true });
    await aMinuteLater();
    await until(async () => (await read(order)).refund?.processed_at !== undefined);
    await until(async () => (await read(order)).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });

  test('in one run, however many sessions there are to ask about', async () => {
    const { order } = await anOrderBeingPaid();
    await service.sql`
      INSERT INTO payment_sessions
        (session_id, order_number, environment, state, gateway_session_id, expires_at)
      SELECT 'ps_' || n, ${order.order_number}, 'sandbox', 'OPEN', 'qr_unknown_' || n,
        service_now() + interval '15 minutes'
      FROM generate_series(1, 450) n`;
    expect((await aMinuteLater()).sessions).toBeGreaterThan(450);
    await service.sql`DELETE FROM payment_sessions WHERE gateway_session_id LIKE 'qr_unknown_%'`;
  });

  test('by the Schedule, without anybody asking', async () => {
    const { order, pay } = await anOrderBeingPaid();
    await pay();
    const { client } = service.temporal;
    await ensureSchedules(client, { sweepAfterMs: 3_600_000, reconcileMs: 1000 });
    await untilStatus(order, 'PAID');
    await client.schedule.getHandle(RECONCILE_SCHEDULE_ID).delete();
  });

  test('by a later run, if the gateway was away', async () => {
    const { order, pay } = await anOrderBeingPaid();
    await pay();
    const { mend } = await breakGateway(service, { kind: 'error' });
    await aMinuteLater();
    expect((await read(order)).status).toBe('ACCEPTED');
    await mend();
    await aMinuteLater();
    await untilStatus(order, 'PAID');
  });
});

describe('a Signal lost between the book and the workflow is made up for', () => {
  const capture = (order: { order_number: string; amount_paise: number }) =>
    captureAtGateway(service, order);

  test('the order becomes PAID', async () => {
    const order = await startOrder(service, merchant);
    await capture(await order.row());
    await aMinuteLater();
    await order.untilStatus('PAID');
  });

  test('a capture that the order cannot take goes back to the buyer', async () => {
    const [cancelled, paid, accepted] = [
      await startOrderIn(service, 'CANCELLED', merchant),
      await startOrderIn(service, 'PAID', merchant),
      await startOrderIn(service, 'ACCEPTED', merchant),
    ];
    const paymentIds = [
      await capture(await cancelled.row()),
      await capture(await paid.row()),
      await capture({ ...(await accepted.row()), amount_paise: AMOUNT_PAISE + 100 }),
    ];
    await aMinuteLater();
    for (const paymentId of paymentIds) {
      await until(async () => {
        const [refund] = await madeAtGateway(service, paymentId, 'refunds');
        return refund?.status === 'processed';
      });
    }
    const statuses = [await cancelled.row(), await paid.row(), await accepted.row()];
    expect(statuses.map(({ status }) => status)).toEqual(['CANCELLED', 'PAID', 'ACCEPTED']);
  });

  test('a payment that no session of ours led to is the same', async () => {
    const order = await startOrder(service, merchant);
    const gatewayPaymentId = await captureAtGateway(service, await order.row());
    await writeCapture(service.sql, {
      gatewayPaymentId,
      orderNumber: order.orderNumber,
      sessionId: 'ps_of_nobody',
      environment: 'sandbox',
      amountPaise: AMOUNT_PAISE,
      utr: null,
    });
    await aMinuteLater();
    await order.untilStatus('PAID');
  });
});

describe("a PAID order's funds", () => {
  const transfersOf = async (order: Named) => {
    const [row] = await service.sql<{ gateway_payment_id: string }[]>`
      SELECT gateway_payment_id FROM orders WHERE order_number = ${order.order_number}`;
    return madeAtGateway(service, row?.gateway_payment_id ?? '', 'transfers');
  };

  test('are held at the gateway for the merchant, once', async () => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await aMinuteLater();
    await aMinuteLater();
    expect(await transfersOf(order)).toMatchObject([
      { amount: AMOUNT_PAISE, on_hold: true, status: 'processed' },
    ]);
  });

  test('are held in one run though those of many others cannot be, which are tried once', async () => {
    const stuck = await service.newMerchant({ webhooks: false });
    await service.sql`
      WITH stuck AS (
        INSERT INTO orders (order_number, merchant_id, environment, idempotency_key, request_hash,
          amount_paise, description, buyer_email, buyer_phone, payment_token, status,
          gateway_payment_id, payment_link_expires_at, terms, created_at, updated_at)
        SELECT 'ORDSTUCK' || n, ${stuck.merchantId}, 'production', n, '', 50000, '', '', '',
          'stuck' || n, 'PAID', 'pay_stuck' || n, now(), '{}', now(), now()
        FROM generate_series(1, 250) n
        RETURNING order_number, gateway_payment_id
      )
      INSERT INTO payments (gateway_payment_id, environment, order_number, amount_paise)
      SELECT gateway_payment_id, 'production', order_number, 50000 FROM stuck`;
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await aMinuteLater();
    expect(await transfersOf(order)).toMatchObject([{ amount: AMOUNT_PAISE, on_hold: true }]);
    const tried = service.logged.filter((line) =>
      JSON.stringify(line).includes('none is configured for production'),
    );
    expect(tried).toHaveLength(250);
  });

  test('are released by lifting that hold', async () => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    await aMinuteLater();
    await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
    await merchant.sandbox.help(order, 'advance', { seconds: 24 * 3600 });
    await untilStatus(order, 'COMPLETED');
    expect(await transfersOf(order)).toMatchObject([{ amount: AMOUNT_PAISE, on_hold: false }]);
  });
});
