import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DomainError } from '../../src/domain/errors.ts';
import { defineRoute } from '../../src/http/define-route.ts';
import { envelopeOf, success } from '../../src/http/responses/response.ts';
import { ERRORS } from '../../src/http/responses/errors.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import {
  createThing,
  CREDENTIALS,
  everyKindOfAnswer,
  PRODUCTION,
  SANDBOX,
  sendRaw,
  serve,
} from './http-support.ts';

const facts = {
  base: 'merchant',
  method: 'GET',
  path: '/odd',
  operationId: 'odd',
  summary: '',
  description: '',
  tags: [],
} as const;
const nothing = { description: '', schema: envelopeOf(z.null()) };

const faulty = (error: unknown) =>
  defineRoute({ ...facts, responses: { 200: nothing } }).handledBy(async () => {
    throw error;
  });

const standardError = (message: string) => ({
  success: false,
  message,
  data: null,
  timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
});

test('a request with valid credentials gets the standard envelope', async () => {
  await using server = await serve();
  const answer = await server.call(`${SANDBOX}/things/T1`);
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({
    success: true,
    message: 'Found',
    data: { id: 'T1', amount: 5, environment: 'sandbox' },
    timestamp: expect.any(String),
  });
});

test('the path determines the environment, so a sandbox key is unknown under the production path: a 401 says how to authenticate', async () => {
  await using server = await serve();
  const answer = await server.call(`${PRODUCTION}/things/T1`);
  expect([answer.status, answer.json]).toEqual([401, standardError('Invalid API key or secret')]);
  expect(answer.headers.get('WWW-Authenticate')).toBe('ApiKey realm="Merchant API"');
});

test('an unknown path is 404 "Not found", under the merchant paths only with credentials', async () => {
  await using server = await serve();
  const open = await server.call('/nowhere');
  expect([open.status, open.json]).toEqual([404, standardError('Not found')]);
  expect((await server.call(`${SANDBOX}/nowhere`)).status).toBe(404);
  expect((await fetch(`${server.url}${SANDBOX}/nowhere`)).status).toBe(401);
  expect((await fetch(`${server.url}${SANDBOX}`)).status).toBe(401);
});

test.each(['/SANDBOX/api/merchant/v1/things/T1', '/sandbox/api/merchant/v1/things/T1/'])(
  'a path that only resembles a route does not bypass the credentials: %s',
  async (path) => {
    await using server = await serve();
    const answer = await fetch(server.url + path);
    expect([401, 404]).toContain(answer.status);
  },
);

