import { describe, expect } from 'vitest';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { setOrigins } from '../../src/merchants/origins.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { ApiClient } from '../support/api-client.ts';
import { anOrder } from '../support/api-client.ts';
import { startApiInstance, startLimitedApi } from '../support/api-instance.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import {
  expectRefusal,
  expectSuccess,
  expectTooManyRequests,
  expectViolations,
} from './expectations.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'api',
  { scope: 'file' },
  ({ merchant }) => merchant.sandbox,
);

const UNKNOWN = 'ORD01ARZ3NDEKTSV4RRFFQ69G5FAV';
const NOT_YOURS = 'Access denied: this order does not belong to your merchant account';
const anotherMerchant = (service: TestService) => service.newMerchant({ webhooks: false });
const admin = (service: TestService) => ({ sql: service.sql, actor: TEST_ACTOR });

async function openSession(api: ApiClient): Promise<{ order: string; session: string }> {
  const order = await api.create();
  const path = `/orders/${order.order_number}/payment-sessions`;
  const { body } = await api.call<{ session_id: string }>('POST', path);
  return { order: order.order_number, session: body.data.session_id };
}

describe('status codes of the specification', () => {
  test('200 OK · Request succeeded', async ({ api }) => {
    const { order_number: orderNumber } = await api.create();
    expectSuccess(await api.get('/orders'), 200);
    expectSuccess(await api.get(`/orders/${orderNumber}`), 200);
    expectSuccess(await api.post(`/orders/${orderNumber}/cancel`), 200);
  });

  test('201 Created · Order created', async ({ api }) => {
    const answer = await api.post('/orders', anOrder({ merchantOrderId: 'shop-42' }));
    expectSuccess(answer, 201);
    expect(answer.body.data).toMatchObject({ status: 'ACCEPTED', merchant_order_id: 'shop-42' });
    expect(answer.headers.get('Idempotency-Key')).toMatch(/^[!-~]{1,255}$/);
  });

  test('400 Bad Request · Validation failed: missing fields', async ({ api }) => {
    expectViolations(await api.post('/orders', {}), {
      amount: 'must be greater than or equal to 5.0',
      buyerEmail: 'must be a valid email address',
      buyerPhone: 'must match "^\\+91[0-9]{10}$"',
      description: 'must not be blank',
    });
  });

  test("400 Bad Request · the order's current status does not allow the operation", async ({
    api,
  }) => {
    const { order_number: orderNumber } = await api.create();
    const answer = await api.post(`/orders/${orderNumber}/deliver`);
    expectRefusal(answer, 400, 'Cannot mark as delivered; order must be in PAID status');
  });

  test('403 Forbidden · Merchant not approved', async ({ service }) => {
    const { merchantId, sandbox } = await anotherMerchant(service);
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    expectRefusal(await sandbox.get('/orders'), 403, 'Merchant must be approved first');
  });

  test('403 Forbidden · Merchant not active', async ({ service }) => {
    const suspended = await anotherMerchant(service);
    await changeMerchantStatus(admin(service), suspended.merchantId, 'suspend');
    expectRefusal(await suspended.sandbox.get('/orders'), 403, 'Merchant account is not active');
  });

  test('403 Forbidden · Order belongs to another merchant', async ({ service, api }) => {
    const order = await (await anotherMerchant(service)).sandbox.create();
    expectRefusal(await api.get(`/orders/${order.order_number}`), 403, NOT_YOURS);
  });

  test('403 Forbidden · Origin not whitelisted', async ({ service }) => {
    const { merchantId, sandbox } = await anotherMerchant(service);
    await setOrigins(admin(service), merchantId, 'sandbox', ['https://shop.example']);
    const headers = { Origin: 'https://evil.example' };
    const answer = await sandbox.call('GET', '/orders', undefined, headers);
    expectRefusal(answer, 403, 'Access denied: Origin not allowed');
  });

  test('404 Not Found · The order number does not exist', async ({ api }) => {
    expectRefusal(await api.get(`/orders/${UNKNOWN}`), 404, `Order not found: ${UNKNOWN}`);
  });

  test('408 Request Timeout · Payment session expired, and the order stays ACCEPTED', async ({
    api,
  }) => {
    const { order, session } = await openSession(api);
    await api.help({ order_number: order }, 'advance', { seconds: 15 * 60 });
    const answer = await api.get(`/orders/${order}/payment-sessions/${session}`);
    expectRefusal(answer, 408, 'Payment session expired');
    expect((await api.get(`/orders/${order}`)).body.data.status).toBe('ACCEPTED');
  });

  test('429 Too Many Requests · Rate limit exceeded', async ({ service, merchant }) => {
    const limited = await startLimitedApi(service, 10);
    const client = limited.as(merchant.keys);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/orders')));
    await limited.stop();
    expectTooManyRequests(answers);
  });

  test('500 Internal Server Error · Server fault, with a message that reveals nothing', async ({
    service,
    merchant,
  }) => {
    const nowhere = 'postgres://nobody:secret@127.0.0.1:1/nothing';
    const broken = await startApiInstance(service, { DATABASE_URL: nowhere });
    const answer = await broken.as(merchant.keys).post('/orders', anOrder());
    await broken.stop();
    expectRefusal(answer, 500, 'Internal server error');
  });

  test('502 Bad Gateway · The UPI payment gateway is temporarily unavailable', async ({
    gateway,
    api,
  }) => {
    const order = await api.create();
    await gateway.addFault({ kind: 'error' });
    const answer = await api.post(`/orders/${order.order_number}/payment-sessions`);
    await gateway.endFaults();
    const message = 'The UPI payment gateway is temporarily unavailable; retry after a few minutes';
    expectRefusal(answer, 502, message);
    const retried = await api.post(`/orders/${order.order_number}/payment-sessions`);
    expectSuccess(retried, 201);
  });
});

