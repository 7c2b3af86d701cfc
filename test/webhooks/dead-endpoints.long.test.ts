import { expect } from 'vitest';
import { deadEndpointTest, merchantWithEndpoint } from '../support/dead-endpoint.ts';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DEAD_ENDPOINTS = 200;
const ORDERS_EACH = 2;
const WITHIN_MS = 1000;
/** Attempts hang for 15 s: how many hang at the same time depends on how fast orders can be started. */
const HANGING_AT_LEAST = 50;

const test = deadEndpointTest();

/** Milliseconds from an order's first workflow task to its first webhook, for five orders. */
async function firstAttemptDelays(service: TestService, merchant: Merchant): Promise<number[]> {
  const delays: number[] = [];
  for (let index = 0; index < 5; index += 1) {
    const { orderNumber, handle } = await startOrder(service, merchant);
    const [webhook] = await merchant.receiver.until(
      1,
      ({ body }) => body.data['order_number'] === orderNumber,
    );
    const { events } = await handle.fetchHistory();
    const started = events?.find(({ workflowTaskStartedEventAttributes: task }) => task);
    const { seconds, nanos } = started!.eventTime!;
    delays.push((webhook?.at ?? Infinity) - Number(seconds) * 1000 - Number(nanos) / 1e6);
  }
  return delays;
}

test('with 200 endpoints that never respond, a healthy one gets its first attempts at most a second later than without', async ({
  service,
  endpoint,
}) => {
  const { held, urlAt } = endpoint;
  const healthy = await service.newMerchant();
  const aloneMs = await firstAttemptDelays(service, healthy);
  const merchants = await Promise.all(
    Array.from({ length: DEAD_ENDPOINTS }, (_, index) =>
      merchantWithEndpoint(service, urlAt(`127.0.7.${index + 1}`)),
    ),
  );
  for (let round = 0; round < ORDERS_EACH; round += 1) {
    await Promise.all(merchants.map((merchant) => startOrder(service, merchant)));
  }
  await until(() => held.length > DEAD_ENDPOINTS);

  // If they blocked it, each first attempt would wait until some of theirs end, after 15 s. The median
  // and five times the delays without them allow for a slow machine.
  const allowedMs = WITHIN_MS + 5 * Math.max(...aloneMs);
  const delaysMs = (await firstAttemptDelays(service, healthy)).toSorted((a, b) => a - b);
  expect(delaysMs[Math.floor(delaysMs.length / 2)]).toBeLessThan(allowedMs);
  expect(held.filter((socket) => !socket.destroyed).length).toBeGreaterThan(HANGING_AT_LEAST);
});
