import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, test as plainTest } from 'vitest';
import type { Order as ServiceOrder } from '../../src/orders/schemas.ts';
import type { Order, WebhookMistake } from '../../sdk/typescript/src/index.ts';
import {
  createClient,
  formatPaise,
  memoryStore,
  nodeHandler,
  PayordersError,
  signTestEvent,
  toPaise,
  verify,
  webHandler,
  WebhookVerificationError,
} from '../../sdk/typescript/src/index.ts';
import { errorOf } from '../../sdk/typescript/src/errors.ts';
import { faultOfKey } from '../../sdk/typescript/src/settings.ts';
import { retryDelayMs } from '../../sdk/typescript/src/transport.ts';
import { anOrder } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import { served } from './receivers.ts';

interface Vectors {
  webhooks: {
    name: string;
    secrets: string[];
    headers: Record<string, string>;
    body: string;
    nowSeconds: number;
    expect: { eventId?: string; mistake?: WebhookMistake };
  }[];
  money: { rupees: string; paise: number | null }[];
  retryDelays: { retry: number; retryAfter: string | null; leastMs: number; mostMs: number }[];
  errors: {
    name: string;
    status: number;
    headers: Record<string, string>;
    body: string;
    expect: {
      code: string;
      fields: Record<string, string>;
      requestId: string | null;
      isRetryable: boolean;
    };
  }[];
  keys: {
    environment: 'sandbox' | 'production';
    apiKey: string;
    apiSecret: string;
    isAccepted: boolean;
  }[];
}

