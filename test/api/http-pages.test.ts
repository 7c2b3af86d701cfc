import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAsset } from '../../src/http/responses/asset.ts';
import { defineRoute } from '../../src/http/define-route.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { SANDBOX, serve } from './http-support.ts';

const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' };
const facts = { base: 'root' } as const;
const html = { description: '', contentType: 'text/html', schema: z.string() };

const echo = defineRoute({
  ...facts,
  method: 'POST',
  path: '/echo',
  operationId: 'echo',
  bodyType: 'form',
  body: z.looseObject({ reason: z.string({ error: 'must be given' }) }),
  responses: { 200: { description: '', schema: z.looseObject({}) } },
}).handledBy(async ({ body }) => ({ status: 200, body }));

/** An HTML page with a form: it greets a short name. */
const page = defineRoute({
  ...facts,
  method: 'POST',
  path: '/page',
  operationId: 'page',
  bodyType: 'form',
  body: z.object({ name: z.string().max(5, 'must be short') }),
  responses: { 200: html },
  rateLimiter: createMemoryRateLimiter({ limitPerSecond: 100 }),
  refusalPage: ({ status, headers, body }) => ({
    contentType: 'text/html',
    body: `<h1>${status} ${String(body['message'] ?? body['error'])}</h1>`,
    headers: { ...headers, 'Content-Security-Policy': "default-src 'self'" },
  }),
}).handledBy(async ({ body }) => {
  if (body.name === 'fault') throw new Error('a table name');
  return { status: 200, body: `<h1>${body.name}</h1>` };
});

async function send(body: string, headers: Record<string, string> = FORM_TYPE) {
  await using server = await serve({ routes: [echo] });
  return server.call('/echo', { method: 'POST', headers, body });
}

test.each([
  ['reason=It+has+a+hole', { reason: 'It has a hole' }],
  ['reason=%E2%82%B9+5+%26+more&other=1', { reason: '₹ 5 & more', other: '1' }],
  ['reason=a%0D%0Ab', { reason: 'a\nb' }],
  ['reason=first&reason=last', { reason: 'last' }],
  ['reason=', { reason: '' }],
  ['reason=%zz%', { reason: '%zz%' }],
  ['reason=%FF', { reason: '\uFFFD' }],
  ['reason=a&__proto__=b', { reason: 'a' }],
  ['reason=a&items[]=b&items[]=c&one[]=d', { reason: 'a', 'items[]': ['b', 'c'], 'one[]': ['d'] }],
])('a form is read as browsers write it: %s', async (body, fields) => {
  const answer = await send(body);
  expect([answer.status, answer.json]).toEqual([200, fields]);
});

test('a form may name its charset, as long as it is UTF-8', async () => {
  const withCharset = (charset: string) =>
    send('reason=a', { 'Content-Type': `${FORM_TYPE['Content-Type']}; charset=${charset}` });
  expect((await withCharset('UTF-8')).status).toBe(200);
  expect((await withCharset('utf-16')).status).toBe(400);
});

test.each(['application/json', 'multipart/form-data; boundary=x', 'text/plain', ''])(
  'a form route accepts only forms: %j',
  async (type) => {
    const { status, json } = await send('{"reason":"a"}', { 'Content-Type': type });
    expect([status, json['message']]).toEqual([
      400,
      'Content-Type must be application/x-www-form-urlencoded',
    ]);
  },
);

test('a form without its field, or with what PostgreSQL cannot hold, names the field', async () => {
  const violations = async (body: string) => (await send(body)).json['validationErrors'];
  expect(await violations('')).toEqual({ reason: 'must be given' });
  expect(await violations('reason=%00')).toEqual({
    reason: 'must not contain NUL characters or unpaired surrogates',
  });
});

test('a form may have 32 KiB and no more', async () => {
  const ofLength = (bytes: number) => send('reason='.padEnd(bytes, 'x'));
  expect((await ofLength(32 * 1024)).status).toBe(200);
  expect((await ofLength(32 * 1024 + 1)).status).toBe(413);
});

test('an HTML route shows every error as a page', async () => {
  await using server = await serve({ routes: [page] });
  const post = async (body: string, headers: Record<string, string> = FORM_TYPE) => {
    const answer = await server.call('/page', { method: 'POST', headers, body });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    return answer;
  };
  const tooLong = await post('name=far+too+long');
  expect([tooLong.status, tooLong.text]).toEqual([400, '<h1>400 Validation failed</h1>']);
  expect(tooLong.headers.get('content-security-policy')).toBe("default-src 'self'");
  expect((await post('{}', { 'Content-Type': 'application/json' })).status).toBe(400);
  expect((await post('name=fault')).text).toBe('<h1>500 Internal server error</h1>');
});

test('a public route can have a separate limit, which does not affect merchants', async () => {
  await using server = await serve();
  await using limited = await serve({
    routes: [
      { ...page, rateLimiter: createMemoryRateLimiter({ limitPerSecond: 2, nowMs: () => 0 }) },
      { ...echo, path: '/free' },
    ],
  });
  const post = (path: string) =>
    limited.call(path, { method: 'POST', headers: FORM_TYPE, body: 'name=Asha&reason=a' });
  expect([(await post('/page')).status, (await post('/page')).status]).toEqual([200, 200]);
  const refused = await post('/page');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(refused.text).toBe('<h1>429 Too many requests. Please slow down.</h1>');
  expect((await post('/free')).status).toBe(200);
  expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
});

test.each([
  ['page.css', 'text/css; charset=utf-8'],
  ['page.js', 'text/javascript; charset=utf-8'],
  ['page.svg', 'image/svg+xml'],
])(
  'a file may be cached without limit, because new content has a new address: %s',
  async (name, type) => {
    const before = createAsset('/files', name, 'before');
    const after = createAsset('/files', name, 'after');
    expect(before.path).not.toBe(after.path);
    await using server = await serve({ routes: [before.route] });
    const { status, headers, text } = await server.call(before.path);
    expect([status, text, headers.get('content-type')]).toEqual([200, 'before', type]);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await server.call(after.path)).status).toBe(404);
  },
);

test('a file of an unknown type prevents the start', () => {
  expect(() => createAsset('/files', 'page.exe', '')).toThrow('no content type for .exe');
});
