import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { REFUSALS } from '../../src/domain/index.ts';
import { findOrderByNumber } from '../../src/orders/find-order.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { A_BUYER } from '../support/actor.ts';
import { recordDispute } from '../support/disputes.ts';

const HOUR_MS = 3_600_000;
const REASON = 'It never arrived at my door';
const REFUSAL = REFUSALS.dispute;
const REFUSAL_WHILE_RELEASING = `${REFUSAL}; the funds are being released to the merchant`;

/** Orders whose release a test delays before it reaches the database. */
const heldUp = new Map<string, Promise<void>>();

const test = serviceTest({
  time: 'skipping',
  worker: {
    activities({ deps }) {
      const { releaseFunds } = createActivities(deps);
      return {
        async releaseFunds(input) {
          await heldUp.get(input.orderNumber);
          return releaseFunds(input);
        },
      };
    },
  },
});

/** Sets the database's clock to Temporal's and lets it run again. */
const letClocksAgree = (service: TestService) => service.skip(1);
test.beforeEach(({ service }) => letClocksAgree(service));

async function deliveredOrder(merchant: Merchant) {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { body } = await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
  return { ...body.data, endsAtMs: Date.parse(body.data.completes_at!) };
}

/** A delivered order whose money waits, once its release has started, until the test lets it go. */
async function heldUpOrder(merchant: Merchant) {
  const order = await deliveredOrder(merchant);
  const { promise, resolve: letGo } = Promise.withResolvers<void>();
  heldUp.set(order.order_number, promise);
  return { order, letGo };
}

const kindsOf = async (merchant: Merchant, order: Order) =>
  (await merchant.sandbox.timeline(order)).entries.map(({ kind }) => kind);
const rowOf = (service: TestService, { order_number }: Order) =>
  findOrderByNumber(service.sql, order_number);
const dispute = (merchant: Merchant, order: Order) =>
  merchant.sandbox.help(order, 'dispute', { reason: REASON });

/** Stops the database's clock at a number of seconds before (negative) or after the window's end. */
const receiveAt = (service: TestService, endsAtMs: number, seconds: number) =>
  service.clock.stopAt(new Date(endsAtMs + seconds * 1000));

/** A delivered order, and the database's clock stopped so many seconds from its window's end. */
async function deliveredOrderAt(service: TestService, merchant: Merchant, seconds: number) {
  const order = await deliveredOrder(merchant);
  await receiveAt(service, order.endsAtMs, seconds);
  return order;
}

/**
 * The workflow finds the window over, and tries the release again after 1, 3, 7 … 511 and 1,023 s, while the
 * database finds the window open. Far from a try: the time-skipping server loses a workflow task that an
 * Update begins at the moment when a timer fires.
 */
const skipBetweenTries = (service: TestService) => service.temporal.skip(24 * HOUR_MS + 700_000);

/** The API has written the dispute and died before it notified the workflow. */
const writeDownOnly = (service: TestService, { order_number }: Order) =>
  recordDispute(service.sql, order_number, {
    commandId: `dispute:${randomUUID()}`,
    reason: REASON,
    actor: A_BUYER,
  });

