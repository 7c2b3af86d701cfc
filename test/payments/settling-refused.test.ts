import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import type { Timeline } from '../../src/orders/timeline.ts';
import {
  alerts,
  breakGateway,
  ledgerOf,
  madeAtGateway,
  simulator,
  withoutCallbacks,
} from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const AMOUNT_PAISE = 49_950;

type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  await withoutCallbacks(service);
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
afterEach(() => simulator(service, 'DELETE', '/faults'));
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const orderIn = (status: OrderStatus, by = merchant) => startOrderIn(service, status, by);
const paymentOf = async (order: DirectOrder) => (await order.row()).gateway_payment_id ?? '';
const windowEnds = () => service.skip(24 * HOUR_MS + 1000);

describe('a suspended merchant', () => {
  let suspended: Merchant;
  const become = (status: 'APPROVED' | 'SUSPENDED') =>
    service.sql`UPDATE merchants SET status = ${status}
      WHERE merchant_id = ${suspended.merchantId}`;
  beforeAll(async () => {
    suspended = await service.newMerchant();
  });
  afterEach(() => become('APPROVED'));

  test('is not paid out: the order stays DELIVERED, and completes within an hour of its activation', async () => {
    const order = await orderIn('DELIVERED', suspended);
    await become('SUSPENDED');
    await windowEnds();
    await order.untilStep('RELEASE_STARTED');
    for (const _ of [1, 2, 3, 4, 5, 6]) await service.skip(HOUR_MS);
    expect(await order.row()).toMatchObject({ status: 'DELIVERED', busy: { kind: 'releasing' } });
    expect(await madeAtGateway(service, await paymentOf(order), 'transfers')).toEqual([]);
    const { status, body } = await suspended.sandbox.get(`/orders/${order.orderNumber}`);
    expect([status, body.message]).toEqual([403, 'Merchant account is not active']);
    await become('APPROVED');
    await service.skip(HOUR_MS);
    await order.untilStatus('COMPLETED');
    expect(await madeAtGateway(service, await paymentOf(order), 'transfers')).toHaveLength(1);
  });

  test("keeps its buyers' rights: disputes, refunds and webhooks run on", async () => {
    const order = await orderIn('DELIVERED', suspended);
    await become('SUSPENDED');
    await order.update('dispute');
    expect((await order.row()).status).toBe('DISPUTE_OPEN');
    await service.skip(72 * HOUR_MS + 1000);
    await order.untilStatus('REFUNDED');
    expect(await madeAtGateway(service, await paymentOf(order), 'refunds')).toHaveLength(1);
    const told = await suspended.receiver.until(
      5,
      ({ body }) => body.data['order_number'] === order.orderNumber,
    );
    const inTurn = told.toSorted((a, b) => a.body.sequence - b.body.sequence);
    expect(inTurn.map(({ event }) => event)).toEqual([
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'DISPUTE_RAISED',
      'REFUND_PROCESSED',
    ]);
  });
});

/** Money that the gateway refuses to move for good. */
interface Refused {
  from: OrderStatus;
  begin(order: DirectOrder): Promise<unknown>;
  cause: 'account_closed' | 'refund_window_over';
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
      begin: windowEnds,
      cause: 'account_closed',
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
      cause: 'refund_window_over',
      doing: 'refunding',
      ends: 'REFUNDED',
      made: 'refunds',
      line: `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
    },
  ],
];

describe.each(REFUSED)('%s that the gateway refuses for good', (_what, refused) => {
  const { from, begin, cause, doing, ends, made, line } = refused;
  const alertsOf = ({ orderNumber }: DirectOrder) =>
    alerts(service, 'gateway_refused', orderNumber).length;

  /** An order whose money the gateway has refused to move, once. */
  async function aRefusedOrder() {
    const order = await orderIn(from);
    const { id } = await simulator<{ id: string }>(service, 'POST', '/refusals', {
      cause,
      subjectId: await paymentOf(order),
    });
    await begin(order);
    await until(() => alertsOf(order) === 1);
    return { order, lift: () => simulator(service, 'DELETE', `/refusals/${id}`) };
  }

  /** What an operator writes down after moving the money by other means. */
  const recordOutsideSettlement = ({ orderNumber }: DirectOrder) =>
    service.sql`INSERT INTO outside_settlements (order_number, reference, reason, actor)
      VALUES (${orderNumber}, 'UTR 4711', 'The gateway refuses', 'operator')`;

  async function assertSettledOutside(order: DirectOrder): Promise<void> {
    const eventType = ends === 'COMPLETED' ? 'ORDER_COMPLETED' : 'REFUND_PROCESSED';
    expect((await order.events()).at(-1)).toContain(eventType);
    expect((await ledgerOf(service, order.orderNumber)).lines.slice(1)).toEqual([line]);
    expect((await order.handle.result()).status).toBe(ends);
    // The gateway moved nothing, and nobody asks it any more.
    const paymentId = await paymentOf(order);
    expect(await madeAtGateway(service, paymentId, made)).toEqual([]);
    const path = `/v1/payments/${paymentId}/${made}`;
    const { hits } = await breakGateway(service, { kind: 'late', path, delayMs: 0 });
    await service.skip(3 * HOUR_MS);
    expect(await hits()).toBe(0);
  }

  test('raises an alert and is tried again every hour, until the gateway takes it', async () => {
    const { order, lift } = await aRefusedOrder();
    for (const tries of [2, 3, 4]) {
      await service.skip(HOUR_MS / 2);
      expect(alertsOf(order)).toBe(tries - 1);
      await service.skip(HOUR_MS / 2 + 60_000);
      await until(() => alertsOf(order) === tries);
    }
    expect(await order.row()).toMatchObject({ status: from, busy: { kind: doing } });
    const { body } = await merchant.sandbox.get<Timeline>(`/orders/${order.orderNumber}/timeline`);
    expect(body.data.doing).toBe(doing);
    await lift();
    await service.skip(HOUR_MS + 60_000);
    await order.untilStatus(ends);
    expect(await madeAtGateway(service, await paymentOf(order), made)).toHaveLength(1);
  });

  test('ends at once when an operator has settled it outside and says so', async () => {
    const { order } = await aRefusedOrder();
    await recordOutsideSettlement(order);
    await order.update('settle', { requestId: 'settle:1' });
    expect((await order.row()).status).toBe(ends);
    await assertSettledOutside(order);
  });

  test('ends within the hour when an operator has settled it outside and says nothing', async () => {
    const { order } = await aRefusedOrder();
    await recordOutsideSettlement(order);
    await service.skip(HOUR_MS + 60_000);
    await order.untilStatus(ends);
    await assertSettledOutside(order);
  });

  test('cannot be settled twice: the second time is refused', async () => {
    const { order } = await aRefusedOrder();
    await recordOutsideSettlement(order);
    await order.signal('settle');
    await order.signal('settle');
    await order.untilStatus(ends);
    expect((await order.handle.result()).status).toBe(ends);
    expect((await ledgerOf(service, order.orderNumber)).lines).toHaveLength(2);
  });
});
