import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { z } from 'zod';
import { DomainError } from '../../src/domain/errors.ts';
import { createApp } from '../../src/http/app.ts';
import type { AppOptions } from '../../src/http/app.ts';
import { defineRoute } from '../../src/http/define-route.ts';
import { envelopeOf, success } from '../../src/http/responses/response.ts';
import { errorOf } from '../../src/http/responses/errors.ts';
import { text } from '../../src/http/input/fields.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { requestFields } from '../../src/http/request-context.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import { startHttpServer } from '../../src/http/server/server.ts';
import type { HttpServerOptions } from '../../src/http/server/server.ts';

export const SANDBOX = '/sandbox/api/merchant/v1';
export const PRODUCTION = '/api/merchant/v1';
export const CREDENTIALS = { 'X-API-Key': 'mk_test_1', 'X-API-Secret': 'sk_test_1' };
export const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The data that the example routes return. */
export const thing = z
  .object({ id: z.string(), amount: z.number(), environment: z.string() })
  .meta({ id: 'Thing' });
const amountRule = { error: 'must be greater than or equal to 5.0' };
const facts = { base: 'merchant', description: '', tags: ['Things'] } as const;
const idParams = z.object({ id: z.string() });

export const createThing = defineRoute({
  ...facts,
  method: 'POST',
  path: '/things',
  operationId: 'createThing',
  summary: 'Create a thing',
  headers: z.object({
    'Idempotency-Key': z
      .string()
      .regex(/^[!-~]{1,255}$/, { error: 'must be visible' })
      .optional(),
  }),
  body: z
    .object({
      amount: z.number(amountRule).min(5, amountRule),
      description: text({ error: 'must not be blank', maxLength: 50, notBlank: true }),
      note: z.string().nullish(),
    })
    .meta({ id: 'CreateThing' }),
  responses: {
    201: {
      description: 'Created',
      schema: envelopeOf(thing),
      headers: z.object({ 'Idempotency-Key': z.string() }),
    },
  },
}).handledBy(async ({ body, headers, environment }) => ({
  status: 201,
  body: success('Created', { id: 'T1', amount: body.amount, environment }),
  headers: { 'Idempotency-Key': headers['Idempotency-Key'] ?? 'generated' },
}));

/** GET /things/{id}: only T1 exists. */
export const getThing = defineRoute({
  ...facts,
  method: 'GET',
  path: '/things/{id}',
  operationId: 'getThing',
  summary: 'Read a thing',
  params: idParams,
  errors: ['ORDER_NOT_FOUND'],
  responses: { 200: { description: 'The thing', schema: envelopeOf(thing) } },
}).handledBy(async ({ params, environment }) => {
  if (params.id !== 'T1') throw new DomainError('ORDER_NOT_FOUND', `Unknown: ${params.id}`);
  return { status: 200, body: success('Found', { id: 'T1', amount: 5, environment }) };
});

export const cancelThing = defineRoute({
  ...facts,
  method: 'POST',
  path: '/things/{id}/cancel',
  operationId: 'cancelThing',
  summary: 'Cancel a thing',
  params: idParams,
  body: z.object({ reason: text({ error: 'must be short', maxLength: 10 }).nullish() }).optional(),
  responses: {
    200: { description: 'Why', schema: envelopeOf(z.object({ reason: z.string().nullable() })) },
  },
}).handledBy(async ({ body }) => ({
  status: 200,
  body: success('Cancelled', { reason: body?.reason ?? null }),
}));

export const sandboxOnly = defineRoute({
  ...facts,
  base: 'sandbox',
  method: 'POST',
  path: '/test-helpers/pay',
  operationId: 'payThing',
  summary: 'Pay',
  responses: { 200: { description: 'Paid', schema: envelopeOf(z.null()) } },
}).handledBy(async () => ({ status: 200, body: success('Paid', null) }));

/** A merchant's credentials that the example application accepts, in the sandbox only. */
const authenticate: AppOptions['authenticate'] = async ({ environment, apiSecret }) => {
  if (environment !== 'sandbox' || apiSecret !== CREDENTIALS['X-API-Secret']) {
    throw errorOf('UNAUTHORIZED');
  }
  return { id: 'M1', name: 'Merchant', apiKey: 'mk_test_1', isReady: true };
};

export async function serve(overrides: Partial<AppOptions> & Partial<HttpServerOptions> = {}) {
  const logged: Record<string, unknown>[] = [];
  const write = (line: string) => void logged.push(JSON.parse(line));
  const log = pino({ level: 'debug', mixin: requestFields }, { write });
  const { readiness = createReadiness({}) } = overrides;
  const app = createApp({
    routes: [createThing, getThing, cancelThing, sandboxOnly],
    authenticate,
    rateLimiter: createMemoryRateLimiter({ limitPerSecond: 1_000_000 }),
    trustedProxies: [],
    log,
    checkResponses: true,
    ...overrides,
    readiness,
  });
  const defaults = { host: '127.0.0.1', port: 0, readinessGraceMs: 0 };
  const server = await startHttpServer(app, { ...defaults, ...overrides, readiness, log });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    ...server,
    url,
    logged,
    call: async (path: string, init: RequestInit = {}) => {
      const headers = { ...CREDENTIALS, ...(init.headers as Record<string, string>) };
      const response = await fetch(url + path, { ...init, headers });
      const body = await response.text();
      return { status: response.status, headers: response.headers, text: body, json: parse(body) };
    },
    [Symbol.asyncDispose]: async () => server.stop(),
  };
}
export type TestServer = Awaited<ReturnType<typeof serve>>;

/** One request for each kind of answer: success, errors of each layer, and what `path` is answered. */
export async function everyKindOfAnswer({ call }: TestServer, path: string) {
  const post = { method: 'POST', headers: JSON_TYPE, body: '{}' };
  return Promise.all([
    call('/healthz'),
    call('/nowhere'),
    call(SANDBOX + path),
    call(`${SANDBOX}/things`, post),
    call(`${SANDBOX}/things`, { method: 'OPTIONS' }),
    call(`${SANDBOX}/things`, { method: 'PUT' }),
    call(`${PRODUCTION}/things`, post),
    call(`${SANDBOX}/things`, { ...post, body: 'x'.repeat(40_000) }),
  ]);
}

/** Bytes that never become a request: what is wrong, the bytes, and the status of the answer. */
export const MALFORMED_REQUESTS: [what: string, bytes: string, status: number][] = [
  ['headers over 16 KiB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ['no HTTP at all', 'nonsense\r\n\r\n', 400],
  ['an unknown method', 'PAY / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405],
  ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
];

function parse(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

/** Sends bytes that no HTTP client would send, and reads until the server closes. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}
