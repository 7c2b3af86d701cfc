import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { paiseFromRupees } from '../../src/domain/index.ts';
import { createOpenApiDocument } from '../../src/docs/openapi/openapi.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { createOrderSchema } from '../../src/orders/schemas.ts';
import { WEBHOOK_EVENTS } from '../../src/orders/routes/webhook-events.ts';
import type { ClientCommand } from '../support/command-requests.ts';
import { ask, ORDER_POSTS } from '../support/command-requests.ts';
import { serviceTest } from '../support/service-test.ts';

type Schema = Record<string, unknown>;
interface Media {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
interface Body {
  requestBody?: { content: { 'application/json': Media } };
}
interface Answer {
  content: { 'application/json': Media };
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
}
interface Operation extends Body {
  operationId: string;
  tags: string[];
  parameters: { name: string; in: string; schema: Schema }[];
  responses: Record<string, Answer>;
}

/** The parts of an OpenAPI document that these tests read. */
interface OpenApi {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Body & { parameters: { name: string; required: boolean }[] } }>;
  components: { schemas: Record<string, { properties: Record<string, Schema> }> };
}

const test = serviceTest({ time: 'real' }).extend(
  'document',
  { scope: 'file' },
  async ({ service }) => (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi,
);

test('the document has every operation of the contract, relative to the two base paths', ({
  document,
}) => {
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
      ...new Set(ORDER_POSTS.map(({ path }) => `POST ${path}`)),
      'GET /orders',
      'GET /orders/{id}',
      'GET /orders/{id}/timeline',
      'GET /orders/{id}/payment-sessions/{session}',
      'GET /events',
      'GET /events/{id}',
      'POST /events/{id}/resend',
      'GET /statements/{date}',
      'POST /test-helpers/fail-after-work',
    ].sort(),
  );
});

/** Statuses that every operation can return; some are returned before a route is chosen. */
const ALWAYS_POSSIBLE = ['400', '401', '403', '405', '408', '413', '429', '431', '500'];

test('every operation documents the responses that all operations share', ({ document }) => {
  for (const methods of Object.values(document.paths)) {
    for (const { operationId, responses } of Object.values(methods)) {
      if (operationId === undefined) continue;
      const statuses = Object.keys(responses);
      expect([operationId, ...statuses]).toEqual(
        expect.arrayContaining([operationId, ...ALWAYS_POSSIBLE]),
      );
    }
  }
});

/** The commands that make a new order send each event; the clock is moved to the end of the window. */
const WAYS: Record<string, readonly ClientCommand[]> = {
  ORDER_CREATED: [],
  PAYMENT_SUCCESS: ['pay'],
  PAYMENT_FAILED: ['failPayment'],
  ORDER_CANCELLED: ['cancel'],
  DELIVERY_CONFIRMED: ['pay', 'deliver'],
  DISPUTE_RAISED: ['pay', 'deliver', 'dispute'],
  DISPUTE_RESOLVED: ['pay', 'deliver', 'dispute', 'resolve'],
  REFUND_PROCESSED: ['pay', 'deliver', 'dispute', 'accept'],
  ORDER_COMPLETED: ['pay', 'deliver', 'advance'],
};

test('the nine events of the specification are in the document', ({ document }) => {
  expect(Object.keys(document.webhooks)).toEqual(WEBHOOK_EVENTS.map(({ event }) => event));
  expect(Object.keys(document.webhooks).sort()).toEqual(Object.keys(WAYS).sort());
});

