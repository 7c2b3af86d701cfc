import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { sendTestEvent } from '../../src/webhooks/endpoints/test-event.ts';
import { findAttempt, findMerchantDelivery } from '../../src/webhooks/lists/merchant-delivery.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real' });

async function firstWebhook(service: TestService) {
  const merchant = await service.newMerchant();
  await merchant.sandbox.create();
  const [received] = await merchant.receiver.until(1);
  return { merchant, received: received! };
}

const textHeaders = (headers: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

test('the official library of Standard Webhooks verifies the bytes of a webhook', async ({
  service,
}) => {
  const { merchant, received } = await firstWebhook(service);
  const { rawBody, headers } = received;
  const webhook = new Webhook(merchant.webhookSecret);
  expect(webhook.verify(rawBody, textHeaders(headers))).toMatchObject({ event: 'ORDER_CREATED' });
  expect(headers['webhook-id']).toBe(received.body.event_id);
  expect(headers['webhook-timestamp']).toBe(headers['x-service-timestamp']);
  const forged = rawBody.replace('ACCEPTED', 'REFUNDED');
  expect(() => webhook.verify(forged, textHeaders(headers))).toThrow('No matching signature');
  const other = new Webhook(`whsec_${'A'.repeat(36)}`);
  expect(() => other.verify(rawBody, textHeaders(headers))).toThrow('No matching signature');
});

test('a recorded attempt has the headers that were sent, and one of an earlier release has none of them', async ({
  service,
}) => {
  const { merchant, received } = await firstWebhook(service);
  const owner = { merchantId: merchant.merchantId, environment: 'sandbox' } as const;
  const [{ deliveryId } = { deliveryId: '' }] = await service.sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries WHERE event_id = ${received.body.event_id}`;
  const read = async () => {
    const delivery = await findMerchantDelivery(service.sql, owner, deliveryId);
    return (
      delivery.attempts[0] && findAttempt(service.sql, delivery, delivery.attempts[0].attemptId)
    );
  };
  const { request } = await until(read);
  const headers = Object.fromEntries(request?.headers ?? []);
  expect(new Webhook(merchant.webhookSecret).verify(request?.body ?? '', headers)).toBeDefined();
  expect(headers['webhook-signature']).toBe(received.headers['webhook-signature']);
  await service.sql`
    UPDATE webhook_attempts SET standard_signature = NULL WHERE delivery_id = ${deliveryId}`;
  const earlier = (await read())?.request?.headers.map(([name]) => name);
  expect(earlier?.filter((name) => name.startsWith('webhook-'))).toEqual([]);
});

test('a TEST event exposes receivers that verify a serialised copy of the body', async ({
  service,
}) => {
  const merchant = await service.newMerchant();
  const deps = { ...service.deps, actor: TEST_ACTOR };
  expect(await sendTestEvent(deps, merchant.merchantId, 'sandbox')).toMatchObject({
    delivered: true,
  });
  const [received] = merchant.receiver.received;
  const { rawBody = '', headers = {}, body } = received ?? {};
  for (const part of ['{ "event" : "TEST",  ', '"amount": 499.50,', String.raw`https:\/\/`]) {
    expect(rawBody).toContain(part);
  }
  expect(rawBody).toMatch(/\p{Script=Devanagari}/u);
  expect(body).toMatchObject({ sequence: 0, data: { amount: 499.5, status: 'ACCEPTED' } });
  const webhook = new Webhook(merchant.webhookSecret);
  expect(webhook.verify(rawBody, textHeaders(headers))).toEqual(body);
  const copy = JSON.stringify(JSON.parse(rawBody));
  expect(() => webhook.verify(copy, textHeaders(headers))).toThrow('No matching signature');
});
