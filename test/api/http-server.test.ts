import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { SLOW_CLIENT_LIMITS } from '../../src/http/server/server.ts';
import { drip } from '../support/drip.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import { MALFORMED_REQUESTS, PRODUCTION, SANDBOX, sendRaw, serve } from './http-support.ts';

/** A route that responds when the test lets it. */
function slowRoute() {
  const entered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const route = defineRoute({
    method: 'GET',
    base: 'root',
    path: '/slow',
    operationId: 'slow',
    responses: { 200: { description: '', schema: z.object({ done: z.literal(true) }) } },
  }).handledBy(async () => {
    entered.resolve();
    await released.promise;
    return { status: 200, body: { done: true } };
  });
  return { route, entered: entered.promise, release: released.resolve };
}

/** GET over the test's own agent, to see whether connections are kept or closed. */
async function getOver(agent: Agent, port: number, path: string) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get({ agent, port, path, host: '127.0.0.1' }, resolve).on('error', reject);
  const response = await promise;
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, connection: response.headers.connection };
}

const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));

test.each([
  ...MALFORMED_REQUESTS,
  ['a TLS handshake', Buffer.from('160301020001000001fc0303', 'hex'), 400],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    400,
  ],
  [
    'a smuggled body',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
  ],
  ['NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n', 400],
  [
    'a broken chunk',
    `POST ${SANDBOX}/things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
    400,
  ],
] as const)(
  '%s gets the standard error body, and the connection is closed',
  async (_what, bytes, status) => {
    await using server = await serve();
    const answer = await sendRaw(server.port, bytes);
    expect(answer.split('\r\n')[0]).toContain(String(status));
    expect(answer).toContain('X-API-Version: 2026-11-20');
    expect(answer).toMatch(/connection: close/i);
    expect(answer).toContain('"success":false');
  },
);

test('a refused connection gets a complete JSON response', async () => {
  await using server = await serve();
  const answer = await sendRaw(server.port, 'nonsense\r\n\r\n');
  expect(bodyOf(answer)).toEqual({
    success: false,
    message: 'Malformed request',
    data: null,
    timestamp: expect.any(String),
  });
});

test('HTTP/1.0 needs no Host, because the health checks of old load balancers use it', async () => {
  await using server = await serve();
  const answer = await sendRaw(server.port, 'GET /healthz HTTP/1.0\r\n\r\n');
  expect(answer).toContain('200 OK');
});

test('an Upgrade or an unknown expectation is an ordinary request', async () => {
  await using server = await serve();
  const headers = 'Host: a\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\nExpect: wonders\r\n';
  const answer = await sendRaw(server.port, `GET /healthz HTTP/1.1\r\n${headers}\r\n`);
  expect(answer).toContain('200 OK');
});

test('Expect: 100-continue is honoured', async () => {
  await using server = await serve();
  const head = `POST ${PRODUCTION}/things HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\n`;
  const answer = await sendRaw(server.port, `${head}Content-Length: 2\r\n\r\n{}`);
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue[^]+401 Unauthorized/);
});

const GRACE_MS = 300;

const DRIPPING = [
  'GET /healthz HTTP/1.1\r\nHost: a\r\nX-Drip: ',
  `POST ${SANDBOX}/things HTTP/1.1\r\nHost: a\r\nX-Request-Id: slow\r\nX-API-Key: mk_test_1\r\nX-API-Secret: sk_test_1\r\nContent-Type: application/json\r\nContent-Length: 20000\r\n\r\n{`,
];

test('sockets that send slowly do not delay others', async () => {
  // None of them is closed while the others are served.
  const slowClientLimits = {
    ...SLOW_CLIENT_LIMITS,
    headersTimeout: HANGS_MS,
    requestTimeout: HANGS_MS,
  };
  const server = await serve({ slowClientLimits, stopTimeoutMs: 0 });
  const dripping = await Promise.all(
    Array.from({ length: 40 }, (_, index) => drip(server.port, DRIPPING[index % 2] ?? '')),
  );
  for (let requests = 0; requests < 10; requests += 1) {
    expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
  }
  expect(dripping.filter(({ socket }) => socket.closed)).toEqual([]);
  await server.stop();
  await Promise.all(dripping.map(({ answer }) => answer));
});

test('sockets that send slowly, and never stop to send, are closed with a 408', async () => {
  // Long enough for the heads that are sent at once to be read, on a busy machine too.
  const slowClientLimits = {
    headersTimeout: 3_000,
    requestTimeout: 3_000,
    connectionsCheckingInterval: 50,
  };
  let heads = 0;
  const authenticate = async () => {
    heads += 1;
    return { id: 'M1', name: 'Merchant', apiKey: 'mk_test_1', isReady: true };
  };
  await using server = await serve({ slowClientLimits, authenticate });
  const dripping = await Promise.all(
    Array.from({ length: 40 }, (_, index) => drip(server.port, DRIPPING[index % 2] ?? '')),
  );
  // What does not become a request is only closed.
  const begun = await Promise.all(['', 'G'].map((start) => drip(server.port, start)));
  const answers = await Promise.all(dripping.map(({ answer }) => answer));
  await Promise.all(begun.map(({ answer }) => answer));
  const firstLines = answers.map((answer) => answer.split('\r\n')[0]);
  expect(new Set(firstLines)).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
  const ids = answers.map((answer) => /^X-Request-Id: (\S+)\r$/m.exec(answer)?.[1]);
  // Requests whose head has arrived keep its id; each of the others gets a generated one.
  expect(heads).toBeGreaterThan(0);
  expect(ids.filter((id) => id === 'slow')).toHaveLength(heads);
  expect(new Set(ids).size).toBe(answers.length - heads + 1);
  expect(ids).not.toContain(undefined);
});

test('a slow socket is closed within 15 s', () => {
  const { headersTimeout, requestTimeout, connectionsCheckingInterval } = SLOW_CLIENT_LIMITS;
  for (const limitMs of [headersTimeout, requestTimeout]) {
    expect(limitMs + connectionsCheckingInterval).toBeLessThan(15_000);
  }
});

/** A server whose grace time after `stop()` lasts until the test ends it. */
async function serveWithGrace(overrides: Parameters<typeof serve>[0] = {}) {
  const grace = Promise.withResolvers<void>();
  const waitMs = (ms: number) => {
    expect(ms).toBe(GRACE_MS);
    return grace.promise;
  };
  const server = await serve({ readinessGraceMs: GRACE_MS, waitMs, ...overrides });
  return { server, endGrace: grace.resolve };
}

test('after stop, /readyz fails immediately, and requests in progress are finished', async () => {
  const { route, entered, release } = slowRoute();
  const { server, endGrace } = await serveWithGrace({ routes: [route] });
  const inFlight = server.call('/slow');
  await entered;
  const stopped = server.stop();
  const ready = await server.call('/readyz');
  expect([ready.status, ready.json]).toEqual([503, { status: 'stopping', checks: {} }]);
  expect((await server.call('/healthz')).status).toBe(200);
  release();
  const answer = await inFlight;
  expect([answer.status, answer.headers.get('Connection')]).toEqual([200, 'close']);
  endGrace();
  await stopped;
  await expect(server.call('/healthz')).rejects.toThrow('fetch failed');
});

test('keep-alive connections are served once more while stopping, with Connection: close', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { server, endGrace } = await serveWithGrace();
  expect(await getOver(agent, server.port, '/healthz')).toEqual({
    status: 200,
    connection: 'keep-alive',
  });
  const stopped = server.stop();
  expect(await getOver(agent, server.port, '/healthz')).toEqual({
    status: 200,
    connection: 'close',
  });
  endGrace();
  await stopped;
  agent.destroy();
});

test('idle connections do not delay a stop', async () => {
  const agent = new Agent({ keepAlive: true });
  // A stop that waited for the connection would wait until it is cut off, and would hang.
  const server = await serve({ stopTimeoutMs: 2 * HANGS_MS });
  await getOver(agent, server.port, '/healthz');
  await server.stop();
  agent.destroy();
});

test('a request that does not finish in time is cut off, and the log says so', async () => {
  const { route, entered } = slowRoute();
  const server = await serve({ routes: [route], stopTimeoutMs: 200 });
  const cut = expect(server.call('/slow')).rejects.toThrow('fetch failed');
  await entered;
  await server.stop();
  await cut;
  expect(server.logged).toContainEqual(expect.objectContaining({ inFlight: 1 }));
});

test('a second stop waits for the first one', async () => {
  const server = await serve();
  expect(await Promise.all([server.stop(), server.stop()])).toEqual([undefined, undefined]);
});

test('fifty keep-alive connections that send a request after the stop all get a response', async () => {
  const agent = new Agent({ keepAlive: true });
  const { server, endGrace } = await serveWithGrace();
  const everyone = async () =>
    Promise.all(Array.from({ length: 50 }, () => getOver(agent, server.port, '/healthz')));
  await everyone();
  const stopped = server.stop();
  const answers = await everyone();
  expect(answers).toEqual(answers.map(() => ({ status: 200, connection: 'close' })));
  endGrace();
  await stopped;
  agent.destroy();
});

test('an address in use is an error, not a crash', async () => {
  await using server = await serve();
  await expect(serve({ port: server.port })).rejects.toThrow('EADDRINUSE');
});
