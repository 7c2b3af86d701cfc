import { describe, expect } from 'vitest';
import type { ApiAnswer } from '../support/api-client.ts';
import { anOrder } from '../support/api-client.ts';
import { ORDER_POSTS } from '../support/command-requests.ts';
import type { Merchant } from '../support/merchant.ts';
import type { RawRequest } from '../support/raw-request.ts';
import { rawRequest } from '../support/raw-request.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { expectApiHeaders, expectRefusal, expectSuccess } from './expectations.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'orderNumber',
  { scope: 'file' },
  async ({ merchant }) => (await merchant.sandbox.create()).order_number,
);

const send = (service: TestService, merchant: Merchant, request: RawRequest): Promise<ApiAnswer> =>
  rawRequest(service.origin, merchant.keys.sandbox, request);

/** Every POST operation, with the name of a field that it reads, if there is one. */
const POSTS = [
  ...new Map(ORDER_POSTS.map(({ path, body }) => [path, Object.keys(body ?? {}).at(-1) ?? ''])),
];
const LEVELS = 10_000;
const nested = (open: string, close: string) => open.repeat(LEVELS) + close.repeat(LEVELS);
const aroundText = (field: string, bytes: readonly number[]) =>
  Buffer.concat([Buffer.from(`{"${field}":"long enough `), Buffer.from(bytes), Buffer.from('"}')]);