test.each([
  ['PAY', '/things/T1', 'GET, HEAD, OPTIONS'],
  ['get', '/things/T1?page=1', 'GET, HEAD, OPTIONS'],
  ['X-SEND', '/things', 'OPTIONS, POST'],
  ['PAY', '/nowhere', 'GET, POST, OPTIONS'],
])('a method that HTTP does not know is 405 with Allow: %s %s', async (method, path, allow) => {
  await using server = await serve();
  const answer = await sendRaw(
    server.port,
    `${method} ${SANDBOX}${path} HTTP/1.1\r\nHost: a\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
  expect(answer).toContain(`\r\nAllow: ${allow}\r\n`);
  expect(answer).toContain('"message":"Method not allowed"');
  expect(answer).toContain('\r\nX-Error-Code: METHOD_NOT_ALLOWED\r\n');
});

test.each(['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'POST'])(
  'a known method that the path does not have is 405 with Allow: %s',
  async (method) => {
    await using server = await serve();
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
    const headers = { ...CREDENTIALS };
    const path = `${SANDBOX}/things/T1`;
    request({ port: server.port, host: '127.0.0.1', method, path, headers }, resolve).end();
    const answer = await promise;
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(await json(answer)).toEqual(standardError('Method not allowed'));
  },
);

test('OPTIONS names the methods of a path, HEAD responds like GET without a body', async () => {
  await using server = await serve();
  const options = await server.call(`${SANDBOX}/things`, { method: 'OPTIONS' });
  expect([options.status, options.headers.get('Allow')]).toEqual([204, 'OPTIONS, POST']);
  const head = await server.call(`${SANDBOX}/things/T1`, { method: 'HEAD' });
  expect([head.status, head.text]).toEqual([200, '']);
  expect(Number(head.headers.get('Content-Length'))).toBeGreaterThan(50);
});

test('an unexpected error is a 500 without details, and the log has all of them', async () => {
  const failure = new Error('relation "orders" does not exist at 10.0.0.5');
  await using server = await serve({ routes: [faulty(failure)] });
  const answer = await server.call(`${SANDBOX}/odd`);
  expect([answer.status, answer.json]).toEqual([500, standardError('Internal server error')]);
  expect(answer.headers.get('X-Error-Code')).toBe('INTERNAL');
  const line = server.logged.find(({ msg }) => msg === 'Unexpected error');
  expect(line?.['err']).toMatchObject({ message: failure.message, stack: failure.stack });
});

test('a route that throws something other than an Error is a 500 too', async () => {
  await using server = await serve({ routes: [faulty(null)] });
  expect((await server.call(`${SANDBOX}/odd`)).status).toBe(500);
});

test.each(Object.entries(ERRORS))(
  '%s becomes its status, its X-Error-Code and the message given',
  async (code, { status }) => {
    const error = new DomainError(code as keyof typeof ERRORS, 'The very words');
    await using server = await serve({ routes: [faulty(error)], checkResponses: false });
    const answer = await server.call(`${SANDBOX}/odd`);
    expect([answer.status, answer.text.includes('The very words')]).toEqual([status, true]);
    expect(answer.headers.get('X-Error-Code')).toBe(code);
  },
);

test.each([
  ['a status it does not declare', { status: 202, body: success('', null) }],
  ['a body of another shape', { status: 200, body: { ok: true } }],
  ['a surplus field', { status: 200, body: { ...success('', null), secret: 1 } }],
  [
    'a header it does not declare',
    { status: 200, body: success('', null), headers: { 'X-A': '1' } },
  ],
])('with checkResponses an answer with %s is a 500, loudly', async (_what, reply) => {
  const route = {
    ...defineRoute({ ...facts, responses: { 200: nothing } }).handledBy(async () => ({
      status: 200,
      body: success('', null),
    })),
    handle: async () => reply,
  };
  await using strict = await serve({ routes: [route] });
  expect((await strict.call(`${SANDBOX}/odd`)).status).toBe(500);
  expect(JSON.stringify(strict.logged)).toContain('odd responded with');
  await using lenient = await serve({ routes: [route], checkResponses: false });
  expect((await lenient.call(`${SANDBOX}/odd`)).status).toBe(reply.status);
});

test('with checkResponses a refusal that the route does not list is a 500', async () => {
  await using server = await serve({
    routes: [faulty(new DomainError('GATEWAY_UNAVAILABLE', ''))],
  });
  expect((await server.call(`${SANDBOX}/odd`)).status).toBe(500);
});

test('a page is sent as it is, and its errors are JSON like all others', async () => {
  const page = defineRoute({
    ...facts,
    base: 'root',
    path: '/page/{name}',
    params: z.object({ name: z.string() }),
    errors: ['NOT_FOUND'],
    responses: {
      200: { description: '', contentType: 'text/html', schema: z.string() },
      404: { description: '', contentType: 'text/html', schema: z.string() },
    },
  }).handledBy(async ({ params }) => {
    if (params.name === 'none') throw new DomainError('NOT_FOUND', 'Not found');
    return { status: params.name === 'odd' ? 404 : 200, body: '<p>Hello</p>' };
  });
  await using server = await serve({ routes: [page] });
  const seen = async (name: string) => {
    const { status, headers, text } = await server.call(`/page/${name}`);
    return [status, headers.get('Content-Type'), text.slice(0, 5)];
  };
  expect(await seen('home')).toEqual([200, 'text/html; charset=utf-8', '<p>He']);
  expect(await seen('odd')).toEqual([404, 'text/html; charset=utf-8', '<p>He']);
  expect(await seen('none')).toEqual([404, 'application/json; charset=utf-8', '{"suc']);
});

test('every kind of response has the version, forbids caching and has no ETag', async () => {
  await using server = await serve({ routes: [createThing, faulty(new Error('x'))] });
  const answers = await everyKindOfAnswer(server, '/odd');
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 500, 400, 204, 405, 401, 413]);
  for (const { headers } of answers) {
    expect(headers.get('X-API-Version')).toBe('2026-11-20');
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('ETag')).toBeNull();
    expect(headers.get('X-Powered-By')).toBeNull();
  }
});

/** Sends a request target as it is; `fetch` would normalise it. */
async function getTarget(port: number, path: string): Promise<number | undefined> {
  const headers = { ...CREDENTIALS };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request({ port, path, headers, host: '127.0.0.1' }, resolve).on('error', reject).end();
  const response = await promise;
  response.resume();
  return response.statusCode;
}

test.each(['http://[::1', 'http://a:99999999/x', '*', 'no-slash', 'http:///', '//'])(
  'a malformed request target is a 4xx: %s',
  async (target) => {
    await using server = await serve();
    const status = await getTarget(server.port, target);
    expect([400, 404]).toContain(status);
  },
);

test('a request’s log line names the operation and never the path, which can contain a token', async () => {
  await using server = await serve();
  await server.call(`${SANDBOX}/things/T1`);
  await server.call('/pay/secret-token');
  const lines = server.logged.filter(({ msg }) => msg === 'request');
  expect(lines).toMatchObject([{ operationId: 'getThing', status: 200 }, { status: 404 }]);
  expect(JSON.stringify(server.logged)).not.toContain('secret-token');
});

test('/healthz depends on no other server, /readyz names the check that failed', async () => {
  const readiness = createReadiness({
    database: async () => 'fine',
    temporal: async () => {
      throw new Error('connection refused');
    },
  });
  await using server = await serve({ readiness });
  expect((await server.call('/healthz')).json).toEqual({ status: 'alive' });
  const ready = await server.call('/readyz');
  expect([ready.status, ready.json]).toEqual([
    503,
    { status: 'unavailable', checks: { database: 'up', temporal: 'down' } },
  ]);
});

test('/readyz is 200 when all checks pass', async () => {
  await using server = await serve({ readiness: createReadiness({ database: async () => 1 }) });
  const ready = await server.call('/readyz');
  expect([ready.status, ready.json]).toEqual([
    200,
    { status: 'ready', checks: { database: 'up' } },
  ]);
});

test('a route whose params do not match its path prevents the start', () => {
  expect(() => defineRoute({ ...facts, path: '/odd/{id}', responses: { 200: nothing } })).toThrow(
    '/odd/{id}',
  );
});
