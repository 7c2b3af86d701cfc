import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { untilTemporalWaits } from '../webhooks/deliveries.ts';

const SECOND_MS = 1000;
/** The time-out of an attempt, after which Temporal assumes that its worker is dead. */
const ATTEMPT_TIMEOUT_MS = 30 * SECOND_MS;
/** The wait after a fault of the service itself. */
const OWN_FAULT_MS = 30 * SECOND_MS;
/** Seconds from each attempt to the next. */
const WAITS = [300, 1800, 7200, 43_200];

const test = serviceTest({ time: 'skipping', worker: false });

interface Delivery {
  state: string;
  scheduled: number;
}

test('a worker that is killed during an attempt uses up none of the five', async ({
  service,
  worker,
}) => {
  const { sandbox, receiver } = await service.newMerchant();
  const { promise: never } = Promise.withResolvers<number>();
  receiver.answerWith(() => never);
  const doomed = await startWorkerProcess(service);
  const { order_number: orderNumber } = await sandbox.create();
  await receiver.until(1);
  await doomed.kill();

  const deliveryNow = async () => {
    const [row] = await service.sql<Delivery[]>`
      SELECT d.state, (SELECT count(*) FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS scheduled
      FROM webhook_deliveries d JOIN order_events e USING (event_id)
      WHERE e.order_number = ${orderNumber}`;
    return row;
  };
  expect(await deliveryNow()).toEqual({ state: 'PENDING', scheduled: 0 });

  receiver.answerWith(() => 503);
  await worker.start();
  await service.skip(ATTEMPT_TIMEOUT_MS + OWN_FAULT_MS + SECOND_MS);
  for (const [index, seconds] of WAITS.entries()) {
    await receiver.until(index + 2);
    await until(async () => (await deliveryNow())?.scheduled === index + 1);
    expect(await deliveryNow()).toEqual({ state: 'PENDING', scheduled: index + 1 });
    await untilTemporalWaits(service, orderNumber, index + 1);
    await service.skip((seconds + 1) * SECOND_MS);
  }
  await until(async () => (await deliveryNow())?.state === 'FAILED');
  expect(await deliveryNow()).toEqual({ state: 'FAILED', scheduled: 5 });
  expect(receiver.received).toHaveLength(6);
  expect(new Set(receiver.received.map(({ rawBody }) => rawBody)).size).toBe(1);
});
