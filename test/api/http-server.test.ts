import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { MALFORMED_REQUESTS, PRODUCTION, SANDBOX, sendRaw, serve } from './http-support.ts';

/** A route that responds when the test lets it. */
function slowRoute() {
  const entered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const route = defineRoute({
    method: 'GET',
    base: 'root',
    caller: 'public',
    path: '/slow',
    operationId: 'slow',
    summary: '',
    description: '',
    tags: [],
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

/** Opens a connection that sends one byte from time to time and never finishes. */
function drip(port: number, start: string) {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(start);
  const timer = setInterval(() => socket.write('x'), 400);
  return once(socket, 'close').then(() => {
    clearInterval(timer);
    return Buffer.concat(chunks).toString();
  });
}

test('500 sockets that send slowly or nothing are closed within 15 s while others are served', async () => {
  await using server = await serve();
  const startedAtMs = performance.now();
  const starts = [
    'GET /healthz HTTP/1.1\r\nHost: a\r\nX-Drip: ',
    `POST ${SANDBOX}/things HTTP/1.1\r\nHost: a\r\nX-Request-Id: slow\r\nX-API-Key: mk_test_1\r\nX-API-Secret: sk_test_1\r\nContent-Type: application/json\r\nContent-Length: 20000\r\n\r\n{`,
  ];
  const dripping = Array.from({ length: 500 }, (_, index) =>
    drip(server.port, starts[index % 2] ?? ''),
  );
  const isOver = { value: false };
  const all = Promise.all(dripping).finally(() => (isOver.value = true));
  let slowestMs = 0;
  while (!isOver.value) {
    const sentAtMs = performance.now();
    expect((await server.call(`${SANDBOX}/things/T1`)).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - sentAtMs);
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 250))]);
  }
  expect(performance.now() - startedAtMs).toBeLessThan(15_000);
  // A request that waited for slow sockets would wait until the first are closed, after 5 s. The limit is
  // no shorter, because the clients of these sockets run in this process too.
  expect(slowestMs).toBeLessThan(5_000);
  const answers = await all;
  const firstLines = answers.map((answer) => answer.split('\r\n')[0]);
  expect(new Set(firstLines)).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
  const ids = answers.map((answer) => /^X-Request-Id: (\S+)\r$/m.exec(answer)?.[1]);
  // Requests whose head has arrived keep its id; each of the others gets a generated one.
  expect(ids.filter((id) => id === 'slow')).toHaveLength(250);
  expect(new Set(ids).size).toBe(251);
  expect(ids).not.toContain(undefined);
});

test('after stop, /readyz fails immediately, and requests in progress are finished', async () => {
  const { route, entered, release } = slowRoute();
  const server = await serve({ routes: [route], readinessGraceMs: 300 });
  const inFlight = server.call('/slow');
  await entered;
  const stopped = server.stop();
  const ready = await server.call('/readyz');
  expect([ready.status, ready.json]).toEqual([503, { status: 'stopping', checks: {} }]);
  expect((await server.call('/healthz')).status).toBe(200);
  release();
  const answer = await inFlight;
  expect([answer.status, answer.headers.get('Connection')]).toEqual([200, 'close']);
  await stopped;
  await expect(server.call('/healthz')).rejects.toThrow('fetch failed');
});

test('keep-alive connections are served once more while stopping, with Connection: close', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const server = await serve({ readinessGraceMs: 300 });
  expect(await getOver(agent, server.port, '/healthz')).toEqual({
    status: 200,
    connection: 'keep-alive',
  });
  const stopped = server.stop();
  expect(await getOver(agent, server.port, '/healthz')).toEqual({
    status: 200,
    connection: 'close',
  });
  await stopped;
  agent.destroy();
});

test('idle connections do not delay a stop', async () => {
  const agent = new Agent({ keepAlive: true });
  const server = await serve();
  await getOver(agent, server.port, '/healthz');
  const startedAtMs = performance.now();
  await server.stop();
  // A stop that waited for the connection would wait until it is cut off, after 8 s.
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
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
  const server = await serve({ readinessGraceMs: 300 });
  const everyone = async () =>
    Promise.all(Array.from({ length: 50 }, () => getOver(agent, server.port, '/healthz')));
  await everyone();
  const stopped = server.stop();
  const answers = await everyone();
  expect(answers).toEqual(answers.map(() => ({ status: 200, connection: 'close' })));
  await stopped;
  agent.destroy();
});

test('an address in use is an error, not a crash', async () => {
  await using server = await serve();
  await expect(serve({ port: server.port })).rejects.toThrow('EADDRINUSE');
});
