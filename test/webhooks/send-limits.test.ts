import { expect } from 'vitest';
import type { SendKind } from '../../src/merchants/send-limits.ts';
import { admitSend } from '../../src/merchants/send-limits.ts';
import { sendTestEvent } from '../../src/webhooks/endpoints/test-event.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { auditOf } from '../support/audit.ts';
import { ordersOf } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from '../dashboard/browsing.ts';

const test = serviceTest({ time: 'real' });

const AT = '/dashboard/sandbox';
const TOO_MANY = { code: 'TOO_MANY_REQUESTS' };

const aTestEvent = (service: TestService, merchantId: string) =>
  sendTestEvent({ ...service.deps, actor: TEST_ACTOR }, merchantId, 'sandbox');

/** Uses up what a merchant may send, all of it `secondsAgo`. */
const useUp = ({ sql }: TestService, merchantId: string, kind: SendKind, secondsAgo = 0) => sql`
  INSERT INTO merchant_sends (merchant_id, kind, sent_at)
  VALUES (${merchantId}, ${kind},
    array_fill(service_now() - ${secondsAgo} * interval '1 second', ARRAY[1000]))`;

async function aShop(service: TestService) {
  const merchant = await service.newMerchant();
  const user = await merchantUser(service.sql, merchant.merchantId);
  return { ...merchant, owner: browserOf(service.origin, user) };
}

test('a merchant that has never applied has the service call no URL', async ({ service }) => {
  const { merchantId, receiver, owner } = await aShop(service);
  const setStatus = (status: string, submissions: number) => service.sql`
    UPDATE merchants SET status = ${status}, submissions = ${submissions}
    WHERE merchant_id = ${merchantId}`;
  for (const status of ['PENDING', 'REJECTED']) {
    await setStatus(status, 0);
    const refused = await owner.post(`${AT}/webhooks/test`, { event: 'TEST' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('once you have submitted your application');
  }
  expect(receiver.received).toEqual([]);
  await setStatus('PENDING', 1);
  expect((await owner.post(`${AT}/webhooks/test`, { event: 'TEST' })).status).toBe(200);
  expect(receiver.received).toHaveLength(1);
});

test('test events have a limit for each merchant, in both environments together', async ({
  service,
}) => {
  const { merchantId, receiver, owner } = await aShop(service);
  const other = await aShop(service);
  await aTestEvent(service, merchantId);
  // Of calls at the same moment, only as many are admitted as are left.
  const calls = Array.from({ length: 40 }, () => admitSend(service.sql, merchantId, 'test_event'));
  const admitted = (await Promise.allSettled(calls)).filter(({ status }) => status === 'fulfilled');
  expect(admitted).toHaveLength(29);

  await expect(aTestEvent(service, merchantId)).rejects.toMatchObject(TOO_MANY);
  for (const environment of ['sandbox', 'production']) {
    const refused = await owner.post(`/dashboard/${environment}/webhooks/test`, { event: 'TEST' });
    expect(refused.status).toBe(429);
    expect(refused.body).toContain('at most 30 test events in an hour');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect(receiver.received).toHaveLength(1);
  expect(await aTestEvent(service, other.merchantId)).toMatchObject({ delivered: true });

  // An hour after the first of them, one more is free.
  await service.sql`
    UPDATE merchant_sends SET sent_at[1] = service_now() - interval '1 hour'
    WHERE merchant_id = ${merchantId}`;
  expect(await aTestEvent(service, merchantId)).toMatchObject({ delivered: true });
  await expect(aTestEvent(service, merchantId)).rejects.toMatchObject(TOO_MANY);
});

test('an event is sent again by hand so often and no more, by the API and the page', async ({
  service,
}) => {
  const shop = await aShop(service);
  const { merchantId, sandbox, owner } = shop;
  await ordersOf(service, shop).in('ACCEPTED');
  const [row] = await service.sql<{ eventId: string; deliveryId: string }[]>`
    SELECT event_id, delivery_id FROM webhook_deliveries WHERE merchant_id = ${merchantId}`;
  await useUp(service, merchantId, 'webhook_retry');
  const refused = await sandbox.call('POST', `/events/${row?.eventId}/resend`);
  expect(refused.status).toBe(429);
  expect(refused.body).toEqual({
    error: 'Too many requests: at most 300 webhooks sent again one by one in 10 minutes',
  });
  expect(refused.headers.get('x-error-code')).toBe('TOO_MANY_REQUESTS');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const page = await owner.post(`${AT}/deliveries/${row?.deliveryId}/resend`);
  expect(page.status).toBe(429);
  const actions = (await auditOf(service.sql, merchantId)).map(({ action }) => action);
  expect(actions).not.toContain('delivery.retry');
});

test.for<[kind: SendKind, path: string, fields: Record<string, string>]>([
  ['webhook_resend', '/deliveries/resend-since', { 'resend-since': '2026-01-01T00:00' }],
  ['webhook_url', '/webhooks', { url: 'https://1.1.1.1/hooks' }],
])('%s is limited until its time is over: %s', async ([kind, path, fields], { service }) => {
  const { merchantId, owner } = await aShop(service);
  await useUp(service, merchantId, kind);
  expect((await owner.post(AT + path, fields)).status).toBe(429);
  await service.sql`DELETE FROM merchant_sends WHERE merchant_id = ${merchantId}`;
  await useUp(service, merchantId, kind, 3600);
  expect((await owner.post(AT + path, fields)).status).toBe(303);
});

test('an act that a mail reports is limited, so that nobody is flooded with mails', async ({
  service,
}) => {
  const { merchantId, owner } = await aShop(service);
  await useUp(service, merchantId, 'noticed_act');
  expect((await owner.post('/dashboard/production/keys/rotate')).status).toBe(429);
  expect((await owner.post(`${AT}/keys/rotate`)).status).toBe(200);
});