const vectorsFile = new URL('../../sdk/test-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(vectorsFile, 'utf8')) as Vectors;

plainTest('the Order of the SDK takes every Order of the service', () => {
  expectTypeOf<ServiceOrder>().toExtend<Omit<Order, 'merchant_order_id' | 'return_url'>>();
  expectTypeOf<keyof ServiceOrder>().toExtend<keyof Order>();
});

describe('webhooks', () => {
  plainTest.for(vectors.webhooks)('$name', async (vector) => {
    const { body, headers, secrets, nowSeconds } = vector;
    const { eventId, mistake } = vector.expect;
    const verified = verify(body, headers, secrets, { nowMs: nowSeconds * 1000 });
    if (mistake === undefined) {
      expect((await verified).event_id).toBe(eventId);
      const bytes = new TextEncoder().encode(body);
      const given = new Headers(headers);
      const again = await verify(bytes, given, secrets, { nowMs: nowSeconds * 1000 });
      expect(again.event_id).toBe(eventId);
      return;
    }
    await expect(verified).rejects.toBeInstanceOf(WebhookVerificationError);
    await expect(verified).rejects.toMatchObject({ mistake });
  });

  plainTest('a parsed body is named as the mistake', async () => {
    const [{ body, headers, secrets } = { body: '', headers: {}, secrets: [] }] = vectors.webhooks;
    const parsed = JSON.parse(body) as unknown as string;
    await expect(verify(parsed, headers, secrets)).rejects.toMatchObject({
      mistake: 'parsed_body',
    });
  });
});

plainTest('an empty secret fits nothing, and bytes that are no text are refused', async () => {
  const signed = await signTestEvent({ event: 'TEST' }, 'whsec_any');
  const unset = verify(signed.body, signed.headers, '');
  await expect(unset).rejects.toMatchObject({ mistake: 'wrong_secret' });
  const noText = verify(new Uint8Array([0xff, 0xfe]), signed.headers, 'whsec_any');
  await expect(noText).rejects.toMatchObject({ mistake: 'wrong_secret' });
});

describe('money', () => {
  plainTest.for(vectors.money)('$rupees is $paise paise', ({ rupees, paise }) => {
    if (paise === null) {
      expect(() => toPaise(rupees)).toThrow(RangeError);
      return;
    }
    expect(toPaise(rupees)).toBe(paise);
    expect(toPaise(Number(rupees))).toBe(paise);
    expect(toPaise(formatPaise(paise))).toBe(paise);
  });
});

plainTest.for(vectors.retryDelays)(
  'retry $retry after $retryAfter waits $leastMs to $mostMs ms',
  ({ retry, retryAfter, leastMs, mostMs }) => {
    expect(retryDelayMs(retry, retryAfter, () => 1)).toBe(leastMs);
    expect(retryDelayMs(retry, retryAfter, () => 0)).toBe(mostMs);
  },
);

plainTest.for(vectors.errors)('the error $name', ({ status, headers, body, expect: expected }) => {
  const parsed: unknown = body.startsWith('{') ? JSON.parse(body) : undefined;
  const error = errorOf(status, new Headers(headers), parsed);
  const { code, fields, isRetryable, requestId = null } = error;
  expect({ code, fields, isRetryable, requestId }).toEqual(expected);
  expect(error.status).toBe(status);
  expect(error.message).not.toBe('');
});

plainTest.for(vectors.keys)('the keys %j', ({ environment, apiKey, apiSecret, isAccepted }) => {
  const make = () =>
    createClient({ environment, apiKey, apiSecret, baseUrl: 'http://127.0.0.1:1' });
  if (isAccepted) {
    expect(make()).toHaveProperty('orders');
    return;
  }
  const isWellFormed = [apiKey, apiSecret].every((key) => faultOfKey(key) === undefined);
  const code = isWellFormed ? 'WRONG_ENVIRONMENT' : 'MALFORMED_CREDENTIALS';
  expect(make).toThrow(expect.objectContaining({ code }));
  expect(make).not.toThrow(apiSecret.trim() || apiKey);
});

const PLAYED = {
  environment: 'sandbox',
  apiKey: 'mk_test_a',
  apiSecret: 'sk_test_a',
  baseUrl: 'https://pay.example.com',
  sleep: async () => undefined,
} as const;

plainTest.for([
  'pay.example.com',
  '',
  'https://',
  'https://pay.example.com\n',
  ' https://pay.example.com',
  'ftp://pay.example.com',
  'https://user:word@pay.example.com',
  'https://pay.example.com?',
  'https://pay.example.com/#a',
  'https://pay.example.com/api/merchant/v1',
])('the base URL %j is refused at once', (baseUrl) => {
  const make = () => createClient({ ...PLAYED, baseUrl });
  expect(make).toThrow(expect.objectContaining({ code: 'MALFORMED_BASE_URL' }));
});

plainTest.for(['', 'a b', 'k\n', 'की', 'k'.repeat(256)])(
  'the idempotency key %j is refused before a request',
  async (idempotencyKey) => {
    const requests: Request[] = [];
    const fetchNothing = (request: Request) => {
      requests.push(request);
      return Promise.reject(new Error('Nothing may be sent'));
    };
    const { orders } = createClient({ ...PLAYED, fetch: fetchNothing });
    const refused = orders.cancel('ORD0', {}, { idempotencyKey });
    await expect(refused).rejects.toMatchObject({ code: 'MALFORMED_IDEMPOTENCY_KEY' });
    expect(requests).toEqual([]);
  },
);

plainTest('no error has the keys', async () => {
  const quoting = ({ headers }: Request) =>
    Promise.reject(new TypeError(`${headers.get('X-API-Key')} ${headers.get('X-API-Secret')}`));
  const { orders } = createClient({ ...PLAYED, fetch: quoting, maxRetries: 0 });
  const failed = orders.get('ORD0');
  const message = 'The service did not answer: [hidden] [hidden]';
  await expect(failed).rejects.toMatchObject({ code: 'NO_RESPONSE', message });
  await expect(failed).rejects.not.toHaveProperty('cause');
});

plainTest('what proxies answer is sent again with the same key', async () => {
  const answers = [
    new Response('', { status: 503 }),
    new Response('<h1>Sorry</h1>'),
    new Response('', { status: 504 }),
    Response.json({ data: { status: 'ACCEPTED' } }),
  ];
  const keys: (string | null)[] = [];
  const fetchPlayed = (request: Request) => {
    keys.push(request.headers.get('Idempotency-Key'));
    return Promise.resolve(answers[keys.length - 1] ?? Response.error());
  };
  const { orders } = createClient({ ...PLAYED, fetch: fetchPlayed });
  expect((await orders.create(anOrder())).replayed).toBe(false);
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(1);
});

const test = serviceTest({ time: 'real' }).extend(
  'client',
  ({ service, merchant }) =>
    (changes: object = {}) =>
      createClient({
        environment: 'sandbox',
        ...merchant.keys.sandbox,
        baseUrl: service.origin,
        sleep: async () => undefined,
        ...changes,
      }),
);

test('an order goes through its life', async ({ client }) => {
  const { orders, disputes, sandbox } = client();
  const created = await orders.create({ ...anOrder(), amount: '499.50' });
  expect(created).toMatchObject({ status: 'ACCEPTED', amount: 499.5 });
  const { order_number: orderNumber } = created;
  expect((await sandbox.failPayment(orderNumber)).status).toBe('ACCEPTED');
  expect((await sandbox.pay(orderNumber)).status).toBe('PAID');
  expect((await orders.deliver(orderNumber, { trackingId: 'IN1' })).status).toBe('DELIVERED');
  const raised = await sandbox.dispute(orderNumber, { reason: 'It never arrived here' });
  expect(raised.dispute?.reason).toBe('It never arrived here');
  await disputes.submitEvidence(orderNumber, { text: 'A photo of the delivery' });
  const resolved = await disputes.resolve(orderNumber, { resolution: 'A new one is on its way' });
  expect(resolved.status).toBe('DELIVERED');
  const timeline = await orders.timeline(orderNumber);
  expect(timeline.entries.map(({ kind }) => kind)).toContain('EVIDENCE_SUBMITTED');
  expect(timeline.earlier).toBeNull();
  expect((await orders.get(orderNumber)).status).toBe('DELIVERED');
});

test('lists are read to their end, page by page', async ({ client }) => {
  const { orders, events } = client();
  const merchantOrderId = 'sdk-list';
  for (let count = 0; count < 5; count += 1) await orders.create({ ...anOrder(), merchantOrderId });
  const found: string[] = [];
  for await (const order of orders.list({ merchantOrderId, size: 2 }))
    found.push(order.order_number);
  expect(new Set(found).size).toBe(5);
  const { content, next } = await events.list({ size: 100 }).page();
  expect(content.length).toBeGreaterThanOrEqual(5);
  const [created] = content;
  const details = await events.get(created?.event_id ?? '');
  expect(details.event).toEqual(created);
  const order = await orders.create(anOrder());
  const later: unknown[] = [];
  for await (const event of events.list({ after: next ?? '' })) later.push(event.data.order_number);
  expect(later).toEqual([order.order_number]);
});

test('an error has status, code, fields and request id', async ({ client }) => {
  const { orders } = client();
  const failed = orders.create({ ...anOrder(), amount: 4 });
  await expect(failed).rejects.toBeInstanceOf(PayordersError);
  await expect(failed).rejects.toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    fields: { amount: 'must be greater than or equal to 5.0' },
    requestId: expect.stringMatching(/./),
    isRetryable: false,
  });
  await expect(orders.create({ ...anOrder(), amount: 499.505 })).rejects.toThrow(RangeError);
});

