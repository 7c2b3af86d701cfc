import { expect } from 'vitest';
import { auditOf } from '../support/audit.ts';
import { serviceTest } from '../support/service-test.ts';
import { canaryBuyer, cancelledOrder, untilWebhooksEnded } from './canaries.ts';

const REASON = 'Request 4712 of the buyer';

const test = serviceTest({ time: 'real' });

test.for([
  [
    'a webhook waits',
    "UPDATE webhook_deliveries d SET state = 'PENDING' FROM order_events e WHERE e.event_id = d.event_id AND e.order_number = $1",
    /its webhook dlv_\w+ waits/,
  ],
  [
    'a webhook is being sent by hand',
    "UPDATE webhook_deliveries d SET attempt_token = 'x', attempt_until = now() FROM order_events e WHERE e.event_id = d.event_id AND e.order_number = $1",
    /an attempt of dlv_\w+ is under way/,
  ],
  [
    'an alert of it is open',
    "INSERT INTO alerts (kind, subject, details) VALUES ('gateway_refused', $1, '{}')",
    /its alert gateway_refused is open/,
  ],
  [
    'an alert of its payment is open',
    `WITH p AS (INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, currency)
       VALUES ('razorpay', 'pay_usd' || $1, 'sandbox', $1, 500, 'USD') RETURNING gateway_payment_id)
     INSERT INTO alerts (kind, subject, details) SELECT 'unfit_capture', 'razorpay:' || gateway_payment_id, '{}' FROM p`,
    /its alert unfit_capture is open/,
  ],
  [
    'a capture of it is not applied',
    "INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise) VALUES ('razorpay', 'pay_' || $1, 'sandbox', $1, 500)",
    /payment pay_ORD\w+ is neither applied nor refunded/,
  ],
  [
    'a callback has reported a payment of it that is not confirmed',
    `INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, gateway_payment_id, order_number,
       is_unconfirmed)
     VALUES ('razorpay', 'sandbox', 'evt', 'payment.captured', '', 'pay_r' || $1, $1, true)`,
    /payment pay_rORD\w+ is neither applied nor refunded/,
  ],
  [
    'the refund of a surplus is under way',
    `WITH p AS (INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
       VALUES ('razorpay', 'pay_s' || $1, 'sandbox', $1, 500) RETURNING *)
     INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason)
     SELECT gateway, gateway_payment_id, order_number, 500, 'late_payment' FROM p`,
    /the refund of payment pay_sORD\w+ is under way/,
  ],
  [
    'a callback has reported a refund of it that is not recorded',
    `WITH p AS (INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, currency)
       VALUES ('razorpay', 'pay_f' || $1, 'sandbox', $1, 500, 'USD') RETURNING *)
     INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, gateway_payment_id, is_unconfirmed,
       reports_refund)
     SELECT gateway, environment, 'evt_f' || order_number, 'refund.failed', '', gateway_payment_id, true, true FROM p`,
    /the refund of payment pay_fORD\w+ is under way/,
  ],
  [
    'a chargeback of it is open',
    `WITH p AS (INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, currency)
       VALUES ('razorpay', 'pay_c' || $1, 'sandbox', $1, 500, 'USD') RETURNING *)
     INSERT INTO gateway_reversals (gateway, reversal_id, gateway_payment_id, order_number, kind, amount_paise, state)
     SELECT gateway, 'disp_' || $1, gateway_payment_id, order_number, 'chargeback', 500, 'open' FROM p`,
    /disp_ORD\w+, a refund or chargeback at the gateway, has not ended/,
  ],
] as const)(
  'a final order is not erased while %s',
  async ([_what, statement, reason], { service, merchant, cli }) => {
    const buyer = canaryBuyer();
    const order = await cancelledOrder({ service, merchant, cli }, buyer);
    await untilWebhooksEnded(service, [order]);
    await service.sql.unsafe(statement, [order.order_number]);
    const erase = ['order', 'erase', '--order', order.order_number, '--reason', REASON];
    const refusal = await cli.refusal(...erase);
    expect(refusal).toMatch(`Order ${order.order_number} cannot be erased: `);
    expect(refusal).toMatch(reason);
    expect((await merchant.sandbox.read(order)).buyer.email).toBe(buyer.email);
    const audit = await auditOf(service.sql, merchant.merchantId);
    expect(audit.filter(({ subject }) => subject === order.order_number)).toEqual([]);
  },
);

test('of a buyer’s orders the open one is refused with its reason, and erased once it is final', async ({
  service,
  merchant,
  cli,
}) => {
  const buyer = canaryBuyer();
  const final = await cancelledOrder({ service, merchant, cli }, buyer);
  const open = await merchant.sandbox.create({
    buyerEmail: 'another@example.com',
    buyerPhone: buyer.phone,
  });
  await untilWebhooksEnded(service, [final, open]);
  const erase = [
    'buyer',
    'erase',
    '--email',
    buyer.email,
    '--phone',
    buyer.digits,
    '--reason',
    REASON,
  ];
  expect(await cli.jsonOfFailure(...erase)).toEqual({
    erased: 1,
    refused: 1,
    orders: [
      { orderNumber: final.order_number, outcome: 'erased', reasons: [] },
      {
        orderNumber: open.order_number,
        outcome: 'refused',
        reasons: ['it is ACCEPTED, which is not final'],
      },
    ],
  });
  await merchant.sandbox.command(open, 'cancel');
  await untilWebhooksEnded(service, [open]);
  expect(await cli.json(...erase)).toMatchObject({ erased: 1, refused: 0 });
});

test('a reason with the buyer’s data is refused, because the audit log keeps it', async ({
  service,
  merchant,
  cli,
}) => {
  const buyer = canaryBuyer();
  const order = await cancelledOrder({ service, merchant, cli }, buyer);
  await untilWebhooksEnded(service, [order]);
  const erase = ['order', 'erase', '--order', order.order_number, '--reason'];
  const refusal = await cli.refusal(...erase, `Asked by ${buyer.email.toUpperCase()}`);
  expect(refusal).toContain("leave out the buyer's name, e-mail and phone");
  expect(await cli.refusal(...erase, `She called from ${buyer.digits}`)).toBe(refusal);
  expect(await cli.refusal(...erase, `Asha ${buyer.canary} asked for it`)).toBe(refusal);
  const byBuyer = ['buyer', 'erase', '--email', buyer.email, '--phone', buyer.phone, '--reason'];
  expect(await cli.refusal(...byBuyer, `She called from ${buyer.digits}`)).toBe(refusal);
  // Of two orders, the older one has no name: it is not erased before the name of the other one is found.
  await service.sql`
    UPDATE orders SET buyer_name = '' WHERE order_number = ${order.order_number}`;
  const later = await cancelledOrder({ service, merchant, cli }, buyer);
  await untilWebhooksEnded(service, [later]);
  expect(await cli.refusal(...byBuyer, `Asha ${buyer.canary} asked for it`)).toBe(refusal);
  expect((await merchant.sandbox.read(order)).buyer.email).toBe(buyer.email);
  expect(await cli.refusal(...erase, ' ')).toContain('must have 1 to 1000 characters');
  expect(await cli.refusal('order', 'erase', '--order', 'ORD0', '--reason', 'x')).toBe(
    'Order not found: ORD0',
  );
});

test('the service’s login erases only through the function', async ({ service }) => {
  const { deps } = service;
  await expect(deps.sql`UPDATE webhook_attempts SET response_body = NULL`).rejects.toThrow(
    'permission denied',
  );
});