describe('a dispute near the end of the window, by the database’s clock', () => {
  test('received 1 s before the end, it counts', async ({ service, merchant }) => {
    const order = await deliveredOrderAt(service, merchant, -1);
    const { status, body } = await dispute(merchant, order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
    expect(body.data.dispute?.reason).toBe(REASON);
  });

  test('received 1 s after the end, it is refused, even if the workflow has not processed the end yet', async ({
    service,
    merchant,
  }) => {
    const order = await deliveredOrderAt(service, merchant, 1);
    const { status, body } = await dispute(merchant, order);
    expect([status, body.message]).toEqual([400, REFUSAL]);
    expect(await merchant.sandbox.read(order)).toMatchObject({
      status: 'DELIVERED',
      dispute_count: 0,
    });
    await service.skip(24 * HOUR_MS + 1000);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
  });

  test('received 1 s before the end, it counts, even if the workflow learns of it only at the release', async ({
    service,
    merchant,
  }) => {
    const order = await deliveredOrderAt(service, merchant, -1);
    const receivedAt = new Date(order.endsAtMs - 1000);
    expect(await writeDownOnly(service, order)).toMatchObject({ receivedAt });
    await service.skip(24 * HOUR_MS + 1000);
    await merchant.sandbox.untilStatus(order, 'DISPUTE_OPEN');
    expect(await merchant.sandbox.read(order)).toMatchObject({
      dispute_count: 1,
      dispute: { reason: REASON },
    });

    const path = `/orders/${order.order_number}/dispute/resolve`;
    expect((await merchant.sandbox.post(path, { resolution: 'Found it' })).status).toBe(200);
    await service.skip(24 * HOUR_MS + 1000);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect((await kindsOf(merchant, order)).slice(3)).toEqual([
      'DISPUTE_RAISED',
      'DISPUTE_RESOLVED',
      'RELEASE_STARTED',
      'ORDER_COMPLETED',
    ]);
  });

  test('received 1 s after the end without notifying the workflow, it does not stop the completion', async ({
    service,
    merchant,
  }) => {
    const order = await deliveredOrderAt(service, merchant, 1);
    await writeDownOnly(service, order);
    await service.skip(24 * HOUR_MS + 1000);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect((await merchant.sandbox.read(order)).dispute_count).toBe(0);
  });

  test('marked again after its refusal, it does not stop the completion', async ({
    service,
    merchant,
  }) => {
    const order = await deliveredOrderAt(service, merchant, -1);
    const written = await writeDownOnly(service, order);
    await service.sql`UPDATE order_commands SET state = 'REFUSED' WHERE command_id = ${written.commandId}`;
    await service.skip(24 * HOUR_MS + 1000);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
  });

  test('received in the millisecond of the end, it is too late', async ({ service, merchant }) => {
    const order = await deliveredOrderAt(service, merchant, 0);
    expect((await dispute(merchant, order)).body.message).toBe(REFUSAL);
  });
});

describe('a dispute while the release is being started', () => {
  test('received 1 s before the end, it stops the release and is raised once', async ({
    service,
    merchant,
  }) => {
    const order = await deliveredOrderAt(service, merchant, -1);
    await skipBetweenTries(service);
    const { status, body } = await dispute(merchant, order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
    await letClocksAgree(service);
    expect((await kindsOf(merchant, order)).slice(3)).toEqual(['DISPUTE_RAISED']);
    expect(await rowOf(service, order)).toMatchObject({
      disputeCount: 1,
      waitingDisputeId: null,
    });
  });

  test('received 1 s after the end, it is refused and the release continues', async ({
    service,
    merchant,
  }) => {
    const { order, letGo } = await heldUpOrder(merchant);
    await service.skip(24 * HOUR_MS + 2000);
    await until(async () => (await kindsOf(merchant, order)).includes('RELEASE_STARTED'));
    await receiveAt(service, order.endsAtMs, 1);
    expect((await dispute(merchant, order)).body.message).toBe(REFUSAL_WHILE_RELEASING);
    await letClocksAgree(service);
    letGo();
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
  });

  test('after the release has started no dispute stops it, however long the gateway takes', async ({
    service,
    merchant,
    gateway,
  }) => {
    const order = await deliveredOrder(merchant);
    await gateway.addFault({ kind: 'error', status: 503 });
    await service.skip(24 * HOUR_MS + 1000);
    await until(async () => (await kindsOf(merchant, order)).includes('RELEASE_STARTED'));
    const path = `/orders/${order.order_number}`;
    const { body } = await merchant.sandbox.get<Timeline>(`${path}/timeline`);
    expect(body.data).toMatchObject({ status: 'DELIVERED', doing: 'releasing' });
    await receiveAt(service, order.endsAtMs, -1);
    expect((await dispute(merchant, order)).body.message).toBe(REFUSAL_WHILE_RELEASING);
    expect((await merchant.sandbox.help(order, 'advance', { seconds: 1 })).status).toBe(400);

    await gateway.endFaults();
    await service.skip(HOUR_MS);
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
  });

  test('the window ends by the database’s clock only', async ({ service, merchant }) => {
    const order = await deliveredOrderAt(service, merchant, -10);
    await skipBetweenTries(service);
    const { status, body } = await dispute(merchant, order);
    expect([status, body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
  });
});

test('a refund is refused while a dispute received in time is waiting, and the dispute continues', async ({
  service,
  merchant,
}) => {
  const order = await deliveredOrder(merchant);
  const written = await writeDownOnly(service, order);
  const { status, body } = await merchant.sandbox.command(order, 'refund', { reason: 'Sold out' });
  expect([written, status]).toEqual([expect.anything(), 400]);
  // The refund tells the order of the dispute, which may be recorded before the refusal is final.
  const refusal = REFUSALS.refund;
  expect([refusal, `${refusal}; a dispute is waiting`]).toContain(body.message);
  await merchant.sandbox.untilStatus(order, 'DISPUTE_OPEN');
  expect(await rowOf(service, order)).toMatchObject({ disputeCount: 1, refundReason: null });
});
