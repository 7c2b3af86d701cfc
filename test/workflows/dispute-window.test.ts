import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import type { ReleaseResult } from '../../src/contracts/activities.ts';
import { findOrderByNumber, writeDispute } from '../../src/orders/queries.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/timeline.ts';
import { simulator } from '../support/gateway.ts';
import { until } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;
const REASON = 'It never arrived at my door';
const REFUSAL = 'Cannot raise dispute; order must be in PAID or DELIVERED status';
const REFUSAL_WHILE_RELEASING = `${REFUSAL}; the funds are being released to the merchant`;
type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;
/** Orders whose release a test holds up before it asks the database. */
const heldUp = new Map<string, ReturnType<typeof newHold>>();
const newHold = () => ({
  letGo: Promise.withResolvers<void>(),
  released: Promise.withResolvers<ReleaseResult>(),
});

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  const { releaseFunds } = createActivities(service.deps);
  worker = await service.startWorker({
    async releaseFunds(input) {
      const hold = heldUp.get(input.orderNumber);
      await hold?.letGo.promise;
      const result = await releaseFunds(input);
      hold?.released.resolve(result);
      return result;
    },
  });
  merchant = await service.newMerchant();
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

/** The database's clock runs again, with Temporal's. */
const letClocksAgree = () => service.skip(1);
beforeEach(letClocksAgree);

async function deliveredOrder() {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { body } = await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
  return { ...body.data, endsAtMs: Date.parse(body.data.completes_at!) };
}

function holdUp({ order_number }: Order) {
  const hold = newHold();
  heldUp.set(order_number, hold);
  return { letGo: hold.letGo.resolve, released: hold.released.promise };
}

const read = async ({ order_number }: Order) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const kindsOf = async ({ order_number }: Order) =>
  (await merchant.sandbox.get<Timeline>(`/orders/${order_number}/timeline`)).body.data.entries.map(
    ({ kind }) => kind,
  );
const untilStatus = (order: Order, status: string) =>
  until(async () => (await read(order)).status === status);
const rowOf = ({ order_number }: Order) => findOrderByNumber(service.sql, order_number);
const dispute = (order: Order) => merchant.sandbox.help(order, 'dispute', { reason: REASON });

/** Stops the database's clock so many seconds before (negative) or after a window's end. */
const receiveAt = (endsAtMs: number, seconds: number) =>
  service.clock.stopAt(new Date(endsAtMs + seconds * 1000));

/** The API wrote the dispute down and died before it told the workflow. */
const writeDownOnly = ({ order_number }: Order) =>
  writeDispute(service.sql, order_number, {
    requestId: `dispute:${randomUUID()}`,
    reason: REASON,
  });

describe('a dispute and the end of the window, by the clock of the database', () => {
  it('1 s before the end: it counts', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, -1);
    const { status, body } = await dispute(order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
    expect(body.data.dispute?.reason).toBe(REASON);
  });

  it('1 s after the end, though the workflow has not noticed the end yet: it is refused', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, 1);
    const { status, body } = await dispute(order);
    expect([status, body.message]).toEqual([400, REFUSAL]);
    expect(await read(order)).toMatchObject({ status: 'DELIVERED', dispute_count: 0 });
    await service.skip(24 * HOUR_MS + 1000);
    await untilStatus(order, 'COMPLETED');
  });

  it('1 s before the end, but the workflow hears of it only when it releases: it counts', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, -1);
    const receivedAt = new Date(order.endsAtMs - 1000);
    expect(await writeDownOnly(order)).toMatchObject({ receivedAt });
    await service.skip(24 * HOUR_MS + 1000);
    await untilStatus(order, 'DISPUTE_OPEN');
    expect(await read(order)).toMatchObject({ dispute_count: 1, dispute: { reason: REASON } });

    const path = `/orders/${order.order_number}/dispute/resolve`;
    expect((await merchant.sandbox.post(path, { resolution: 'Found it' })).status).toBe(200);
    await service.skip(24 * HOUR_MS + 1000);
    await untilStatus(order, 'COMPLETED');
    expect((await kindsOf(order)).slice(3)).toEqual([
      'DISPUTE_RAISED',
      'DISPUTE_RESOLVED',
      'RELEASE_STARTED',
      'ORDER_COMPLETED',
    ]);
  });

  it('1 s after the end, and the workflow never heard of it: the order completes', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, 1);
    await writeDownOnly(order);
    await service.skip(24 * HOUR_MS + 1000);
    await untilStatus(order, 'COMPLETED');
    expect((await read(order)).dispute_count).toBe(0);
  });

  it('on the very millisecond of the end it is too late', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, 0);
    expect((await dispute(order)).body.message).toBe(REFUSAL);
  });
});

describe('a dispute that meets the release under way', () => {
  it('received 1 s before the end it stops the release, and is raised once', async () => {
    const order = await deliveredOrder();
    const { letGo, released } = holdUp(order);
    await service.temporal.skip(24 * HOUR_MS + 1000);
    await receiveAt(order.endsAtMs, -1);
    const { status, body } = await dispute(order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
    await letClocksAgree();
    letGo();
    expect(await released).toEqual({ outcome: 'behind' });
    expect((await kindsOf(order)).slice(3)).toEqual(['DISPUTE_RAISED']);
    expect(await rowOf(order)).toMatchObject({ dispute_count: 1, waiting_dispute_id: null });
  });

  it('received 1 s after the end it is refused, and the release goes on', async () => {
    const order = await deliveredOrder();
    const { letGo } = holdUp(order);
    await service.skip(24 * HOUR_MS + 2000);
    await receiveAt(order.endsAtMs, 1);
    expect((await dispute(order)).body.message).toBe(REFUSAL_WHILE_RELEASING);
    await letClocksAgree();
    letGo();
    await untilStatus(order, 'COMPLETED');
  });

  it('once the release has started nothing stops it, however long the gateway takes', async () => {
    const order = await deliveredOrder();
    await simulator(service, 'POST', '/faults', { kind: 'error', status: 503 });
    await service.skip(24 * HOUR_MS + 1000);
    await until(async () => (await kindsOf(order)).includes('RELEASE_STARTED'));
    const path = `/orders/${order.order_number}`;
    const { body } = await merchant.sandbox.get<Timeline>(`${path}/timeline`);
    expect(body.data).toMatchObject({ status: 'DELIVERED', doing: 'releasing' });
    await receiveAt(order.endsAtMs, -1);
    expect((await dispute(order)).body.message).toBe(REFUSAL_WHILE_RELEASING);
    expect((await merchant.sandbox.help(order, 'advance', { seconds: 1 })).status).toBe(400);

    await simulator(service, 'DELETE', '/faults');
    await service.skip(HOUR_MS);
    await untilStatus(order, 'COMPLETED');
  });

  it('the window is over only when the database says so, should its clock be behind', async () => {
    const order = await deliveredOrder();
    await receiveAt(order.endsAtMs, -10);
    await service.temporal.skip(24 * HOUR_MS + 1000);
    const { status, body } = await dispute(order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
  });
});
