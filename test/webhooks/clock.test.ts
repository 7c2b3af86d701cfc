import { afterEach, expect, vi } from 'vitest';
import { assertClockAgrees } from '../../src/webhooks/sending/clock.ts';
import { attemptManually, attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { deliveriesOf } from './deliveries.ts';

const test = serviceTest({
  time: 'real',
  // The tests make the attempts themselves. A worker would make the first one when the order begins.
  worker: false,
});

afterEach(() => void vi.useRealTimers());

/** So long that what a test takes, while it stops the clock, makes no difference. */
const HOUR_MS = 3_600_000;

async function aDelivery(service: TestService) {
  const { sandbox, receiver } = await service.newMerchant();
  const { order_number: orderNumber } = await sandbox.create();
  const read = async () => (await deliveriesOf(service, orderNumber))[0]!;
  const { deliveryId } = await read();
  return { deliveryId, receiver, read };
}

/** Makes this machine's clock wrong until the end of the test; the database's clock stays right. */
const setOurClockWrongBy = (ms: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

test.for([
  ['scheduled', HOUR_MS, attemptScheduled],
  ['scheduled', -HOUR_MS, attemptScheduled],
  ['manual', HOUR_MS, attemptManually],
  ['manual', -HOUR_MS, attemptManually],
] as const)(
  'no %s attempt is made or counted while the machine’s clock is %i ms off, and an alert is raised',
  async ([_kind, ms, attempt], { service }) => {
    const { deliveryId, receiver, read } = await aDelivery(service);
    const alertsBefore = service.logged.length;
    setOurClockWrongBy(ms);
    await expect(attempt(service.deps, deliveryId)).rejects.toThrow('Our clock differs');
    const alerts = service.logged.slice(alertsBefore).map(({ alert }) => alert);
    expect(alerts).toEqual(['clock_skew']);
    vi.useRealTimers();
    expect(receiver.received).toEqual([]);
    expect(await read()).toMatchObject({ state: 'PENDING', attempts: [] });
    // The delivery can be attempted again immediately.
    expect(await attemptScheduled(service.deps, deliveryId)).toEqual({ outcome: 'accepted' });
  },
);

test.for([60_000, -60_000])(
  'a clock %i ms off does no harm, and one that is a millisecond worse is too wrong',
  async (ms, { service }) => {
    const { deliveryId } = await aDelivery(service);
    vi.useFakeTimers({ toFake: ['Date'] });
    const databaseNow = new Date(Date.now() - ms);
    await assertClockAgrees(databaseNow, service.deps);
    const { attemptLog } = service.deps;
    const deps = {
      ...service.deps,
      attemptLog: {
        ...attemptLog,
        // The database's clock differs by exactly this, however long the statement took.
        lease: async (attempt: Parameters<typeof attemptLog.lease>[0]) => {
          const context = await attemptLog.lease(attempt);
          return context && { ...context, databaseNow };
        },
      },
    };
    const worse = new Date(databaseNow.getTime() - Math.sign(ms));
    await expect(assertClockAgrees(worse, service.deps)).rejects.toThrow('Our clock differs');
    expect(await attemptManually(deps, deliveryId)).toEqual({ outcome: 'accepted' });
  },
);
