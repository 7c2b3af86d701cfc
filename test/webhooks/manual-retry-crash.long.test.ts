import { expect } from 'vitest';
import { retryDelivery } from '../../src/webhooks/resend/manual-retry.ts';
import { serviceTest } from '../support/service-test.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import {
  aRefusingMerchant,
  attemptsOf,
  retryDepsOf,
  untilDelivery,
  untilRefused,
} from './deliveries.ts';

/** The activity's time-out, after which Temporal assumes that its worker is dead. */
const ATTEMPT_TIMEOUT_MS = 30_000;

const test = serviceTest({ time: 'skipping', worker: false });

test('a manual attempt whose worker is killed is made again, never two at the same time', async ({
  service,
  worker,
}) => {
  const merchant = await aRefusingMerchant(service);
  await worker.start();
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const { deliveryId } = await untilRefused(service, orderNumber, 1);
  await worker.stop();

  const { promise: never } = Promise.withResolvers<number>();
  merchant.receiver.answerWith(() => never);
  const doomed = await startWorkerProcess(service);
  const retried = retryDelivery(retryDepsOf(service), deliveryId);
  // Its error would end the wait; that it has only started would not.
  const sent = merchant.receiver.until(2);
  await Promise.race([sent, retried.then(() => sent)]);
  await doomed.kill();

  merchant.receiver.answerWith(() => 200);
  await worker.start();
  await service.skip(ATTEMPT_TIMEOUT_MS + 1000);
  expect(['delivered', 'started']).toContain((await retried).outcome);
  const delivery = await untilDelivery(service, orderNumber, ({ state }) => state === 'DELIVERED');
  expect(attemptsOf(delivery)).toEqual(['scheduled 500', 'manual 200']);
  expect(merchant.receiver.received).toHaveLength(3);
});