test.for(WEBHOOK_EVENTS)(
  'a sent $event has exactly the documented fields and headers',
  async ({ event, payload, headers }, { merchant, document }) => {
    const order = await merchant.sandbox.create({ merchantOrderId: 'shop-1', buyerName: 'Asha' });
    for (const command of WAYS[event]!) {
      const body = command === 'advance' ? { seconds: 24 * 3600 } : undefined;
      await ask(merchant.sandbox, command, order, body && { body });
    }
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

test('the order in a webhook and in a response has the same schema', ({ document }) => {
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

const operations = (document: OpenApi) =>
  Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).filter(({ operationId }) => operationId !== undefined),
  );

/** A client that has only a part of the document. */
function readerOf(document: OpenApi, schema: Schema) {
  const whole = { ...schema, $defs: document.components.schemas };
  const local = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/');
  return z.fromJSONSchema(JSON.parse(local));
}

/** JSON Schema as validators implement it: `multipleOf` divides in floating point. */
const accepts = (schema: Schema, amount: number) =>
  Object.entries(schema).every(([keyword, limit]) => {
    switch (keyword) {
      case 'type':
        return limit === 'number';
      case 'minimum':
        return amount >= Number(limit);
      case 'maximum':
        return amount <= Number(limit);
      case 'multipleOf':
        return Number.isInteger(amount / Number(limit));
      case 'description':
      case 'example':
      case 'format':
        return true;
      default:
        throw new Error(`This test does not know ${keyword}`);
    }
  });

test('every amount from 5.00 to 10000.00 with two decimals is valid by the document and for the service', ({
  document,
}) => {
  const schema = document.components.schemas['CreateOrder']?.properties['amount'] ?? {};
  const refused: string[] = [];
  for (let paise = 500; paise <= 1_000_000; paise += 1) {
    const written = `${Math.floor(paise / 100)}.${String(paise % 100).padStart(2, '0')}`;
    const amount = Number(written);
    if (!accepts(schema, amount) || paiseFromRupees(amount) !== paise) refused.push(written);
  }
  expect(refused).toEqual([]);
  expect(createOrderSchema.shape.amount.safeParse(8.29).success).toBe(true);
  for (const amount of [4.99, 10_000.01]) expect(accepts(schema, amount)).toBe(false);
  expect(schema['description']).toContain('at most two decimals');
});

test('only amounts of money are numbers with a fraction; everything that is counted is an integer', ({
  document,
}) => {
  const places = new Set<string>();
  const visit = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('type' in value && value.type === 'number') places.add(place);
    for (const [name, inner] of Object.entries(value)) {
      visit(inner, /^(anyOf|oneOf|\d+)$/.test(name) ? place : name);
    }
  };
  visit(document, '');
  expect([...places].toSorted()).toEqual([
    'amount',
    'closing_balance',
    'credit',
    'debit',
    'opening_balance',
    'reversed_amount',
  ]);
  expect(document.components.schemas['ValidationError']?.properties['status']).toMatchObject({
    type: 'integer',
    const: 400,
  });
});

test('every pattern in the document compiles with and without the u flag, and means the same', ({
  document,
}) => {
  const patterns = new Set(
    [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\\\]|\\\\.)*")/g)].map(
      ([, literal = '""']) => JSON.parse(literal) as string,
    ),
  );
  expect(patterns.size).toBeGreaterThan(4);
  for (const pattern of patterns) {
    const [withFlag, without] = [new RegExp(pattern, 'u'), new RegExp(pattern)];
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 6 }), (text) => {
        expect([text, without.test(text)]).toEqual([text, withFlag.test(text)]);
      }),
    );
    for (const text of ['', ' ', '\u3000', '😀', ' 😀', '\0', 'नीला कुर्ता', 'asha@example.com']) {
      expect([pattern, text, without.test(text)]).toEqual([pattern, text, withFlag.test(text)]);
    }
  }
});

