import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { wakeOrder } from '../../src/orders/wake/wake-order.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { DirectOrder, OrderOverrides } from '../support/orders.ts';
import { directOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

// Real time: the server that skips time skips none while a workflow waits for a worker.
const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });
test.beforeEach(({ service }) => service.clock.set(0));

/** A status for each kind of deadline, and what the deadline does. */
const DEADLINES = [
  ['ACCEPTED', 'CANCELLED'],
  ['DELIVERED', 'COMPLETED'],
  ['DISPUTE_OPEN', 'REFUNDED'],
] as const satisfies (readonly [OrderStatus, OrderStatus])[];

/** Durations: the deadline passes `afterMs` after the order enters a status; negative: it is that late. */
function passing(status: OrderStatus, afterMs: number): Partial<OrderOverrides> {
  const environment = 'sandbox' as const;
  const terms = { environment, completionWindowMs: DAY_MS, disputeAnswerMs: DAY_MS };
  if (status === 'ACCEPTED') return { paymentLinkMs: afterMs };
  if (status === 'DELIVERED') return { terms: { ...terms, completionWindowMs: afterMs } };
  return { terms: { ...terms, disputeAnswerMs: afterMs } };
}
const LATE_MS = -16 * MINUTE_MS;

/** The deadline of an order as its row has it, in Unix milliseconds. */
async function deadlineOf({ row }: DirectOrder): Promise<number> {
  const { status, paymentLinkExpiresAt, completesAt, disputeRespondBy } = await row();
  return Number(status === 'ACCEPTED' ? paymentLinkExpiresAt : (completesAt ?? disputeRespondBy));
}

const extensionsOf = async ({ steps }: DirectOrder) =>
  (await steps()).filter(({ kind }) => kind === 'DEADLINE_EXTENDED');

describe.for(DEADLINES)('the deadline of a %s order', ([status, after]) => {
  test('first handled 16 minutes late gives one more hour, and then takes effect, however late', async ({
    service,
    merchant,
    orders,
  }) => {
    const order = await orders.in(status, passing(status, LATE_MS));
    await order.untilStep('DEADLINE_EXTENDED');
    const [extension] = await extensionsOf(order);
    const endsAtMs = Number(extension?.at) + HOUR_MS;
    expect([(await order.row()).status, await deadlineOf(order)]).toEqual([status, endsAtMs]);

    const endsAt = new Date(endsAtMs).toISOString();
    const { entries, next } = await merchant.sandbox.timeline(order);
    expect(entries.at(-1)).toMatchObject({
      kind: 'DEADLINE_EXTENDED',
      status,
      details: { until: endsAt },
      webhook: null,
    });
    expect(next?.at).toBe(endsAt);
    const { payment_link_expires_at, completes_at, dispute } = await merchant.sandbox.read(order);
    expect([payment_link_expires_at, completes_at, dispute?.respond_by]).toContain(endsAt);

    await service.clock.set(DAY_MS);
    await order.update('advance', { seconds: 3600 });
    await order.untilStatus(after);
    expect(await extensionsOf(order)).toHaveLength(1);
  });

  test('does nothing before it has passed by the database’s clock', async ({ service, orders }) => {
    await service.clock.set(-MINUTE_MS);
    // The database dates the end of the payment link, and the workflow the others.
    const order = await orders.in(status, passing(status, status === 'ACCEPTED' ? 30_000 : 1));
    // By the answer to the second one, what the first one has made due was tried.
    for (const _ of [1, 2]) await order.update('advance', { seconds: 1 });
    expect(await order.row()).toMatchObject({ status, pendingOperation: null });
    await service.clock.set(0);
    await wakeOrder(service.deps, order.orderNumber);
    await order.untilStatus(after);
    expect(await extensionsOf(order)).toEqual([]);
  });

  test('handled ten minutes late takes effect', async ({ orders }) => {
    const order = await orders.in(status, passing(status, -10 * MINUTE_MS));
    await order.untilStatus(after);
    expect(await extensionsOf(order)).toEqual([]);
  });

  test('that only advance has moved to two days ago takes effect', async ({ orders }) => {
    const order = await orders.in(status);
    const leftMs = (await deadlineOf(order)) - Date.now();
    const twoDaysAgo = Math.round((leftMs + 2 * DAY_MS) / 1000);
    await order.update('advance', { seconds: twoDaysAgo });
    await order.untilStatus(after);
    expect(await extensionsOf(order)).toEqual([]);
  });
});