test('a key with another body is an error, and its order stands', async ({ client }) => {
  const { orders } = client();
  const idempotencyKey = `sdk-${Date.now()}`;
  const first = await orders.create(anOrder(), { idempotencyKey });
  expect(first.replayed).toBe(false);
  await orders.cancel(first.order_number);
  expect(await orders.create(anOrder(), { idempotencyKey })).toMatchObject({
    order_number: first.order_number,
    status: 'CANCELLED',
    replayed: true,
  });
  const other = orders.create({ ...anOrder(), amount: 7 }, { idempotencyKey });
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_MISMATCH' });
});

test('all attempts of one call have one key, so that a lost answer makes no second order', async ({
  client,
}) => {
  const keys: (string | null)[] = [];
  const losing = async (request: Request) => {
    keys.push(request.headers.get('Idempotency-Key'));
    const response = await fetch(request);
    if (keys.length < 3) throw new TypeError('The connection was lost');
    return response;
  };
  const merchantOrderId = 'sdk-lost';
  const { orders } = client({ fetch: losing });
  const order = await orders.create({ ...anOrder(), merchantOrderId });
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  const { content } = await client().orders.list({ merchantOrderId }).page();
  expect(content.map((one) => one.order_number)).toEqual([order.order_number]);
});

test('what cannot succeed is sent once, and what can five times', async ({ client, merchant }) => {
  let sent = 0;
  const counting = (answer?: Response) => (request: Request) => {
    sent += 1;
    return answer ? Promise.resolve(answer.clone()) : fetch(request);
  };
  await expect(client({ fetch: counting() }).orders.get('ORD0')).rejects.toMatchObject({
    code: 'ORDER_NOT_FOUND',
  });
  expect(sent).toBe(1);
  sent = 0;
  const refusing = client({ fetch: counting(new Response('', { status: 502 })) });
  await expect(refusing.orders.get('ORD0')).rejects.toMatchObject({
    status: 502,
    isRetryable: true,
  });
  expect(sent).toBe(5);
  expect(merchant.keys.sandbox.apiKey).toMatch(/^mk_test_/);
});

