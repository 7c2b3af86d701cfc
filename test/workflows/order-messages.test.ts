import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect } from 'vitest';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import { atRazorpay } from '../support/gateway.ts';
import type { DirectOrder, Orders } from '../support/orders.ts';
import { writePayment } from '../support/orders.ts';
import type { TestWorker } from '../support/restartable-worker.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';

const test = serviceTest({
  time: 'real',
  callbacks: false,
  // The server soon gives the orders of a stopped worker to another one. Messages that arrive while
  // it is stopped reach the order in one activation.
  worker: { options: { stickyQueueScheduleToStartTimeout: 200 } },
});

async function assertAlive(order: DirectOrder): Promise<void> {
  await order.pay();
  await order.update('deliver');
  expect((await order.row()).status).toBe('DELIVERED');
}

/** An order to which all of this is sent before its first workflow task. */
const orderSent = (
  { worker, orders }: { worker: TestWorker; orders: Orders },
  send: (order: DirectOrder) => Promise<void>,
) =>
  worker.whileStopped(async () => {
    const order = await orders.start();
    await send(order);
    return order;
  });
const sendPayment = async (order: DirectOrder) =>
  order.signal('pay', atRazorpay(await order.capture()));

describe('messages that arrive at an unusual time', () => {
  test('a payment Signal that arrives before the first workflow task makes the order PAID', async ({
    worker,
    orders,
  }) => {
    const order = await orderSent({ worker, orders }, sendPayment);
    await order.untilStatus('PAID');
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
  });

  test('a payment and a delivery in one activation are both carried out, in their order of arrival', async ({
    worker,
    orders,
  }) => {
    const order = await orderSent({ worker, orders }, async (sentTo) => {
      await sendPayment(sentTo);
      await sentTo.signal('deliver');
    });
    await order.untilStatus('DELIVERED');
    expect(await order.events()).toEqual([
      '1 ORDER_CREATED',
      '2 PAYMENT_SUCCESS',
      '3 DELIVERY_CONFIRMED',
    ]);
  });

  test('a delivery, a dispute and its resolution in one activation are all carried out', async ({
    worker,
    orders,
  }) => {
    const order = await orders.in('PAID');
    await worker.whileStopped(async () => {
      await order.signal('deliver');
      await order.signal('dispute');
      await order.signal('resolve');
    });
    await order.untilStep('DISPUTE_RESOLVED');
    expect((await order.kinds()).slice(2)).toEqual([
      'DELIVERY_CONFIRMED',
      'DISPUTE_RAISED',
      'DISPUTE_RESOLVED',
    ]);
    expect(await order.row()).toMatchObject({ status: 'DELIVERED', disputeCount: 1 });
  });

  test('of two deliveries in one activation the second is refused', async ({ worker, orders }) => {
    const order = await orders.in('PAID');
    await worker.whileStopped(async () => {
      await order.signal('deliver');
      await order.signal('deliver');
    });
    await order.untilStatus('DELIVERED');
    expect(await order.refusalOf('deliver')).toBe(CANNOT_DELIVER);
    expect(await order.events()).toHaveLength(3);
  });

  test('a deadline that passes while no worker runs takes effect when a worker is back', async ({
    worker,
    orders,
  }) => {
    const terms = {
      environment: 'sandbox',
      completionWindowMs: 1500,
      disputeAnswerMs: 1500,
    } as const;
    const order = await orders.in('DELIVERED', { terms });
    await worker.whileStopped(async () => {
      // On a busy machine it may have passed before the worker had stopped.
      await until(async () => {
        const { completesAt } = await order.row();
        return completesAt === null || Date.now() > completesAt.getTime();
      });
    });
    await order.untilStatus('COMPLETED');
  });

  test('an Update of a finished order is refused, because its workflow has closed', async ({
    merchant,
    orders,
  }) => {
    const order = await orders.in('CANCELLED');
    expect(await order.handle.result()).toMatchObject({
      status: 'CANCELLED',
      disputeCount: 0,
      webhookEvents: 2,
    });
    await expect(order.update('deliver')).rejects.toThrow(WorkflowNotFoundError);
    const { body, status } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
    expect([status, body.message]).toEqual([400, CANNOT_DELIVER]);
  });
});

