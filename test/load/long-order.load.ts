import { expect } from 'vitest';
import { liveThroughMessages } from '../support/long-order.ts';
import { serviceTest } from '../support/service-test.ts';

const MESSAGES = { updates: 12_500, signals: 12_500, rounds: 250 };
/** A run ends after 1,000 messages. */
const LEAST_RUNS = 20;
const ROUNDS_PER_LINE = 25;

const test = serviceTest({
  time: 'real',
  callbacks: false,
  // The test takes longer than the five minutes after which the webhook would be retried.
  settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '86400,86400,86400,86400' },
});

test('an order with a waiting webhook accepts 25,000 messages, and then continues normally', async ({
  service,
  merchant,
  orders,
}) => {
  const startedAt = performance.now();
  let lastAt = startedAt;
  let round = 0;
  const { runs } = await liveThroughMessages({ service, merchant, orders }, MESSAGES, (soFar) => {
    round += 1;
    if (round % ROUNDS_PER_LINE !== 0) return;
    const now = performance.now();
    console.log(`${soFar} messages, the last 2,500 in ${((now - lastAt) / 1000).toFixed(0)} s`);
    lastAt = now;
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`25,000 messages on one order, then COMPLETED: ${runs} runs, ${seconds} s`);
  expect(runs).toBeGreaterThanOrEqual(LEAST_RUNS);
});