test('a redirect is not followed, and not sent again', async ({ client }) => {
  let sent = 0;
  const url = await served(async (_request, response) => {
    sent += 1;
    response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
  });
  const { orders } = client({ baseUrl: new URL(url).origin });
  await expect(orders.get('ORD0')).rejects.toMatchObject({ status: 302, isRetryable: false });
  expect(sent).toBe(1);
});

test('test helpers are refused for production before a request', ({ service }) => {
  const { apiKey, apiSecret } = { apiKey: 'mk_live_a', apiSecret: 'sk_live_a' };
  const live = createClient({
    environment: 'production',
    apiKey,
    apiSecret,
    baseUrl: service.origin,
  });
  expect(() => live.sandbox).toThrow(expect.objectContaining({ code: 'WRONG_ENVIRONMENT' }));
});

describe('handlers', () => {
  test('a webhook of the service is accepted by the handler of node:http, and handled once', async ({
    merchant,
    client,
  }) => {
    const handled: string[] = [];
    const order = await client().orders.create(anOrder());
    const [webhook] = await merchant.receiver.until(
      1,
      (one) => one.body.data['order_number'] === order.order_number,
    );
    const handler = nodeHandler({
      secrets: merchant.webhookSecret,
      store: memoryStore(),
      onEvent: ({ event_id: eventId }) => void handled.push(eventId),
    });
    const url = await served(handler);
    const send = (body: string) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: {
          'x-service-timestamp': String(webhook?.headers['x-service-timestamp']),
          'x-service-signature': String(webhook?.headers['x-service-signature']),
        },
      });
    const body = webhook?.rawBody ?? '';
    expect((await send(body)).status).toBe(200);
    expect((await send(body)).status).toBe(200);
    expect(handled).toEqual([webhook?.body.event_id]);
    expect((await send(`${body} `)).status).toBe(401);
  });

  plainTest(
    'the handler of the web standard repeats what has failed, and nothing else',
    async () => {
      const secret = vectors.webhooks[0]?.secrets[0] ?? '';
      let calls = 0;
      const handler = webHandler({
        secrets: ['whsec_other', secret],
        store: memoryStore(),
        onEvent: () => {
          calls += 1;
          if (calls === 1) throw new Error('The database is away');
        },
      });
      const { body, headers } = await signTestEvent({ event: 'ORDER_COMPLETED' }, secret);
      const send = async () =>
        (await handler(new Request('http://shop.example/', { method: 'POST', body, headers })))
          .status;
      expect(await send()).toBe(500);
      expect(await Promise.all([send(), send()])).toEqual([200, 200]);
      expect(await send()).toBe(200);
      expect(calls).toBe(2);
    },
  );

  plainTest('no more than 1 MiB of a body is read', async () => {
    let readBytes = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        readBytes += 64 * 1024;
        if (readBytes > 64 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(64 * 1024));
      },
    });
    const errors: unknown[] = [];
    const handler = webHandler({
      secrets: 'whsec_any',
      store: memoryStore(),
      onEvent: () => undefined,
      onError: (error) => void errors.push(error),
    });
    const init = { method: 'POST', body, duplex: 'half' };
    const request = new Request('http://shop.example/', init);
    expect((await handler(request)).status).toBe(413);
    expect(readBytes).toBeLessThan(2 * 1024 * 1024);
    expect(errors).toHaveLength(1);
  });

  plainTest('an event is handled once, however long the store takes to answer', async () => {
    const secret = vectors.webhooks[0]?.secrets[0] ?? '';
    const store = memoryStore();
    let [calls, questions] = [0, 0];
    const [mayAnswer, firstEnded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handler = webHandler({
      secrets: secret,
      store: {
        // Each answer is that of the moment of its question, and comes late.
        async has(eventId) {
          const isKnown = store.has(eventId);
          questions += 1;
          await (questions === 1 ? mayAnswer : firstEnded).promise;
          return isKnown;
        },
        add: (eventId) => store.add(eventId),
      },
      onEvent: () => void (calls += 1),
    });
    const { body, headers } = await signTestEvent({ event: 'ORDER_COMPLETED' }, secret);
    const send = () =>
      handler(new Request('http://shop.example/', { method: 'POST', body, headers }));
    const first = send();
    await expect.poll(() => questions).toBe(1);
    const second = send();
    // The handler takes as long as this until it asks.
    await handler(new Request('http://shop.example/', { method: 'POST', body: '{}', headers }));
    mayAnswer.resolve();
    await first;
    firstEnded.resolve();
    await second;
    expect(calls).toBe(1);
  });
});
