import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import { withoutCallbacks } from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrder, startOrderIn, until, writeOrder, writePayment } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
const CANNOT_DELIVER = 'Cannot mark as delivered; order must be in PAID status';
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;
let merchantId: string;

/** What a stopped worker had in memory is handed to another one soon. */
const startWorker = async () => {
  worker = await service.startWorker({}, { stickyQueueScheduleToStartTimeout: 200 });
};

/** What happens meanwhile reaches the order in one activation, when a worker is back. */
async function whileNoWorkerRuns<T>(action: () => Promise<T>): Promise<T> {
  await worker.stop();
  try {
    return await action();
  } finally {
    await startWorker();
  }
}

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
  await startWorker();
  merchant = await service.newMerchant();
  ({ merchantId } = merchant);
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

/** It still does what it should: the law is asked as if nothing had happened. */
async function assertAlive(order: DirectOrder): Promise<void> {
  await order.pay();
  await order.update('deliver');
  expect((await order.row()).status).toBe('DELIVERED');
}

describe('messages that come at an unusual time', () => {
  it('a payment Signal that came before the first workflow task makes the order PAID', async () => {
    const order = await whileNoWorkerRuns(async () => {
      const unborn = await startOrder(service, { merchantId });
      await unborn.signal('pay', { gatewayPaymentId: await unborn.capture() });
      return unborn;
    });
    await order.untilStatus('PAID');
    expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 PAYMENT_SUCCESS']);
  });

  it('a payment and a delivery in one activation are both carried out, in their order', async () => {
    const order = await whileNoWorkerRuns(async () => {
      const unborn = await startOrder(service, { merchantId });
      await unborn.signal('pay', { gatewayPaymentId: await unborn.capture() });
      await unborn.signal('deliver');
      return unborn;
    });
    await order.untilStatus('DELIVERED');
    expect(await order.events()).toEqual([
      '1 ORDER_CREATED',
      '2 PAYMENT_SUCCESS',
      '3 DELIVERY_CONFIRMED',
    ]);
  });

  it('a delivery, a dispute and its resolution in one activation are all carried out', async () => {
    const order = await startOrderIn(service, 'PAID', { merchantId });
    await whileNoWorkerRuns(async () => {
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
    expect(await order.row()).toMatchObject({ status: 'DELIVERED', dispute_count: 1 });
  });

  it('of two deliveries in one activation the second is refused', async () => {
    const order = await startOrderIn(service, 'PAID', { merchantId });
    await whileNoWorkerRuns(async () => {
      await order.signal('deliver');
      await order.signal('deliver');
    });
    await order.untilStatus('DELIVERED');
    expect(await order.refusalOf('deliver')).toBe(CANNOT_DELIVER);
    expect(await order.events()).toHaveLength(3);
  });

  it('a deadline that passes while no worker runs is kept when one is back', async () => {
    const terms = {
      environment: 'sandbox',
      completionWindowMs: 1500,
      disputeAnswerMs: 1500,
    } as const;
    const order = await startOrderIn(service, 'DELIVERED', { merchantId, terms });
    await whileNoWorkerRuns(async () => {
      const { completes_at } = await order.row();
      await until(() => Date.now() > completes_at!.getTime());
    });
    await order.untilStatus('COMPLETED');
  });

  it('an Update on a finished order is refused, and its workflow is gone', async () => {
    const order = await startOrderIn(service, 'CANCELLED', { merchantId });
    expect(await order.handle.result()).toEqual({
      status: 'CANCELLED',
      disputeCount: 0,
      webhookEvents: 2,
    });
    await expect(order.update('deliver')).rejects.toThrow(WorkflowNotFoundError);
    const { body, status } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
    expect([status, body.message]).toEqual([400, CANNOT_DELIVER]);
  });
});

describe('messages that cannot be done', () => {
  it('an illegal Signal is dropped, and the workflow lives', async () => {
    const order = await startOrderIn(service, 'ACCEPTED', { merchantId });
    for (const name of ['deliver', 'dispute', 'resolve', 'accept', 'submitEvidence', 'settle']) {
      await order.signal(name as OrderMessageName);
    }
    await order.signal('decide', { for: 'buyer' });
    await assertAlive(order);
    expect(await order.kinds()).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED']);
  });

  /** What an operator may type into the Temporal UI, and worse. */
  const MALFORMED: [string, OrderMessageName, unknown][] = [
    ['null', 'pay', null],
    ['a number', 'pay', 7],
    ['bare text', 'pay', 'pay_1'],
    ['a list', 'pay', []],
    ['no payment', 'pay', {}],
    ['a payment that is a number', 'pay', { gatewayPaymentId: 5 }],
    ['a payment that is null', 'pay', { gatewayPaymentId: null }],
    ['a payment with no id', 'pay', { gatewayPaymentId: '' }],
    ['a payment whose id no database takes', 'pay', { gatewayPaymentId: 'nul\u0000' }],
    ['a payment whose id is far too long', 'pay', { gatewayPaymentId: 'x'.repeat(5000) }],
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
    ['a request id that no database takes', 'failPayment', { requestId: 'nul\u0000' }],
    ['a request id that is no text', 'failPayment', { requestId: { not: 'text' } }],
    ['a request id that is far too long', 'failPayment', { requestId: 'x'.repeat(5000) }],
  ];

  it.concurrent.each(MALFORMED)(
    'a malformed Signal is dropped: %s for %s',
    async (_what, name, message) => {
      const order = await startOrderIn(service, 'ACCEPTED', { merchantId });
      const before = await order.row();
      await order.signal(name, message);
      // A second one finds the first one handled: nothing is in its way.
      await order.signal(name, message);
      expect(await order.refusalOf('deliver')).toBe(CANNOT_DELIVER);
      expect(await order.row()).toEqual(before);
      await assertAlive(order);
    },
  );

  it.concurrent.each(MALFORMED)(
    'a malformed Update is refused: %s for %s',
    async (_what, name, message) => {
      const order = await startOrderIn(service, 'ACCEPTED', { merchantId });
      const before = await order.row();
      expect(await order.refusalOf(name, message)).toEqual(expect.any(String));
      expect(await order.row()).toEqual(before);
      await assertAlive(order);
    },
  );

  it('an Update of no known name is refused, and the workflow lives', async () => {
    const order = await startOrderIn(service, 'ACCEPTED', { merchantId });
    expect(await order.refusalOf('explode' as OrderMessageName)).toEqual(expect.any(String));
    await order.signal('explode' as OrderMessageName);
    await assertAlive(order);
  });

  it('a request to cancel the workflow does not drop the order, at any stage', async () => {
    const unborn = await whileNoWorkerRuns(async () => {
      const order = await startOrder(service, { merchantId });
      await order.handle.cancel();
      return order;
    });
    await unborn.untilStep('ORDER_CREATED');
    await assertAlive(unborn);
    await unborn.handle.cancel();
    await unborn.update('advance', { seconds: 24 * 3600 });
    await unborn.untilStatus('COMPLETED');
    expect((await unborn.handle.result()).status).toBe('COMPLETED');
  });
});

describe('a forged payment', () => {
  const NOT_CAPTURED = 'The payment is not recorded as captured for this order';

  const FORGERIES: [string, (order: DirectOrder) => Promise<string>][] = [
    ['of no capture at all', async () => 'pay_forged'],
    [
      'captured for another order',
      async () => writePayment(service, await writeOrder(service, { merchantId })),
    ],
    [
      'captured for another amount',
      async (order) => writePayment(service, { ...(await order.row()), amount_paise: 49_949 }),
    ],
    [
      'captured in the other environment',
      async (order) => writePayment(service, { ...(await order.row()), environment: 'production' }),
    ],
  ];

  it.each(FORGERIES)('%s does not make an order PAID', async (_name, forge) => {
    const order = await startOrderIn(service, 'ACCEPTED', { merchantId });
    const gatewayPaymentId = await forge(order);
    await order.signal('pay', { gatewayPaymentId });
    expect(await order.refusalOf('pay', { gatewayPaymentId })).toBe(NOT_CAPTURED);
    expect(await order.row()).toMatchObject({ status: 'ACCEPTED', gateway_payment_id: null });
    await assertAlive(order);
  });
});

describe('the sandbox clock', () => {
  it('does not exist for a production order: the workflow refuses, HTTP knows no such path', async () => {
    const order = await startOrderIn(service, 'ACCEPTED', {
      merchantId,
      environment: 'production',
    });
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
