import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import { EVENT_TYPES } from '../../src/domain/index.ts';
import { findEndpoint } from '../../src/webhooks/endpoints/endpoints.ts';
import { attemptScheduled } from '../../src/webhooks/schedule/leased-attempts.ts';
import { auditOf } from '../support/audit.ts';
import { writeOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { merchantUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', worker: false });

const SECRET = /whsec_[0-9A-Za-z]{36}/;
const PAGE = '/dashboard/sandbox/webhooks';

/** A merchant without a URL, and the browser of its user. */
async function newShop(service: TestService, webhooks = false) {
  const merchant = await service.newMerchant({ webhooks });
  const user = await merchantUser(service.sql, merchant.merchantId);
  return { merchant, owner: browserOf(service.origin, user) };
}

describe('the webhook URL', () => {
  test('gets a secret at the first save, which is shown once and signs what is sent', async ({
    service,
  }) => {
    const { merchant, owner } = await newShop(service);
    expect((await owner.get(PAGE)).body).toContain('No webhooks are sent');
    const saved = await owner.post(PAGE, { url: merchant.receiver.url });
    expect(saved.status).toBe(200);
    expect(saved.headers.get('cache-control')).toBe('no-store');
    const [secret = ''] = SECRET.exec(saved.body) ?? [];
    const shown = await owner.get(PAGE);
    expect(shown.body).toContain(merchant.receiver.url);
    expect(shown.body).not.toMatch(SECRET);

    await owner.post(`${PAGE}/test`, { event: 'TEST' });
    const [{ headers, rawBody } = { headers: undefined, rawBody: '' }] = merchant.receiver.received;
    const signed = `${String(headers?.['x-service-timestamp'])}.${rawBody}`;
    const signature = createHmac('sha256', secret).update(signed).digest('hex');
    expect(headers?.['x-service-signature']).toBe(signature);

    const changed = await owner.post(PAGE, { url: `${merchant.receiver.url}/2` });
    expect(changed).toMatchObject({ status: 303, location: `${PAGE}?done=url` });
    const actions = (await auditOf(service.sql, merchant.merchantId)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'webhook.set')).toHaveLength(2);
  });

  test.for([
    ['sandbox', 'http://10.0.0.1/hook', 'must not point to the address 10.0.0.1'],
    ['sandbox', 'http://db.internal/', 'must not point to a local or internal host name'],
    ['production', 'http://shop.example/hook', 'must use https in production'],
    ['production', 'no URL', 'The webhook URL'],
  ] as const)(
    'in %s, %s is refused at its field: %s',
    async ([environment, url, reason], { owner }) => {
      const refused = await owner.post(`/dashboard/${environment}/webhooks`, { url });
      expect(refused.status).toBe(400);
      expect(refused.body).toMatch(
        new RegExp(`value="${url}"[^]*id="url-violation">[^<]*${reason.replaceAll('.', '\\.')}`),
      );
    },
  );

  test('whose name does not resolve is saved with a warning', async ({ service }) => {
    const { owner } = await newShop(service);
    const url = 'https://no-such-host.invalid/hooks';
    const saved = await owner.post(PAGE, { url });
    expect(saved.body).toContain('cannot be resolved now');
    const again = await owner.post(PAGE, { url });
    expect(again.location).toBe(`${PAGE}?done=unresolved`);
    expect((await owner.get(`${PAGE}?done=unresolved`)).body).toContain('cannot be resolved now');
  });

  test('is removed and its secret replaced after a question that says what happens', async ({
    service,
  }) => {
    const { merchant, owner } = await newShop(service, true);
    const question = await owner.get('/dashboard/production/webhooks/rotate-secret');
    expect(question.body).toContain('The old secret stops working at once');
    expect(question.body).toContain('This is production');
    const rotated = await owner.post(`${PAGE}/rotate-secret`);
    expect(rotated.body).toMatch(SECRET);
    expect(rotated.body).not.toContain(merchant.webhookSecret);
    expect((await owner.get(`${PAGE}/remove`)).body).toContain('No more events are sent');
    expect((await owner.post(`${PAGE}/remove`)).location).toBe(`${PAGE}?done=removed`);
    const endpoint = await findEndpoint(service.sql, merchant.merchantId, 'sandbox');
    expect(endpoint).toMatchObject({ url: null, hasSecret: true });
    const refused = await owner.post(`${PAGE}/test`, { event: 'TEST' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('No webhook URL is configured in sandbox');
  });
});

describe('a test event', () => {
  test('in the sandbox is any of the nine, and its result is shown', async ({ service }) => {
    const { merchant, owner } = await newShop(service, true);
    const { body } = await owner.get(PAGE);
    for (const type of ['TEST', ...EVENT_TYPES]) expect(body).toContain(`<option value="${type}"`);
    const accepted = await owner.post(`${PAGE}/test`, { event: 'DISPUTE_RAISED' });
    expect(accepted.body).toContain('Your server has accepted DISPUTE_RAISED');
    merchant.receiver.answerWith(() => 418);
    const refused = await owner.post(`${PAGE}/test`, { event: 'TEST' });
    expect(refused.body).toContain('Your server has not accepted TEST: answered 418');
    expect(merchant.receiver.received.map(({ event }) => event)).toEqual([
      'DISPUTE_RAISED',
      'TEST',
    ]);
  });

  test('in production is only TEST', async ({ service }) => {
    const { merchant, owner } = await newShop(service, true);
    const page = '/dashboard/production/webhooks';
    await owner.post(page, { url: 'https://no-such-host.invalid/hooks' });
    const { body } = await owner.get(page);
    expect(body).toContain('only the event TEST can be sent');
    expect(body).not.toContain('PAYMENT_SUCCESS');
    const refused = await owner.post(`${page}/test`, { event: 'PAYMENT_SUCCESS' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('In production, no test event PAYMENT_SUCCESS can be sent');
    const failed = await owner.post(`${page}/test`, { event: 'TEST' });
    expect(failed.body).toContain('Your server has not accepted TEST');
    expect(merchant.receiver.received).toEqual([]);
  });
});

test('the page shows the figures of 24 hours, and since when the endpoint fails', async ({
  service,
}) => {
  const { merchant, owner } = await newShop(service, true);
  const attemptAt = async (status: number) => {
    merchant.receiver.answerWith(() => status);
    const { orderNumber } = await writeOrder(service, merchant);
    const [row] = await service.sql<{ deliveryId: string }[]>`
      SELECT delivery_id FROM webhook_deliveries JOIN order_events USING (event_id)
      WHERE order_number = ${orderNumber}`;
    await attemptScheduled(service.deps, row?.deliveryId ?? '');
  };
  expect((await owner.get(PAGE)).body).toContain('No webhook was sent in the last 24 hours');
  await attemptAt(200);
  await attemptAt(200);
  const { body } = await owner.get(PAGE);
  expect(body).toMatch(/Attempts<\/dt><dd>2<[^]*Accepted<\/dt><dd>100%/);
  expect(body).toContain('The last hour: 2 accepted, 0 failed');
  expect(body).not.toContain('Failing since');
  await attemptAt(500);
  const failing = await owner.get(PAGE);
  expect(failing.body).toMatch(/Accepted<\/dt><dd>66\.6%/);
  expect(failing.body).toContain('Failing since');
  expect(failing.body).toContain('The last hour: 2 accepted, 1 failed');
  const home = '/dashboard/sandbox';
  expect((await owner.get(home)).body).toContain('Your server has accepted no webhook since');
});
