import { expect } from 'vitest';
import { askAboutHappyOrders } from '../support/happy-sessions.ts';
import { serviceTest } from '../support/service-test.ts';

const ORDERS = 30;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test('a paid order costs at most three queries to the gateway, and one if it is paid immediately', async ({
  service,
  merchant,
}) => {
  const { calls, expected } = await askAboutHappyOrders(service, merchant, ORDERS);
  expect(calls).toBe(expected);
});
