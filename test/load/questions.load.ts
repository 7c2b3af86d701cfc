import { env } from 'node:process';
import { expect } from 'vitest';
import { askAboutHappyOrders } from '../support/happy-sessions.ts';
import { serviceTest } from '../support/service-test.ts';

const ORDERS = Number(env['LOAD_SESSIONS'] ?? 10_000);
const MOST_QUESTIONS = 3;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test(`each of ${ORDERS} paid orders costs at most three queries to the gateway`, async ({
  service,
  merchant,
}) => {
  const startedAt = performance.now();
  const { calls, expected } = await askAboutHappyOrders(service, merchant, ORDERS);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${calls} calls for ${ORDERS} orders in ${seconds} s: ${calls / ORDERS} each`);
  expect(calls).toBe(expected);
  expect(calls).toBeLessThanOrEqual(MOST_QUESTIONS * ORDERS);
});
