import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import { attemptsOf, untilDelivery } from './deliveries.ts';

const test = serviceTest({
  time: 'real',
  settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '0.1,0.2,0.3,0.4' },
});

test('with short delays it is FAILED after five attempts', async ({ service, merchant }) => {
  merchant.receiver.answerWith(() => 503);
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const delivery = await untilDelivery(service, orderNumber, ({ state }) => state === 'FAILED');
  expect(attemptsOf(delivery)).toEqual(Array.from({ length: 5 }, () => 'scheduled 503'));
  expect(merchant.receiver.received).toHaveLength(5);
});