describe('messages that cannot be carried out', () => {
  test('an illegal Signal is dropped, and the workflow continues', async ({ orders }) => {
    const order = await orders.in('ACCEPTED');
    for (const name of ['deliver', 'dispute', 'resolve', 'accept', 'submitEvidence', 'settle']) {
      await order.signal(name as OrderMessageName);
    }
    await order.signal('decide', { for: 'buyer' });
    await assertAlive(order);
    expect(await order.kinds()).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED']);
  });

  /** Messages that an operator may type into the Temporal UI, and worse. */
  const MALFORMED: [string, OrderMessageName, unknown][] = [
    ['null', 'pay', null],
    ['a number', 'pay', 7],
    ['bare text', 'pay', 'pay_1'],
    ['a list', 'pay', []],
    ['no payment', 'pay', {}],
    ['a payment without its gateway', 'pay', { gatewayPaymentId: 'pay_1' }],
    [
      'a payment of a gateway that no adapter can be',
      'pay',
      { gateway: 'A-B', gatewayPaymentId: 'pay_1' },
    ],
    ['a payment that is a number', 'pay', { gateway: 'razorpay', gatewayPaymentId: 5 }],
    ['a payment that is null', 'pay', { gateway: 'razorpay', gatewayPaymentId: null }],
    ['a payment with no id', 'pay', { gateway: 'razorpay', gatewayPaymentId: '' }],
    [
      'a payment whose id no database takes',
      'pay',
      { gateway: 'razorpay', gatewayPaymentId: 'nul\u0000' },
    ],
    [
      'a payment whose id is far too long',
      'pay',
      { gateway: 'razorpay', gatewayPaymentId: 'x'.repeat(5000) },
    ],
    ['a payment that is no text', 'deliver', { gatewayPaymentId: { not: 'text' } }],
    ['a payment whose id is far too long', 'deliver', { gatewayPaymentId: 'x'.repeat(5000) }],
    ['for nobody', 'decide', { for: 'nobody' }],
    ['null', 'decide', null],
    ['null', 'advance', null],
    ['no seconds', 'advance', {}],
    ['seconds as text', 'advance', { seconds: '60' }],
    ['half a second', 'advance', { seconds: 0.5 }],
    ['no time at all', 'advance', { seconds: 0 }],
    ['back in time', 'advance', { seconds: -3600 }],
    ['more than 30 days', 'advance', { seconds: 2_592_001 }],
    ['for ever', 'advance', { seconds: 1e300 }],
    ['a request id that no database takes', 'failPayment', { commandId: 'nul\u0000' }],
    ['a request id that is no text', 'failPayment', { commandId: { not: 'text' } }],
    ['a request id that is far too long', 'failPayment', { commandId: 'x'.repeat(5000) }],
  ];

  test('malformed Signals are dropped', async ({ orders }) => {
    const order = await orders.in('ACCEPTED');
    const before = await order.row();
    for (const [what, name, message] of MALFORMED) {
      await order.signal(name, message);
      // A second Signal is handled too, so the first one does not block the order.
      await order.signal(name, message);
      expect([what, await order.refusalOf('deliver')]).toEqual([what, CANNOT_DELIVER]);
      expect([what, await order.row()]).toEqual([what, before]);
    }
    await assertAlive(order);
  });

  test('malformed Updates are refused', async ({ orders }) => {
    const order = await orders.in('ACCEPTED');
    const before = await order.row();
    for (const [what, name, message] of MALFORMED) {
      const refusal = await order.refusalOf(name, message);
      expect([what, name, refusal]).toEqual([what, name, expect.any(String)]);
      expect([what, await order.row()]).toEqual([what, before]);
    }
    await assertAlive(order);
  });

  test('an Update with an unknown name is refused, and the workflow continues', async ({
    orders,
  }) => {
    const order = await orders.in('ACCEPTED');
    expect(await order.refusalOf('explode' as OrderMessageName)).toEqual(expect.any(String));
    await order.signal('explode' as OrderMessageName);
    await assertAlive(order);
  });

  test('a cancellation request for the workflow does not end the order, in any status', async ({
    worker,
    orders,
  }) => {
    const order = await orderSent({ worker, orders }, async ({ handle }) => {
      await handle.cancel();
    });
    await order.untilBegun();
    await assertAlive(order);
    await order.handle.cancel();
    await order.update('advance', { seconds: 24 * 3600 });
    await order.untilStatus('COMPLETED');
    expect((await order.handle.result()).status).toBe('COMPLETED');
  });
});

describe('a forged payment', () => {
  const NOT_CAPTURED = 'The payment is not recorded as captured for this order';

  const FORGERIES: [
    string,
    (order: DirectOrder, service: TestService, orders: Orders) => Promise<string>,
  ][] = [
    ['of no capture at all', async () => 'pay_forged'],
    [
      'captured for another order',
      async (_, service, orders) => writePayment(service, await orders.write()),
    ],
    [
      'captured for another amount',
      async (order, service) =>
        writePayment(service, { ...(await order.row()), amountPaise: 49_949 }),
    ],
    [
      'captured in the other environment',
      async (order, service) =>
        writePayment(service, { ...(await order.row()), environment: 'production' }),
    ],
  ];

  test.for(FORGERIES)(
    '%s does not make an order PAID',
    async ([_name, forge], { service, orders }) => {
      const order = await orders.in('ACCEPTED');
      const gatewayPaymentId = await forge(order, service, orders);
      await order.signal('pay', atRazorpay(gatewayPaymentId));
      expect(await order.refusalOf('pay', atRazorpay(gatewayPaymentId))).toBe(NOT_CAPTURED);
      expect(await order.row()).toMatchObject({ status: 'ACCEPTED', gatewayPaymentId: null });
      await assertAlive(order);
    },
  );
});

describe('the sandbox clock', () => {
  test('does not exist for a production order: the workflow refuses it, and HTTP has no such path', async ({
    merchant,
    orders,
  }) => {
    const order = await orders.in('ACCEPTED', { environment: 'production' });
    const before = await order.row();
    expect(await order.refusalOf('advance', { seconds: 60 })).toEqual(expect.any(String));
    await order.signal('advance', { seconds: 60 });
    const { status, body } = await merchant.production.help(
      { order_number: order.orderNumber },
      'advance',
      { seconds: 60 },
    );
    expect([status, body.message]).toEqual([404, 'Not found']);
    const inSandbox = await merchant.sandbox.help({ order_number: order.orderNumber }, 'advance', {
      seconds: 60,
    });
    expect(inSandbox.status).toBe(404);
    expect(await order.row()).toEqual(before);
    expect(await order.kinds()).toEqual(['ORDER_CREATED']);
  });
});
