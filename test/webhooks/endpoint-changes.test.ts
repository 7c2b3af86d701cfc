import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import {
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
} from '../../src/webhooks/endpoints/endpoints.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { serviceTest } from '../support/service-test.ts';
import type { ReceivedWebhook } from '../support/webhook-receiver.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { attemptsOf, deliveriesOf, untilDelivery, untilRefused } from './deliveries.ts';

const FIVE_MINUTES_MS = 301_000;

const test = serviceTest({ time: 'skipping' }).extend(
  'deps',
  { scope: 'file' },
  ({ service: { config, sql, deps } }) => ({
    sql,
    secretBox: deps.secretBox,
    actor: TEST_ACTOR,
    checkUrl: createUrlCheck(config),
  }),
);

function isSignedWith(secret: string, { headers, rawBody }: ReceivedWebhook): boolean {
  const signed = `${String(headers['x-service-timestamp'])}.${rawBody}`;
  const expected = createHmac('sha256', secret).update(signed).digest('hex');
  return headers['x-service-signature'] === expected;
}

test('attempt 2 uses a secret and a URL that were changed after attempt 1', async ({
  service,
  deps,
}) => {
  const { merchantId, receiver, webhookSecret, sandbox } = await service.newMerchant();
  receiver.answerWith(() => 500);
  const { order_number: orderNumber } = await sandbox.create();
  await untilRefused(service, orderNumber, 1);
  const { secret } = await rotateWebhookSecret(deps, merchantId, 'sandbox');
  const moved = await startWebhookReceiver();
  await saveWebhookUrl(deps, merchantId, 'sandbox', moved.url);
  await service.skip(FIVE_MINUTES_MS);
  const delivery = await untilDelivery(service, orderNumber, ({ state }) => state === 'DELIVERED');
  expect(delivery.attempts.map(({ url }) => url)).toEqual([receiver.url, moved.url]);
  const [first] = receiver.received;
  const [second] = moved.received;
  expect(receiver.received).toHaveLength(1);
  expect(first && isSignedWith(webhookSecret, first)).toBe(true);
  expect(second && isSignedWith(secret, second)).toBe(true);
  expect(second && isSignedWith(webhookSecret, second)).toBe(false);
  expect(second?.rawBody).toBe(first?.rawBody);
});

test('a delivery whose URL is removed while it waits is FAILED at its next attempt, which is not made', async ({
  service,
  deps,
}) => {
  const { merchantId, receiver, sandbox } = await service.newMerchant();
  receiver.answerWith(() => 500);
  const { order_number: orderNumber } = await sandbox.create();
  await untilRefused(service, orderNumber, 1);
  await removeWebhookUrl(deps, merchantId, 'sandbox');
  await service.skip(FIVE_MINUTES_MS);
  const delivery = await untilDelivery(service, orderNumber, ({ state }) => state === 'FAILED');
  expect(attemptsOf(delivery)).toEqual(['scheduled 500']);
  expect(delivery.nextAttemptAt).toBeNull();
  expect(receiver.received).toHaveLength(1);
});

test('an event that happens while no URL is configured is in the timeline and never sent', async ({
  service,
  deps,
}) => {
  const { merchantId, receiver, sandbox } = await service.newMerchant();
  const { order_number: orderNumber } = await sandbox.create();
  await receiver.until(1);
  await removeWebhookUrl(deps, merchantId, 'sandbox');
  await sandbox.post(`/orders/${orderNumber}/cancel`);
  await saveWebhookUrl(deps, merchantId, 'sandbox', receiver.url);
  await service.temporal.client.workflow.getHandle(orderNumber).result();
  expect(receiver.received).toHaveLength(1);
  expect(await deliveriesOf(service, orderNumber)).toHaveLength(1);
  const events = await service.sql`SELECT FROM order_events WHERE order_number = ${orderNumber}`;
  expect(events).toHaveLength(2);
});