/** Bodies that only an attacker sends. */
const hostileBodies = (field: string): Record<string, string | Buffer> => ({
  nothing: '',
  nonsense: '\u0001\u0002',
  'a JSON array': '[]',
  'JSON null': 'null',
  'a number': '1e999999',
  'a byte order mark': '\uFEFF{}',
  'a cut-off object': `{"${field}":`,
  'a prototype': `{"__proto__":{"${field}":"long enough"},"constructor":{"prototype":{"x":1}}}`,
  'a prototype that is no object': '{"__proto__":null,"toString":1,"hasOwnProperty":null}',
  'duplicate keys': `{"${field}":1,"${field}":{"a":1},"${field}":"long enough"}`,
  '10,000 arrays': `{"${field}":${nested('[', ']')}}`,
  '10,000 arrays as the body': nested('[', ']'),
  '5,000 objects': `{"${field}":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
  '5,000 fields': `{${Array.from({ length: 4_000 }, (_, index) => `"${index}":1`).join()}}`,
  'invalid UTF-8': aroundText(field, [0xff, 0xfe]),
  'an overlong NUL': aroundText(field, [0xc0, 0x80]),
  'an encoded surrogate': aroundText(field, [0xed, 0xa0, 0x80]),
  'a lone surrogate': `{"${field}":"long enough \\ud800"}`,
  'a NUL': `{"${field}":"long enough \\u0000"}`,
  'a NUL in a name': `{"${field}\\u0000":1,"\\ud800":2}`,
  'a number too large': `{"${field}":${'9'.repeat(20_000)}}`,
  'a number too precise': `{"${field}":0.${'3'.repeat(20_000)}}`,
  '32 KiB and a byte': `{"${field}":"${'x'.repeat(32_768)}"}`,
});

describe('hostile bodies never cause a server error', () => {
  test.for(POSTS)('POST %s', async ([path, field], { service, merchant, orderNumber }) => {
    for (const [what, body] of Object.entries(hostileBodies(field || 'x'))) {
      const answer = await send(service, merchant, {
        method: 'POST',
        path: path.replace('{id}', orderNumber),
        body,
      });
      expect([what, answer.status]).toEqual([what, expect.toSatisfy((status) => status < 500)]);
      expectApiHeaders(answer);
      expect(answer.body).toHaveProperty('message');
    }
  });

  test('the hostile bodies have had no effect, and the service works as before', async ({
    merchant,
  }) => {
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expectSuccess(await merchant.sandbox.post('/orders', anOrder()), 201);
  });
});

test('a body of 32 KiB is accepted; a byte more is 413, on every operation', async ({
  service,
  merchant,
  orderNumber,
}) => {
  const room = 32 * 1024 - JSON.stringify(anOrder({ x: '' })).length;
  const post = (path: string, extra: number) =>
    send(service, merchant, {
      method: 'POST',
      path: path.replace('{id}', orderNumber),
      body: JSON.stringify(anOrder({ x: 'x'.repeat(room + extra) })),
    });
  expectSuccess(await post('/orders', 0), 201);
  for (const [path] of POSTS) {
    expectRefusal(await post(path, 1), 413, 'Request body is larger than 32 KiB');
  }
});

describe('hostile queries and paths', () => {
  test.for([
    'page=%00',
    'page=%ED%A0%80',
    'page=%zz',
    'page=',
    'page[]=1',
    'page[__proto__]=1',
    'page=1&page=2',
    'page=%&x=%ff&x=%00',
    'page=9999999999999999999999',
    'size=%F0%9F%98%80',
    'merchantOrderId=%00',
    'merchantOrderId=%C0%80',
    'merchantOrderId=a&merchantOrderId=b',
    'createdFrom=0000-00-00T00:00:00Z',
    `createdTo=2026-11-20T09:30:00.${'1'.repeat(1000)}Z`,
    '__proto__[x]=1',
    'constructor=1&hasOwnProperty=2&toString=3',
    `x=${'a'.repeat(10_000)}`,
    Array.from({ length: 1_500 }, (_, index) => `${index}=1`).join('&'),
    "status=PAID'--",
    '&&&===???',
    '%',
  ])('GET /orders?%s', async (query, { service, merchant }) => {
    const answer = await send(service, merchant, { method: 'GET', path: `/orders?${query}` });
    expect([200, 400]).toContain(answer.status);
    expectApiHeaders(answer);
  });

  test.for([
    ['%00', '\uFFFD'],
    ['%F0%9F%98%80', '😀'],
    ['%2e%2e%2f', '../'],
    ['__proto__', '__proto__'],
    ["'%20OR%201=1--", "' OR 1=1--"],
    ['a'.repeat(5_000), 'a'.repeat(5_000)],
    ['%zz', '%zz'],
    ['%ED%A0%80', '%ED%A0%80'],
    ['%c3%28', '%c3%28'],
    ['%', '%'],
  ] as const)('an order number of %s is unknown', async ([id, shown], { service, merchant }) => {
    for (const path of ['', '/timeline', '/payment-sessions/ps_1']) {
      const answer = await send(service, merchant, { method: 'GET', path: `/orders/${id}${path}` });
      expectRefusal(answer, 404, `Order not found: ${shown}`);
    }
    const cancelled = await send(service, merchant, {
      method: 'POST',
      path: `/orders/${id}/cancel`,
    });
    expectRefusal(cancelled, 404, `Order not found: ${shown}`);
  });

  test('an unknown payment session of an order is 404', async ({
    service,
    merchant,
    orderNumber,
  }) => {
    for (const session of ['ps_1', '%00', '%zz', 'x'.repeat(5_000)]) {
      const path = `/orders/${orderNumber}/payment-sessions/${session}`;
      expectRefusal(
        await send(service, merchant, { method: 'GET', path }),
        404,
        'Payment session not found',
      );
    }
  });

  test.for(['/', '//', '/orders/', '/Orders', '/orders//', '/orders/x/y/z', '/..', '/%2e%2e'])(
    'an unknown path is 404: %s',
    async (path, { service, merchant }) =>
      expectRefusal(await send(service, merchant, { method: 'GET', path }), 404, 'Not found'),
  );

  test('test helpers do not exist in production', async ({ merchant, orderNumber }) => {
    const { production } = merchant;
    for (const [path] of POSTS.filter(([operation]) => operation.startsWith('/test-helpers'))) {
      const answer = await production.post(path.replace('{id}', orderNumber), {});
      expectRefusal(answer, 404, 'Not found');
    }
  });
});
