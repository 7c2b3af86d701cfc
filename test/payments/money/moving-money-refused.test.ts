import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../../src/domain/index.ts';
import type { Timeline } from '../../../src/orders/steps/timeline-presenter.ts';
import type { Gateway } from '../../support/gateway.ts';
import { changeMerchantStatus } from '../../../src/merchants/commands.ts';
import { TEST_ACTOR } from '../../support/actor.ts';
import { alerts, madeAtGateway, setSwitches, sweep } from '../../support/gateway.ts';
import { eventNames } from '../../../dev/orders/history.ts';
import type { Merchant } from '../../support/merchant.ts';
import type { DirectOrder, Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { A_BUYER } from '../../support/actor.ts';
import { recordDispute } from '../../support/disputes.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'skipping', callbacks: false, merchant: { webhooks: false } });

const windowEnds = (service: TestService) => service.skip(24 * HOUR_MS + 1000);

/** Waits until the database has refused to begin the release, and the order waits to try again. */
const untilReleaseWaits = (order: DirectOrder) =>
  until(async () => {
    const names = await eventNames(order.handle);
    const fired = names.indexOf('TIMER_FIRED');
    return fired >= 0 && names.lastIndexOf('TIMER_STARTED') > fired;
  });

describe('a suspended merchant', () => {
  let suspended: Merchant;
  const become = (service: TestService, status: 'APPROVED' | 'SUSPENDED') =>
    service.sql`UPDATE merchants SET status = ${status}
      WHERE merchant_id = ${suspended.merchantId}`;
  test.beforeAll(async ({ service }) => {
    suspended = await service.newMerchant();
  });
  test.afterEach(({ service }) => become(service, 'APPROVED'));

  /** An order whose window ended while its merchant was suspended. */
  async function anUnreleasedOrder(service: TestService, orders: Orders): Promise<DirectOrder> {
    const order = await orders.in('DELIVERED', suspended);
    await become(service, 'SUSPENDED');
    await windowEnds(service);
    await untilReleaseWaits(order);
    return order;
  }

  test('is not paid out: the order stays DELIVERED, and completes within an hour of its activation', async ({
    service,
    orders,
  }) => {
    const order = await anUnreleasedOrder(service, orders);
    for (const _ of [1, 2, 3, 4, 5, 6]) await service.skip(HOUR_MS);
    expect(await order.row()).toMatchObject({ status: 'DELIVERED', pendingOperation: null });
    expect(await order.kinds()).not.toContain('RELEASE_STARTED');
    expect(await order.made('transfers')).toEqual([]);
    const { status, body } = await suspended.sandbox.get(`/orders/${order.orderNumber}`);
    expect([status, body.message]).toEqual([403, 'Merchant account is not active']);
    await become(service, 'APPROVED');
    await service.skip(HOUR_MS);
    await order.untilStatus('COMPLETED');
    expect(await order.made('transfers')).toHaveLength(1);
  });

  test('is paid out without an hour of waiting when an operator activates it', async ({
    service,
    orders,
  }) => {
    const order = await anUnreleasedOrder(service, orders);
    await service.skip(5 * HOUR_MS);
    const { historyLength } = await order.handle.describe();
    const admin = { sql: service.sql, actor: TEST_ACTOR };
    await changeMerchantStatus(admin, suspended.merchantId, 'activate');
    await sweep(service);
    await order.untilStatus('COMPLETED');
    // Four hours and more of tries cost a timer and a try of the step each, and no step.
    expect(historyLength).toBeLessThan(150);
    expect((await order.kinds()).slice(-2)).toEqual(['RELEASE_STARTED', 'ORDER_COMPLETED']);
    expect(
      await service.sql`SELECT FROM order_wakeups WHERE order_number = ${order.orderNumber} AND cause = 'release'`,
    ).toEqual([]);
  });

  test('does not prevent disputes as long as the release has not begun', async ({
    service,
    orders,
  }) => {
    const order = await anUnreleasedOrder(service, orders);
    await service.skip(5 * HOUR_MS);
    const dispute = {
      commandId: 'dispute:late',
      reason: 'It never arrived at all',
      actor: A_BUYER,
    };
    const written = await recordDispute(service.sql, order.orderNumber, dispute);
    // Active again before the workflow gets the dispute, which was received in time.
    await become(service, 'APPROVED');
    await service.skip(HOUR_MS);
    await order.untilStatus('DISPUTE_OPEN');
    const message = { commandId: 'dispute:late', receivedAtMs: written.receivedAt.getTime() };
    await order.update('dispute', message);
    expect(await order.row()).toMatchObject({ status: 'DISPUTE_OPEN', disputeCount: 1 });
    expect(await order.kinds()).not.toContain('RELEASE_STARTED');
    expect(await order.made('transfers')).toEqual([]);
  });

  test('does not affect its buyers: disputes, refunds and webhooks continue', async ({
    service,
    orders,
  }) => {
    const order = await orders.in('DELIVERED', suspended);
    await become(service, 'SUSPENDED');
    await order.update('dispute');
    expect((await order.row()).status).toBe('DISPUTE_OPEN');
    await service.skip(72 * HOUR_MS + 1000);
    await order.untilStatus('REFUNDED');
    expect(await order.made('refunds')).toHaveLength(1);
    const webhooks = await suspended.receiver.until(
      5,
      ({ body }) => body.data['order_number'] === order.orderNumber,
    );
    const inTurn = webhooks.toSorted((a, b) => a.body.sequence - b.body.sequence);
    expect(inTurn.map(({ event }) => event)).toEqual([
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'DISPUTE_RAISED',
      'REFUND_PROCESSED',
    ]);
  });
});

/** Money that the gateway permanently refuses to move. */
interface Refused {
  from: OrderStatus;
  begin(order: DirectOrder, service: TestService): Promise<unknown>;
  refusal: 'transfersRefused' | 'refundsRefused';
  doing: 'releasing' | 'refunding';
  ends: OrderStatus;
  made: 'transfers' | 'refunds';
  line: string;
}
const REFUSED: [string, Refused][] = [
  [
    'a release',
    {
      from: 'DELIVERED',
      begin: (_order, service) => windowEnds(service),
      refusal: 'transfersRefused',
      doing: 'releasing',
      ends: 'COMPLETED',
      made: 'transfers',
      line: `release: merchant_held → merchant_available ${AMOUNT_PAISE}`,
    },
  ],
  [
    'a refund',
    {
      from: 'DISPUTE_OPEN',
      begin: (order) => order.update('accept'),
      refusal: 'refundsRefused',
      doing: 'refunding',
      ends: 'REFUNDED',
      made: 'refunds',
      line: `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
    },
  ],
];

describe.each(REFUSED)('%s that the gateway refuses permanently', (_what, refused) => {
  const { from, begin, refusal, doing, ends, made, line } = refused;
  const outcome = ends === 'COMPLETED' ? 'released' : 'refunded';
  const alertsOf = (service: TestService, { orderNumber }: DirectOrder) =>
    alerts(service, 'gateway_refused', orderNumber).length;

  /**
   * Waits until the gateway has refused so many tries and Temporal has the failure of the last one. The
   * next try is timed from that: time that is skipped earlier would not bring it nearer.
   */
  async function untilRefused(service: TestService, order: DirectOrder, tries: number) {
    await until(() => alertsOf(service, order) === tries);
    await until(async () => {
      const [moving] = (await order.handle.describe()).raw.pendingActivities ?? [];
      return moving?.lastFailure && Number(moving.attempt) > tries;
    });
  }

  /** An order whose money the gateway has refused to move, once. */
  async function aRefusedOrder(service: TestService, orders: Orders) {
    const order = await orders.in(from);
    const paymentId = await order.paymentId();
    await setSwitches(service, paymentId, { [refusal]: true });
    await begin(order, service);
    await untilRefused(service, order, 1);
    return { order, lift: () => setSwitches(service, paymentId, { [refusal]: null }) };
  }

  /** What an operator records after moving the money by other means. */
  const recordOutsideSettlement = (service: TestService, { orderNumber }: DirectOrder) =>
    service.sql`INSERT INTO outside_settlements (order_number, outcome, amount_paise, reason, actor)
      VALUES (${orderNumber}, ${outcome}, ${AMOUNT_PAISE}, 'The gateway refuses', 'operator')`;

  async function assertSettledOutside(
    service: TestService,
    gateway: Gateway,
    order: DirectOrder,
  ): Promise<void> {
    const eventType = ends === 'COMPLETED' ? 'ORDER_COMPLETED' : 'REFUND_PROCESSED';
    expect((await order.events()).at(-1)).toContain(eventType);
    expect((await order.ledgerLines()).slice(1)).toEqual([line]);
    expect((await order.handle.result()).status).toBe(ends);
    // The gateway moved nothing, and the service no longer asks it.
    const paymentId = await order.paymentId();
    expect(await madeAtGateway(service, paymentId, made)).toEqual([]);
    const path = `/v1/payments/${paymentId}/${made}`;
    const { hits } = await gateway.addFault({ kind: 'late', path, delayMs: 0 });
    await service.skip(3 * HOUR_MS);
    expect(await hits()).toBe(0);
  }

  test('raises an alert and is retried every hour until the gateway accepts it', async ({
    service,
    merchant,
    orders,
  }) => {
    const { order, lift } = await aRefusedOrder(service, orders);
    for (const tries of [2, 3, 4]) {
      await service.skip(HOUR_MS / 2);
      expect(alertsOf(service, order)).toBe(tries - 1);
      await service.skip(HOUR_MS / 2 + 60_000);
      await untilRefused(service, order, tries);
    }
    expect(await order.row()).toMatchObject({ status: from, pendingOperation: { kind: doing } });
    const { body } = await merchant.sandbox.get<Timeline>(`/orders/${order.orderNumber}/timeline`);
    expect(body.data.doing).toBe(doing);
    await lift();
    await service.skip(HOUR_MS + 60_000);
    await order.untilStatus(ends);
    expect(await order.made(made)).toHaveLength(1);
  });

  test.for<[string, (order: DirectOrder, service: TestService) => Promise<unknown>]>([
    [
      'at once when an operator has settled it outside and says so',
      (order) => order.update('settle', { commandId: 'settle:1', outcome }),
    ],
    [
      'within the hour when an operator has settled it outside and says nothing',
      async (order, service) => {
        await service.skip(HOUR_MS + 60_000);
        await order.untilStatus(ends);
      },
    ],
  ])('ends %s', async ([_when, settle], { service, orders, gateway }) => {
    const { order } = await aRefusedOrder(service, orders);
    await recordOutsideSettlement(service, order);
    await settle(order, service);
    expect((await order.row()).status).toBe(ends);
    await assertSettledOutside(service, gateway, order);
  });

  test('cannot be settled twice: the second settlement is refused', async ({ service, orders }) => {
    const { order } = await aRefusedOrder(service, orders);
    await recordOutsideSettlement(service, order);
    await order.signal('settle', { outcome });
    await order.signal('settle', { outcome });
    await order.untilStatus(ends);
    expect((await order.handle.result()).status).toBe(ends);
    expect(await order.ledgerLines()).toHaveLength(2);
  });
});
