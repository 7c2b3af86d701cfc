import { afterEach, expect, vi } from 'vitest';
import { attemptManually, attemptScheduled } from '../../src/webhooks/deliver.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf } from './deliveries.ts';

const test = serviceTest({
  time: 'real',
  // The tests make the attempts themselves.
  worker: { activities: () => ({ sendWebhook: async () => {} }) },
});

afterEach(() => void vi.useRealTimers());

async function aDelivery(service: TestService) {
  const { sandbox, receiver } = await service.newMerchant();
  const { order_number: orderNumber } = await sandbox.create();
  const read = async () => (await deliveriesOf(service, orderNumber))[0]!;
  const { deliveryId } = (await until(read)) ?? { deliveryId: '' };
  return { deliveryId, receiver, read };
}

/** Makes this machine's clock wrong until the end of the test; the database's clock stays right. */
const setOurClockWrongBy = (ms: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

test.for([
  ['scheduled', 61_000, attemptScheduled],
  ['scheduled', -61_000, attemptScheduled],
  ['manual', 61_000, attemptManually],
  ['manual', -61_000, attemptManually],
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
    expect(await attemptScheduled(service.deps, deliveryId)).toEqual({ outcome: 'delivered' });
  },
);

test.for([55_000, -55_000])('a clock %i ms off does no harm', async (ms, { service }) => {
  const { deliveryId } = await aDelivery(service);
  setOurClockWrongBy(ms);
  expect(await attemptManually(service.deps, deliveryId)).toEqual({ outcome: 'delivered' });
});
