import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { createAttemptLog } from '../../src/webhooks/attempt-log.ts';
import type { AttemptContext, AttemptLog } from '../../src/webhooks/attempt-log.ts';
import { attemptManually } from '../../src/webhooks/deliver.ts';
import { writeOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const SECOND_MS = 1000;
const HORIZON_MS = 600 * SECOND_MS;

const test = serviceTest({ time: 'real', worker: false }).extend(
  'attempts',
  { scope: 'file' },
  ({ service }) => createAttemptLog(service.sql),
);

/** A separate merchant with deliveries without attempts; the database's clock is stopped. */
async function newEndpoint(service: TestService, count: number) {
  await service.clock.stopAt(new Date());
  const merchant = await service.newMerchant();
  await Promise.all(Array.from({ length: count }, () => writeOrder(service, merchant)));
  const rows = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries
    WHERE merchant_id = ${merchant.merchantId} ORDER BY delivery_id`;
  const origin = new URL(merchant.receiver.url).origin;
  return { ...merchant, origin, deliveryIds: rows.map(({ deliveryId }) => deliveryId) };
}

async function begin(attempts: AttemptLog, deliveryId = '') {
  const attempt = { deliveryId, kind: 'scheduled' as const, token: randomUUID(), dueBy: null };
  const context = await attempts.begin(attempt);
  expect(context).toBeDefined();
  return { ...(context as AttemptContext), ...attempt };
}

/** Takes deliveries, finds no place for any of them, and releases each with a reserved time. */
async function reserveAll(
  attempts: AttemptLog,
  deliveryIds: string[],
  { isBusy = true, expectedMs = null as number | null } = {},
): Promise<number[]> {
  const now = new Date();
  const waits = await Promise.all(
    deliveryIds.map(async (deliveryId) => {
      const { token, origin } = await begin(attempts, deliveryId);
      return attempts.reserve({ deliveryId, token, origin: origin!, isBusy, expectedMs, now });
    }),
  );
  return waits.map((waitMs) => waitMs ?? Number.NaN);
}

const passTime = ({ sql }: TestService, seconds: number) =>
  sql`UPDATE test_clock SET stopped_at = stopped_at + ${seconds} * interval '1 second'`;

const ascending = (numbers: number[]) => numbers.toSorted((one, other) => one - other);

async function noteTimeouts(attempts: AttemptLog, origin: string, count: number) {
  const timedOut = { origin, isDelivered: false, isTimedOut: true, durationMs: 15 * SECOND_MS };
  await Promise.all(Array.from({ length: count }, () => attempts.recordEndpointResult(timedOut)));
}

const noteSuccess = (attempts: AttemptLog, origin: string) =>
  attempts.recordEndpointResult({ origin, isDelivered: true, isTimedOut: false, durationMs: 20 });

test('all workers reserve from one sequence of times: no time is given twice, and each place is used', async ({
  service,
  attempts,
}) => {
  const { deliveryIds } = await newEndpoint(service, 20);
  const ofAnotherWorker = createAttemptLog(service.sql);
  const expected = { expectedMs: 8 * SECOND_MS };
  const waits = await Promise.all([
    reserveAll(attempts, deliveryIds.slice(0, 10), expected),
    reserveAll(ofAnotherWorker, deliveryIds.slice(10), expected),
  ]);
  // Eight slots for eight seconds each.
  const seconds = ascending(waits.flat()).map((waitMs) => waitMs / SECOND_MS);
  expect(seconds).toEqual(Array.from({ length: 20 }, (_, index) => 3 + index));
});

test('an attempt that arrives while others wait is placed behind them, and one whose time has come starts', async ({
  service,
  attempts,
}) => {
  const { deliveryIds } = await newEndpoint(service, 3);
  const [first = '', second = '', third = ''] = deliveryIds;
  const [firstWaitMs] = await reserveAll(attempts, [first], { expectedMs: 80 * SECOND_MS });
  const newcomer = await begin(attempts, second);
  expect(newcomer.mustWait).toBe(true);
  await attempts.abandon(newcomer);
  const [secondWaitMs] = await reserveAll(attempts, [second], { isBusy: false });
  expect([firstWaitMs, secondWaitMs]).toEqual([3 * SECOND_MS, 13 * SECOND_MS]);

  const tooEarly = { deliveryId: first, kind: 'scheduled' as const, token: randomUUID() };
  expect(await attempts.begin({ ...tooEarly, dueBy: new Date() })).toBeUndefined();
  await passTime(service, 3);
  expect(await begin(attempts, first)).toMatchObject({ mustWait: false });
  expect(await begin(attempts, third)).toMatchObject({ mustWait: true });
});

test('times are reserved at most ten minutes ahead, and a delivery without a time reserves again then', async ({
  service,
  attempts,
}) => {
  const { deliveryIds, origin } = await newEndpoint(service, 60);
  await noteTimeouts(attempts, origin, 24);
  const waits = ascending(await reserveAll(attempts, deliveryIds));
  // One place for 15 s each: 40 of them end within ten minutes.
  const reserved = Array.from({ length: 40 }, (_, index) => (3 + index * 15) * SECOND_MS);
  expect(waits.filter((waitMs) => reserved.includes(waitMs))).toHaveLength(40);
  expect(Math.max(...waits)).toBeLessThanOrEqual(HORIZON_MS);
  const without = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries
    WHERE delivery_id = ANY (${deliveryIds}) AND NOT has_reservation`;
  expect(without).toHaveLength(20);

  await passTime(service, 600);
  const again = await reserveAll(
    attempts,
    without.map(({ deliveryId }) => deliveryId),
  );
  expect(ascending(again)).toEqual(reserved.slice(0, 20));
});