describe('examples', () => {
  test('every body and every response has one, and it is valid by the document', ({ document }) => {
    for (const { operationId, requestBody, responses } of operations(document)) {
      const bodies = requestBody ? [['body', requestBody] as const] : [];
      for (const [place, { content }] of [...bodies, ...Object.entries(responses)]) {
        const { schema, example, examples = {} } = content['application/json'];
        const given = [
          ...(example === undefined ? [] : [example]),
          ...Object.values(examples).map(({ value }) => value),
        ];
        expect([operationId, place, given.length > 0]).toEqual([operationId, place, true]);
        for (const value of given) expect(readerOf(document, schema).parse(value)).toEqual(value);
      }
    }
  });

  test('all describe one order, with times in their order', ({ document }) => {
    const numbers = new Set<string>();
    for (const [event, { post: webhook }] of Object.entries(document.webhooks)) {
      const { schema, example } = webhook.requestBody!.content['application/json'];
      const body = example as { event: string; timestamp: string; data: Order };
      expect(readerOf(document, schema).parse(body)).toEqual(body);
      expect(body.event).toBe(event);
      expect(body.timestamp).toBe(body.data.updated_at);
      expect(body.data.created_at <= body.data.updated_at).toBe(true);
      numbers.add(body.data.order_number);
    }
    expect(numbers.size).toBe(1);
  });

  test('contain no distant year and no maximum integer of JavaScript', ({ document }) => {
    const text = JSON.stringify(document);
    expect(text).not.toContain('9007199254740991');
    const years = [...text.matchAll(/"(\d{4})-\d\d-\d\dT/g)].map(([, year]) => year);
    expect(new Set(years)).toEqual(new Set(['2026']));
  });

  test('of a command’s response have the service’s message', async ({ merchant, document }) => {
    const order = await merchant.sandbox.create();
    const { body } = await ask(merchant.sandbox, 'pay', order);
    const pay = operations(document).find(({ operationId }) => operationId === 'testPay');
    const example = pay?.responses['200']?.content['application/json'].example;
    expect(example).toMatchObject({ success: true, message: body.message });
    expect(Object.keys((example as { data: Order }).data)).toEqual(
      expect.arrayContaining(Object.keys(body.data).filter((key) => key !== 'merchant_order_id')),
    );
  });
});

describe('links', () => {
  test('lead from a new order to all of its operations, each with its own parameters', ({
    document,
  }) => {
    const known = new Map(
      operations(document).map((operation) => [operation.operationId, operation]),
    );
    const created = known.get('createOrder')?.responses['201']?.links ?? {};
    const ofOneOrder = [...known.values()].filter(
      ({ parameters, tags }) =>
        !tags.includes('Events') &&
        parameters
          .filter((parameter) => parameter.in === 'path')
          .map(({ name }) => name)
          .join() === 'id',
    );
    expect(Object.keys(created).sort()).toEqual(
      ofOneOrder.map(({ operationId }) => operationId).sort(),
    );
    for (const { responses } of known.values()) {
      for (const { links = {} } of Object.values(responses)) {
        for (const { operationId, parameters } of Object.values(links)) {
          const inPath = known
            .get(operationId)
            ?.parameters.filter((parameter) => parameter.in === 'path');
          expect(Object.keys(parameters)).toEqual(inPath?.map(({ name }) => name));
        }
      }
    }
  });

  test('to an operation that does not exist prevent the start', () => {
    const notes = { createOrder: { next: [{ operationId: 'no-such', parameters: {} }] } };
    const options = { routes: [], webhooks: [], version: '2026-11-20', supportedVersions: [] };
    const texts = { title: '', description: '', contact: { name: '', url: '' } };
    expect(() => createOpenApiDocument({ ...options, ...texts, notes })).toThrow('createOrder');
  });
});

test('the sample receiver in the guide accepts the service’s webhooks and nothing else', async ({
  merchant,
  service,
}) => {
  const chapter = await (await fetch(`${service.origin}/docs/guides/webhooks.md`)).text();
  const source = /```js\n([\s\S]*?)```/.exec(chapter)?.[1] ?? '';
  const sample = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    isGenuine(headers: Record<string, string>, rawBody: string, secret: string): boolean;
  };
  const order = await merchant.sandbox.create();
  const [webhook] = await merchant.receiver.until(
    1,
    (one) => one.body.data['order_number'] === order.order_number,
  );
  const { headers, rawBody } = webhook as unknown as {
    headers: Record<string, string>;
    rawBody: string;
  };
  const secret = merchant.webhookSecret;
  expect(sample.isGenuine(headers, rawBody, secret)).toBe(true);
  expect(sample.isGenuine(headers, `${rawBody} `, secret)).toBe(false);
  expect(sample.isGenuine(headers, rawBody, 'whsec_another')).toBe(false);
  expect(sample.isGenuine({}, rawBody, secret)).toBe(false);
  const signedAt = (timestamp: string) => ({
    'x-service-timestamp': timestamp,
    'x-service-signature': createHmac('sha256', secret)
      .update(`${timestamp}.${rawBody}`)
      .digest('hex'),
  });
  const believes = (seconds: number) =>
    sample.isGenuine(signedAt(String(Math.floor(Date.now() / 1000) + seconds)), rawBody, secret);
  expect([-310, -290, 0, 290, 310].map(believes)).toEqual([false, true, true, true, false]);
  expect(sample.isGenuine(signedAt('now'), rawBody, secret)).toBe(false);
});
