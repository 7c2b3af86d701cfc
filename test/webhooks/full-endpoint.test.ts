import { expect } from 'vitest';
import { attemptManually, attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { listDeliveries } from '../../src/webhooks/lists/delivery-list.ts';
import { WebhookNotAttemptedError } from '../../src/webhooks/sending/sender.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const TEN_MINUTES_MS = 600_000;

const test = serviceTest({ time: 'real', worker: false });

/** A delivery without attempts, and attempts on a clock that the test moves. */
async function newDelivery(service: TestService) {
  const merchant = await service.newMerchant();
  const { orderNumber } = await writeOrder(service, merchant);
  const find = async () => (await listDeliveries(service.sql, { orderNumber }, 1))[0]!;
  const { deliveryId } = await find();
  let nowMs = Date.now();
  const now = () => nowMs;
  const isFull = async () => {
    throw new WebhookNotAttemptedError('busy');
  };
  const full = { ...service.deps, now, sender: { ...service.deps.sender, send: isFull } };
  return {
    ...merchant,
    deliveryId,
    find,
    pass: (ms: number) => (nowMs += ms),
    attempt: () => attemptScheduled({ ...service.deps, now }, deliveryId),
    /** An attempt that finds the endpoint full. @returns milliseconds to wait */
    async postpone(): Promise<number> {
      const result = await attemptScheduled(full, deliveryId);
      if (result.outcome !== 'postponed') throw new Error(`It was ${result.outcome}`);
      return result.retryAfterMs;
    },
  };
}

test('a webhook whose endpoint is full waits longer each time, at most ten minutes, and is not attempted', async ({
  service,
}) => {
  const { receiver, find, pass, postpone } = await newDelivery(service);
  const waits: number[] = [];
  for (let time = 0; time < 6; time += 1) {
    const waitMs = await postpone();
    waits.push(waitMs);
    pass(waitMs);
  }
  const longest = [10_000, 40_000, 160_000, TEN_MINUTES_MS, TEN_MINUTES_MS, TEN_MINUTES_MS];
  waits.forEach((waitMs, time) => {
    expect(waitMs).toBeGreaterThanOrEqual(longest[time]! / 2);
    expect(waitMs).toBeLessThanOrEqual(longest[time]!);
  });
  expect(await find()).toMatchObject({ state: 'PENDING', attempts: [] });
  expect(receiver.received).toHaveLength(0);
});

test('a webhook that waits for its endpoint is not attempted earlier, and its five attempts remain', async ({
  service,
}) => {
  const { receiver, find, pass, postpone, attempt } = await newDelivery(service);
  const waitMs = await postpone();
  pass(waitMs - 2000);
  expect(await attempt()).toMatchObject({ outcome: 'postponed' });
  expect(receiver.received).toHaveLength(0);
  pass(2000);
  receiver.answerWith(() => 500);
  expect(await attempt()).toMatchObject({ outcome: 'refused', retryAfterMs: 300_000 });
  // After an attempt the waits begin anew.
  pass(300_000);
  expect(await postpone()).toBeLessThanOrEqual(10_000);
  expect((await find()).attempts).toHaveLength(1);
});

test('a manual retry is made immediately while the webhook waits for its endpoint', async ({
  service,
}) => {
  const { receiver, deliveryId, find, postpone } = await newDelivery(service);
  await postpone();
  expect(await attemptManually(service.deps, deliveryId)).toEqual({ outcome: 'accepted' });
  expect(receiver.received).toHaveLength(1);
  expect(await find()).toMatchObject({ state: 'DELIVERED', nextAttemptAt: null });
});