test('every eight time-outs in a row halve the slots of an endpoint, and one success restores all of them', async ({
  service,
  attempts,
}) => {
  const { deliveryIds, origin } = await newEndpoint(service, 5);
  const slotsNow = async () => {
    const context = await begin(attempts, deliveryIds[0]);
    await attempts.abandon(context);
    return context.slots;
  };
  const slots: number[] = [];
  for (const timeouts of [0, 7, 1, 8, 8, 8, 80]) {
    await noteTimeouts(attempts, origin, timeouts);
    slots.push(await slotsNow());
  }
  expect(slots).toEqual([8, 8, 4, 2, 1, 1, 1]);

  const waits = await reserveAll(attempts, deliveryIds.slice(1));
  expect(Math.max(...waits)).toBe(48 * SECOND_MS);
  expect(await begin(attempts, deliveryIds[0])).toMatchObject({ mustWait: true });
  await noteSuccess(attempts, origin);
  // Attempts with a reserved time keep it; a new attempt finds room.
  expect(await begin(attempts, deliveryIds[1])).toMatchObject({ mustWait: false, slots: 8 });
  const [row] = await service.sql`
    SELECT timeouts, next_free_at < service_now() + interval '1 second' AS is_free
    FROM webhook_endpoints WHERE origin = ${origin}`;
  expect(row).toEqual({ timeouts: 0, isFree: true });
});

test('a manual retry is made immediately while others wait for the endpoint, and its success counts', async ({
  service,
  attempts,
}) => {
  const { deliveryIds, origin, receiver } = await newEndpoint(service, 3);
  await noteTimeouts(attempts, origin, 24);
  await reserveAll(attempts, deliveryIds);
  const [, , last = ''] = deliveryIds;
  expect(await attemptManually(service.deps, last)).toEqual({ outcome: 'delivered' });
  expect(receiver.received).toHaveLength(1);
  expect(await begin(attempts, deliveryIds[0])).toMatchObject({ slots: 8, mustWait: false });
});

test('an endpoint that always had room has no row', async ({ service }) => {
  const { deliveryIds, origin } = await newEndpoint(service, 1);
  await attemptManually(service.deps, deliveryIds[0] ?? '');
  const rows = await service.sql`SELECT FROM webhook_endpoints WHERE origin = ${origin}`;
  expect(rows).toHaveLength(0);
});
