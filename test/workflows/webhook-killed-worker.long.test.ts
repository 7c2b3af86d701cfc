import { expect } from 'vitest';
import { sweep } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

// Real time: the server that skips time leaves the tasks of a workflow that a dead worker has cached to that worker.
const test = serviceTest({
  time: 'real',
  worker: false,
  settings: {
    WEBHOOK_RETRY_DELAYS_SECONDS: '0.3,0.3,0.3,0.3',
    SWEEP_AFTER_SECONDS: '0.001',
  },
});

test('a worker that is killed during an attempt uses up none of the five', async ({
  service,
  worker,
  orders,
}) => {
  const { sandbox, receiver } = await service.newMerchant();
  const { promise: never } = Promise.withResolvers<number>();
  receiver.answerWith(() => never);
  const doomed = await startWorkerProcess(service);
  const { order_number: orderNumber } = await sandbox.create();
  await receiver.until(1);
  // Otherwise the next worker receives the order's first task once more, and nothing need wake the order.
  await (await orders.workflowOf({ order_number: orderNumber })).untilBegun();
  await doomed.kill();

  const deliveryNow = async () => {
    const [row] = await service.sql<{ state: string; scheduled: number }[]>`
      SELECT d.state, (SELECT count(*) FROM webhook_attempts a
        WHERE a.delivery_id = d.delivery_id AND a.kind = 'scheduled') AS scheduled
      FROM webhook_deliveries d JOIN order_events e USING (event_id)
      WHERE e.order_number = ${orderNumber}`;
    return row;
  };
  expect(await deliveryNow()).toEqual({ state: 'PENDING', scheduled: 0 });

  receiver.answerWith(() => 503);
  await worker.start();
  const dueWakeup = () => service.sql`
    SELECT FROM wakeups WHERE order_number = ${orderNumber} AND due_at < service_now()`;
  await until(async () => (await dueWakeup()).length > 0);
  await sweep(service);
  await until(async () => (await deliveryNow())?.state === 'FAILED');
  expect(await deliveryNow()).toEqual({ state: 'FAILED', scheduled: 5 });
  expect(receiver.received).toHaveLength(6);
  expect(new Set(receiver.received.map(({ rawBody }) => rawBody)).size).toBe(1);
});
