import { env } from 'node:process';
import { deadEndpointTest, merchantWithEndpoint } from '../support/dead-endpoint.ts';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const DEAD_ENDPOINTS = 200;
const ORDERS_EACH = Number(env['LOAD_DEAD_ORDERS'] ?? 1);
/** Attempts hang for 15 s: how many hang at the same time depends on how fast orders can be started. */
const HANGING_AT_LEAST = 50;
const HEALTHY_ORDERS = 5;

const test = deadEndpointTest();

/** Starts an order, and waits for its first webhook. */
async function firstAttempt(service: TestService, merchant: Merchant): Promise<void> {
  const { orderNumber } = await startOrder(service, merchant);
  await merchant.receiver.until(1, ({ body }) => body.data['order_number'] === orderNumber);
}

test('with 200 endpoints that never respond, a healthy one gets its first attempts while theirs hang', async ({
  service,
  endpoint,
}) => {
  const { held, urlAt } = endpoint;
  const healthy = await service.newMerchant();
  const merchants = await Promise.all(
    Array.from({ length: DEAD_ENDPOINTS }, (_, index) =>
      merchantWithEndpoint(service, urlAt(`127.0.7.${index + 1}`)),
    ),
  );
  const open = () => held.filter((socket) => !socket.destroyed);
  /** Whether the healthy endpoint gets its first attempts while more than half of the hanging ones still hang. */
  const passesThem = async () => {
    for (let round = 0; round < ORDERS_EACH; round += 1) {
      await Promise.all(merchants.map((merchant) => startOrder(service, merchant)));
    }
    await until(() => open().length > HANGING_AT_LEAST);
    const hanging = open();
    await Promise.all(Array.from({ length: HEALTHY_ORDERS }, () => firstAttempt(service, healthy)));
    return hanging.filter((socket) => !socket.destroyed).length > hanging.length / 2;
  };
  // If they blocked it, its first attempts would wait for the end of theirs in every round. A machine that needs
  // longer than their 15 s for these orders has shown nothing, and tries again.
  await until(passesThem);
});
