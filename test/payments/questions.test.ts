import { expect } from 'vitest';
import { askAboutHappyOrders } from '../support/happy-sessions.ts';
import { serviceTest } from '../support/service-test.ts';

const ORDERS = 60;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test('a happy order costs three questions at most, and one if it is paid at once', async ({
  service,
  merchant,
}) => {
  const { calls, expected } = await askAboutHappyOrders(service, merchant, ORDERS);
  expect(calls).toBe(expected);
});
