import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { WEBHOOK_EVENTS } from '../../src/orders/webhook-events.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

/** As much of an OpenAPI document as is looked at here. */
interface OpenApi {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, { operationId: string; responses: object }>>;
  webhooks: Record<string, { post: { parameters: { name: string; required: boolean }[] } }>;
  components: { schemas: Record<string, object> };
}

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;
let document: OpenApi;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant();
  const response = await fetch(`${service.origin}/openapi.json`);
  document = (await response.json()) as OpenApi;
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

test('the document has every operation of the contract, relative to the two base paths', () => {
  const { openapi, servers, paths } = document;
  expect(openapi).toBe('3.1.0');
  expect(servers.map(({ url }) => url)).toEqual(['/sandbox/api/merchant/v1', '/api/merchant/v1']);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    ['get', 'post']
      .filter((method) => methods[method])
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.sort()).toEqual(
    [
      'GET /orders',
      'POST /orders',
      'GET /orders/{id}',
      'GET /orders/{id}/timeline',
      'POST /orders/{id}/deliver',
      'POST /orders/{id}/cancel',
      'POST /orders/{id}/dispute/evidence',
      'POST /orders/{id}/dispute/resolve',
      'POST /orders/{id}/dispute/accept',
      'POST /orders/{id}/payment-sessions',
      'GET /orders/{id}/payment-sessions/{session}',
      'POST /test-helpers/orders/{id}/pay',
      'POST /test-helpers/orders/{id}/fail-payment',
      'POST /test-helpers/orders/{id}/dispute',
      'POST /test-helpers/orders/{id}/advance',
    ].sort(),
  );
});

test('every operation documents what every operation can answer', () => {
  for (const methods of Object.values(document.paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      if (operationId === undefined) continue;
      const statuses = Object.keys(responses);
      expect([operationId, ...statuses]).toEqual(
        expect.arrayContaining([operationId, '400', '401', '403', '413', '429', '500']),
      );
    }
  }
});

/** What brings an order, created for it, to send each event. */
const WAYS: Record<string, (order: Order) => Promise<unknown>> = {
  ORDER_CREATED: async () => undefined,
  PAYMENT_SUCCESS: (order) => help(order, 'pay'),
  PAYMENT_FAILED: (order) => help(order, 'fail-payment'),
  ORDER_CANCELLED: (order) => post(order, 'cancel'),
  async DELIVERY_CONFIRMED(order) {
    await help(order, 'pay');
    await post(order, 'deliver');
  },
  async DISPUTE_RAISED(order) {
    await WAYS['DELIVERY_CONFIRMED']?.(order);
    await help(order, 'dispute', { reason: 'It never arrived at my door' });
  },
  async DISPUTE_RESOLVED(order) {
    await WAYS['DISPUTE_RAISED']?.(order);
    await post(order, 'dispute/resolve', { resolution: 'A new one is on its way' });
  },
  async REFUND_PROCESSED(order) {
    await WAYS['DISPUTE_RAISED']?.(order);
    await post(order, 'dispute/accept');
  },
  async ORDER_COMPLETED(order) {
    await WAYS['DELIVERY_CONFIRMED']?.(order);
    await help(order, 'advance', { seconds: 24 * 3600 });
  },
};
const help = (order: Order, helper: string, body?: unknown) =>
  merchant.sandbox.help(order, helper, body);
const post = (order: Order, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${order.order_number}/${path}`, body);

test('the nine events of the specification are in the document', () => {
  expect(Object.keys(document.webhooks)).toEqual(WEBHOOK_EVENTS.map(({ event }) => event));
  expect(Object.keys(document.webhooks).sort()).toEqual(Object.keys(WAYS).sort());
});

test.each(WEBHOOK_EVENTS)(
  'a $event that was sent is what the document says, to the last field and header',
  async ({ event, payload, headers }) => {
    const order = await merchant.sandbox.create({ merchantOrderId: 'shop-1', buyerName: 'Asha' });
    await WAYS[event]?.(order);
    const [webhook] = await merchant.receiver.until(
      1,
      (one) => one.event === event && one.body.data['order_number'] === order.order_number,
    );
    expect(payload.parse(webhook?.body)).toEqual(webhook?.body);
    const required = document.webhooks[event]?.post.parameters.map(({ name }) => name) ?? [];
    const sent = Object.fromEntries(
      required.map((name) => [name, webhook?.headers[name.toLowerCase()]]),
    );
    expect(required).toEqual(Object.keys(headers.shape));
    expect(headers.parse(sent)).toEqual(sent);
  },
);

test('the order in a webhook and in an answer is one and the same schema', () => {
  const { schemas } = document.components;
  const references = JSON.stringify(document).match(/#\/components\/schemas\/Order"/g) ?? [];
  expect(schemas).toHaveProperty('Order');
  expect(references.length).toBeGreaterThan(WEBHOOK_EVENTS.length);
  expect(z.object({ required: z.array(z.string()) }).parse(schemas['Order']).required).toEqual(
    expect.arrayContaining([
      'order_number',
      'amount',
      'currency',
      'status',
      'dispute_count',
      'buyer',
    ]),
  );
});