describe('messages of the specification', () => {
  test('Order of a different merchant, for every operation', async ({ service, api }) => {
    const { order_number: theirs } = await (await anotherMerchant(service)).sandbox.create();
    const asked = await Promise.all([
      api.get(`/orders/${theirs}`),
      api.get(`/orders/${theirs}/timeline`),
      api.post(`/orders/${theirs}/deliver`),
      api.post(`/orders/${theirs}/cancel`),
      api.post(`/orders/${theirs}/refund`, { reason: 'Sold out' }),
      api.post(`/orders/${theirs}/dispute/evidence`, { text: 'Signed' }),
      api.post(`/orders/${theirs}/dispute/resolve`, { resolution: 'Sent again' }),
      api.post(`/orders/${theirs}/dispute/accept`),
      api.post(`/orders/${theirs}/payment-sessions`),
      api.get(`/orders/${theirs}/payment-sessions/ps_1`),
      api.post(`/test-helpers/orders/${theirs}/pay`),
    ]);
    for (const answer of asked) expectRefusal(answer, 403, NOT_YOURS);
  });

  test('Merchant not approved, for every operation and before the input is validated', async ({
    service,
  }) => {
    const { merchantId, sandbox } = await anotherMerchant(service);
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    const asked = [sandbox.post('/orders', {}), sandbox.get(`/orders/${UNKNOWN}`)];
    for (const answer of await Promise.all(asked)) {
      expectRefusal(answer, 403, 'Merchant must be approved first');
    }
  });

  test('Unknown order, followed by the order number, for every operation', async ({ api }) => {
    for (const id of [UNKNOWN, 'x', 'ORD', '%E2%82%B9', '%00']) {
      const shown = decodeURIComponent(id).replace('\0', '\uFFFD');
      expectRefusal(await api.get(`/orders/${id}`), 404, `Order not found: ${shown}`);
      expectRefusal(await api.post(`/orders/${id}/cancel`), 404, `Order not found: ${shown}`);
    }
  });

  test('an order of the other environment is an unknown order', async ({ merchant, api }) => {
    const order = await api.create();
    const answer = await merchant.production.get(`/orders/${order.order_number}`);
    expectRefusal(answer, 404, `Order not found: ${order.order_number}`);
  });
});
