import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { writeDispute } from '../../src/orders/commands/command-queries.ts';
import type { Merchant } from '../support/merchant.ts';
import type { DirectOrder, Orders } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { A_BUYER } from '../support/actor.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;

const test = serviceTest({
  time: 'skipping',
  callbacks: false,
  // It caches no workflow, so that another worker can continue immediately.
  worker: { options: { maxCachedWorkflows: 0 } },
  merchant: { webhooks: false },
})
  /** An order whose money has begun to move while the gateway is unavailable. */
  .extend(
    'beginWithoutGateway',
    ({ service, merchant, orders, gateway }) =>
      async ({ from, begin, doing }: Move) => {
        const order = await orders.in(from);
        const { endFault, hits } = await gateway.addFault({ kind: 'error' });
        await begin(order, { service, merchant });
        await untilDoing(merchant, order, doing);
        return { order, endFault, hits };
      },
  );

const post = (merchant: Merchant, { orderNumber }: DirectOrder, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${orderNumber}/${path}`, body);
const help = (merchant: Merchant, { orderNumber }: DirectOrder, helper: string, body?: unknown) =>
  merchant.sandbox.help({ order_number: orderNumber }, helper, body);
const untilDoing = (merchant: Merchant, order: DirectOrder, doing: 'releasing' | 'refunding') =>
  until(async () => (await merchant.sandbox.timeline(order)).doing === doing);

/** Every release and refund: how it begins, and its final status and event. */
interface Move {
  from: OrderStatus;
  begin(order: DirectOrder, parts: { service: TestService; merchant: Merchant }): Promise<unknown>;
  doing: 'releasing' | 'refunding';
  ends: OrderStatus;
  event: string;
}
const BUSY_WITH = {
  releasing: 'the funds are being released to the merchant',
  refunding: 'the buyer is being refunded',
};
const refunding = { doing: 'refunding', ends: 'REFUNDED', event: 'REFUND_PROCESSED' } as const;
const MOVES: [string, Move][] = [
  [
    'after the 24-hour window',
    {
      from: 'DELIVERED',
      begin: (_order, { service }) => service.skip(24 * HOUR_MS + 1000),
      doing: 'releasing',
      ends: 'COMPLETED',
      event: 'ORDER_COMPLETED',
    },
  ],
  [
    'when the merchant gives in',
    {
      from: 'DISPUTE_OPEN',
      begin: (order, { merchant }) => post(merchant, order, 'dispute/accept'),
      ...refunding,
    },
  ],
  [
    'when the merchant cannot fulfil the order',
    {
      from: 'PAID',
      begin: (order, { merchant }) => post(merchant, order, 'refund', { reason: 'Sold out' }),
      ...refunding,
    },
  ],
  [
    'when the dispute is not resolved within 72 hours',
    {
      from: 'DISPUTE_OPEN',
      begin: (_order, { service }) => service.skip(72 * HOUR_MS + 1000),
      ...refunding,
    },
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

describe.each(MOVES)('the money moves %s', (_when, move) => {
  const { from, doing, ends, event } = move;

  test(`and only then is the order ${ends}: while the gateway is unavailable it stays ${from}, then it continues`, async ({
    service,
    merchant,
    beginWithoutGateway,
  }) => {
    const { order, endFault, hits } = await beginWithoutGateway(move);
    await until(async () => (await hits()) >= 2 || (await service.skip(HOUR_MS)));
    const waiting = await merchant.sandbox.read(order);
    expect(waiting.status).toBe(from);
    expect(waiting.refund?.processed_at).toBe(doing === 'refunding' ? null : undefined);
    expect((await merchant.sandbox.timeline(order)).next?.action).toBe(
      doing === 'releasing'
        ? 'the funds are being released to the merchant'
        : 'the buyer is being refunded',
    );
    const eventsBefore = await order.events();
    await endFault();
    await service.skip(HOUR_MS);
    await order.untilStatus(ends);
    expect((await order.events()).slice(eventsBefore.length)).toEqual([
      `${eventsBefore.length + 1} ${event}`,
    ]);
    const after = await merchant.sandbox.read(order);
    if (doing === 'refunding') expect(after.refund?.processed_at).toBe(after.updated_at);
    const made = doing === 'releasing' ? 'transfers' : 'refunds';
    expect(await order.made(made)).toMatchObject([
      {
        amount: AMOUNT_PAISE,
        status: 'processed',
        ...(made === 'transfers' && { on_hold: false }),
      },
    ]);
  });

  test('and no command fits any more: 400 with the exact message', async ({
    service,
    merchant,
    beginWithoutGateway,
  }) => {
    const { order, endFault } = await beginWithoutGateway(move);
    const before = await merchant.sandbox.read(order);
    const answers = await Promise.all([
      post(merchant, order, 'deliver'),
      post(merchant, order, 'cancel'),
      help(merchant, order, 'dispute', { reason: 'It broke after a day' }),
      post(merchant, order, 'dispute/evidence', { text: 'Signed for' }),
      post(merchant, order, 'dispute/resolve', { resolution: 'A new one' }),
      post(merchant, order, 'dispute/accept'),
      post(merchant, order, 'payment-sessions'),
      post(merchant, order, 'refund', { reason: 'Sold out' }),
    ]);
    // If the status fits, the refusal says what the order is doing.
    const busyIn = (...statuses: OrderStatus[]) =>
      statuses.includes(from) ? `; ${BUSY_WITH[doing]}` : '';
    const [open, review] = ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'] as const;
    expect(answers.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
      `400 Cannot mark as delivered; order must be in PAID status${busyIn('PAID')}`,
      '400 Cannot cancel; order must be in ACCEPTED status',
      `400 Cannot raise dispute; order must be in PAID or DELIVERED status${busyIn('PAID', 'DELIVERED')}`,
      `400 Cannot submit evidence; order must be in DISPUTE_OPEN status${busyIn(open)}`,
      `400 Cannot resolve; order must be in DISPUTE status${busyIn(open, review)}`,
      `400 Cannot accept; order must be in DISPUTE status${busyIn(open, review)}`,
      '400 Cannot pay; order must be in ACCEPTED status',
      `400 Cannot refund; order must be in PAID or DELIVERED status${busyIn('PAID', 'DELIVERED')}`,
    ]);
    expect(await order.refusalOf('decide', { for: 'merchant' })).toBe(
      `Cannot decide; order must be in DISPUTE status${busyIn(open, review)}`,
    );
    expect(await merchant.sandbox.read(order)).toEqual(before);
    await endFault();
    await service.skip(HOUR_MS);
    await order.untilStatus(ends);
  });
});

describe('a dispute that the database received', () => {
  async function aMinuteBeforeTheEnd(service: TestService, orders: Orders): Promise<DirectOrder> {
    const order = await orders.in('DELIVERED');
    await service.skip(24 * HOUR_MS - 60_000);
    return order;
  }

  const receive = async (service: TestService, order: DirectOrder, commandId: string) =>
    writeDispute(service.sql, order.orderNumber, {
      commandId,
      reason: 'It never arrived at all',
      actor: A_BUYER,
    });

  // Everything that happens while no worker runs reaches the order in one activation later.
  test('before the window’s end counts, even if the workflow was not notified of it', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await aMinuteBeforeTheEnd(service, orders);
    expect(await receive(service, order, 'dispute:in time')).toMatchObject({
      receivedAt: expect.any(Date),
    });
    await service.skip(60_000 + 1000);
    await order.untilStatus('DISPUTE_OPEN');
    expect(await merchant.sandbox.read(order)).toMatchObject({
      dispute_count: 1,
      dispute: { reason: 'It never arrived at all' },
    });
    expect(await order.kinds()).not.toContain('RELEASE_STARTED');
    expect(await order.made('transfers')).toEqual([]);
  });

  test('before the window’s end counts once, if the workflow is notified late', async ({
    service,
    worker,
    orders,
  }) => {
    const order = await aMinuteBeforeTheEnd(service, orders);
    await worker.whileStopped(async () => {
      const received = await receive(service, order, 'dispute:late news');
      await service.skip(60_000 + 1000);
      const message = {
        commandId: 'dispute:late news',
        receivedAtMs: received!.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('DISPUTE_OPEN');
    expect((await order.events()).slice(3)).toEqual(['4 DISPUTE_RAISED']);
  });

  test('after the window’s end does not count, even if the release has not begun', async ({
    service,
    worker,
    merchant,
    orders,
  }) => {
    const order = await orders.in('DELIVERED');
    await worker.whileStopped(async () => {
      await service.skip(24 * HOUR_MS + 1000);
      const received = await receive(service, order, 'dispute:too late');
      const message = {
        commandId: 'dispute:too late',
        receivedAtMs: received!.receivedAt.getTime(),
      };
      await order.signal('dispute', message);
    });
    await order.untilStatus('COMPLETED');
    expect(await merchant.sandbox.read(order)).toMatchObject({ dispute_count: 0, dispute: null });
  });
});
