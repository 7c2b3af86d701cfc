import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { writeDispute } from '../../src/orders/queries.ts';
import type { Timeline } from '../../src/orders/timeline.ts';
import { breakGateway, madeAtGateway, simulator, withoutCallbacks } from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

/** It keeps nothing in memory, so that another one can go on at once. */
const startWorker = async () => {
  worker = await service.startWorker({}, { maxCachedWorkflows: 0 });
};

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  await withoutCallbacks(service);
  await startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
afterEach(() => simulator(service, 'DELETE', '/faults'));
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const orderIn = (status: OrderStatus) => startOrderIn(service, status, merchant);
const read = async ({ orderNumber }: DirectOrder) =>
  (await merchant.sandbox.get(`/orders/${orderNumber}`)).body.data;
const timeline = async ({ orderNumber }: DirectOrder) =>
  (await merchant.sandbox.get<Timeline>(`/orders/${orderNumber}/timeline`)).body.data;
const post = ({ orderNumber }: DirectOrder, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${orderNumber}/${path}`, body);
const help = ({ orderNumber }: DirectOrder, helper: string, body?: unknown) =>
  merchant.sandbox.help({ order_number: orderNumber }, helper, body);
const untilDoing = (order: DirectOrder, doing: 'releasing' | 'refunding') =>
  until(async () => (await timeline(order)).doing === doing);
const paymentOf = async (order: DirectOrder) => (await order.row()).gateway_payment_id ?? '';
const gatewayIsAway = () => breakGateway(service, { kind: 'error' });

/** What ends in a settlement: the way into it, and the status and event at its end. */
interface Settlement {
  from: OrderStatus;
  begin(order: DirectOrder): Promise<unknown>;
  doing: 'releasing' | 'refunding';
  ends: OrderStatus;
  event: string;
}
const BUSY_WITH = {
  releasing: 'the funds are being released to the merchant',
  refunding: 'the buyer is being refunded',
};
const refunding = { doing: 'refunding', ends: 'REFUNDED', event: 'REFUND_PROCESSED' } as const;
const SETTLEMENTS: [string, Settlement][] = [
  [
    'after the 24-hour window',
    {
      from: 'DELIVERED',
      begin: () => service.skip(24 * HOUR_MS + 1000),
      doing: 'releasing',
      ends: 'COMPLETED',
      event: 'ORDER_COMPLETED',
    },
  ],
  [
    'when the merchant gives in',
    { from: 'DISPUTE_OPEN', begin: (order) => post(order, 'dispute/accept'), ...refunding },
  ],
  [
    'when nobody resolves the dispute within 72 hours',
    { from: 'DISPUTE_OPEN', begin: () => service.skip(72 * HOUR_MS + 1000), ...refunding },
  ],
  [
    'when an operator decides for the buyer',
    {
      from: 'DISPUTE_UNDER_REVIEW',
      begin: (order) => order.update('decide', { for: 'buyer' }),
      ...refunding,
    },
  ],
];

describe.each(SETTLEMENTS)('the money moves %s', (_when, { from, begin, doing, ends, event }) => {
  test(`and only then is the order ${ends}: while the gateway is away it stays ${from}, then it goes on`, async () => {
    const order = await orderIn(from);
    const { mend, hits } = await gatewayIsAway();
    await begin(order);
    await untilDoing(order, doing);
    await until(async () => (await hits()) >= 2 || (await service.skip(HOUR_MS)));
    const waiting = await read(order);
    expect(waiting.status).toBe(from);
    expect(waiting.refund?.processed_at).toBe(doing === 'refunding' ? null : undefined);
    expect((await timeline(order)).next?.action).toBe(
      doing === 'releasing'
        ? 'the funds are being released to the merchant'
        : 'the buyer is being refunded',
    );
    const eventsBefore = await order.events();
    await mend();
    await service.skip(HOUR_MS);
    await order.untilStatus(ends);
    expect((await order.events()).slice(eventsBefore.length)).toEqual([
      `${eventsBefore.length + 1} ${event}`,
    ]);
    const settled = await read(order);
    if (doing === 'refunding') expect(settled.refund?.processed_at).toBe(settled.updated_at);
    const made = doing === 'releasing' ? 'transfers' : 'refunds';
    expect(await madeAtGateway(service, await paymentOf(order), made)).toMatchObject([
      {
        amount: AMOUNT_PAISE,
        status: 'processed',
        ...(made === 'transfers' && { on_hold: false }),
      },
    ]);
  });

  test('and no command fits any more: 400, word for word', async () => {
    const order = await orderIn(from);
    const { mend } = await gatewayIsAway();
    await begin(order);
    await untilDoing(order, doing);
    const before = await read(order);
    const answers = await Promise.all([
      post(order, 'deliver'),
      post(order, 'cancel'),
      help(order, 'dispute', { reason: 'It broke after a day' }),
      post(order, 'dispute/evidence', { text: 'Signed for' }),
      post(order, 'dispute/resolve', { resolution: 'A new one' }),
      post(order, 'dispute/accept'),
      post(order, 'payment-sessions'),
    ]);
    // With the right status, the order says what it is doing instead.
    const busyIn = (...statuses: OrderStatus[]) =>
      statuses.includes(from) ? `; ${BUSY_WITH[doing]}` : '';
    const [open, review] = ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'] as const;
    expect(answers.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
      '400 Cannot mark as delivered; order must be in PAID status',
      '400 Cannot cancel; order must be in ACCEPTED status',
      `400 Cannot raise dispute; order must be in PAID or DELIVERED status${busyIn('DELIVERED')}`,
      `400 Cannot submit evidence; order must be in DISPUTE_OPEN status${busyIn(open)}`,
      `400 Cannot resolve; order must be in DISPUTE status${busyIn(open, review)}`,
      `400 Cannot accept; order must be in DISPUTE status${busyIn(open, review)}`,
      '400 Cannot pay; order must be in ACCEPTED status',
    ]);
    expect(await order.refusalOf('decide', { for: 'merchant' })).toBe(
      `Cannot decide; order must be in DISPUTE_UNDER_REVIEW status${busyIn(review)}`,
    );
    expect(await read(order)).toEqual(before);
    await mend();
    await service.skip(HOUR_MS);
    await order.untilStatus(ends);
  });
});

describe('a dispute that our database received', () => {
  const receive = async (order: DirectOrder, requestId: string) =>
    writeDispute(service.sql, order.orderNumber, {
      requestId,
      reason: 'It never arrived at all',
    });

  /** What happens meanwhile reaches the order in one activation, when a worker is back. */
  async function whileNoWorkerRuns(action: () => Promise<void>): Promise<void> {
    await worker.stop();
    try {
      await action();
    } finally {
      await startWorker();
    }
  }

  test("before the window's end counts, even if the workflow never heard of it", async () => {
    const order = await orderIn('DELIVERED');
    await service.skip(24 * HOUR_MS - 60_000);
    expect(await receive(order, 'dispute:in time')).toMatchObject({ receivedAt: expect.any(Date) });
    await service.skip(60_000 + 1000);
    await order.untilStatus('DISPUTE_OPEN');
    expect(await read(order)).toMatchObject({
      dispute_count: 1,
      dispute: { reason: 'It never arrived at all' },
    });
    expect(await order.kinds()).not.toContain('RELEASE_STARTED');
    expect(await madeAtGateway(service, await paymentOf(order), 'transfers')).toEqual([]);
  });

  test("before the window's end counts once, if the workflow hears of it later", async () => {
    const order = await orderIn('DELIVERED');
    await service.skip(24 * HOUR_MS - 60_000);
    await whileNoWorkerRuns(async () => {
      const received = await receive(order, 'dispute:late news');
      await service.skip(60_000 + 1000);
      const message = {
        requestId: 'dispute:late news',
        receivedAtMs: received!.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('DISPUTE_OPEN');
    expect((await order.events()).slice(3)).toEqual(['4 DISPUTE_RAISED']);
  });

  test("after the window's end does not count, even if nothing was released yet", async () => {
    const order = await orderIn('DELIVERED');
    await whileNoWorkerRuns(async () => {
      await service.skip(24 * HOUR_MS + 1000);
      const received = await receive(order, 'dispute:too late');
      const message = {
        requestId: 'dispute:too late',
        receivedAtMs: received!.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('COMPLETED');
    expect(await read(order)).toMatchObject({ dispute_count: 0, dispute: null });
  });
});
