import { env } from 'node:process';
import { expect } from 'vitest';
import { askAboutHappyOrders } from '../support/happy-sessions.ts';
import { serviceTest } from '../support/service-test.ts';

const ORDERS = Number(env['LOAD_SESSIONS'] ?? 30);
const MOST_QUESTIONS = 3;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

test('a paid order costs at most three queries to the gateway, and one if it is paid immediately', async ({
  service,
  merchant,
}) => {
  const { calls, expected } = await askAboutHappyOrders(service, merchant, ORDERS);
  expect(calls).toBe(expected);
  expect(calls).toBeLessThanOrEqual(MOST_QUESTIONS * ORDERS);
});