describe('one more hour after', () => {
  test('an outage of the workers', async ({ service, worker, orders }) => {
    const order = await worker.whileStopped(async () => {
      const started = await orders.start({ paymentLinkMs: 1 });
      await until(async () => (await deadlineOf(started)) < Date.now());
      await service.clock.set(-LATE_MS);
      return started;
    });
    await order.untilStep('DEADLINE_EXTENDED');
  });

  test('an outage of the database', async ({ service, orders }) => {
    const row = await orders.write({ paymentLinkMs: 1 });
    const order = directOrder(service, row);
    await service.sql`ALTER FUNCTION record_step RENAME TO away`;
    await order.start();
    await until(async () => (await order.openAlerts()).includes('step_not_recorded'));
    await service.clock.set(-LATE_MS);
    await service.sql`ALTER FUNCTION away RENAME TO record_step`;
    await order.untilStep('DEADLINE_EXTENDED');
  });

  test('a workflow that was missing', async ({ service, orders }) => {
    const row = await orders.write({ paymentLinkMs: -3 * DAY_MS });
    await wakeOrder(service.deps, row.orderNumber);
    await directOrder(service, row).untilStep('DEADLINE_EXTENDED');
  });
});

describe('in the additional hour', () => {
  test('the buyer pays, and the payment session ends with the payment link', async ({
    merchant,
    orders,
  }) => {
    const order = await orders.in('ACCEPTED', passing('ACCEPTED', LATE_MS));
    await order.untilStep('DEADLINE_EXTENDED');
    await order.update('advance', { seconds: 3000 });
    const { status, body } = await merchant.sandbox.openSession(order);
    expect([status, Date.parse(body.data.expires_at)]).toEqual([201, await deadlineOf(order)]);
    await order.pay();
    expect((await order.row()).status).toBe('PAID');
  });

  test('the buyer raises a dispute', async ({ merchant, orders }) => {
    const order = await orders.in('DELIVERED', passing('DELIVERED', LATE_MS));
    await order.untilStep('DEADLINE_EXTENDED');
    const reason = 'It never arrived at my door';
    const { body } = await merchant.sandbox.help(order, 'dispute', { reason });
    expect(body.data.status).toBe('DISPUTE_OPEN');
  });

  test('the merchant resolves the dispute', async ({ merchant, orders }) => {
    const order = await orders.in('DISPUTE_OPEN', passing('DISPUTE_OPEN', LATE_MS));
    await order.untilStep('DEADLINE_EXTENDED');
    const resolution = { resolution: 'We sent another one' };
    const { body } = await merchant.sandbox.command(order, 'dispute/resolve', resolution);
    expect(body.data.status).toBe('DELIVERED');
  });
});

test.for(['its workflow', 'a new workflow'])(
  'a release that already waits gets no additional hour from %s',
  async (which, { service, orders }) => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    const change = (to: 'suspend' | 'activate') =>
      changeMerchantStatus({ sql: service.sql, actor: TEST_ACTOR }, merchantId, to);
    const order = await orders.in('PAID', { merchantId, ...passing('DELIVERED', 0) });
    await change('suspend');
    await order.update('deliver');
    const isWaiting = async () =>
      (
        await service.sql`
          SELECT FROM orders
          WHERE order_number = ${order.orderNumber} AND release_tried_for = completes_at`
      ).length > 0;
    await until(isWaiting);
    await service.clock.set(3 * DAY_MS);
    if (which === 'a new workflow') await order.handle.terminate('A test');
    await change('activate');
    await wakeOrder(service.deps, order.orderNumber);
    await order.untilStatus('COMPLETED');
    expect(await extensionsOf(order)).toEqual([]);
  },
);
