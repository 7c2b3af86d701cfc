import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { envelopeOf, success } from '../../src/http/responses/response.ts';
import { CHANGES_AT_ONCE } from '../../src/http/limits/slots.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import { CREDENTIALS, PRODUCTION, SANDBOX, serve } from './http-support.ts';

/** Changes that stay under way until `finish`, and a read. */
function slowRoutes() {
  const begun: unknown[] = [];
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const facts = {
    base: 'merchant',
    path: '/slow',
    summary: '',
    description: '',
    tags: [],
    responses: { 200: { description: '', schema: envelopeOf(z.null()) } },
  } as const;
  const change = defineRoute({
    ...facts,
    method: 'POST',
    operationId: 'change',
    headers: z.object({ Name: z.string().optional() }),
  }).handledBy(async ({ headers }) => {
    begun.push(headers.Name);
    await finished;
    return { status: 200, body: success('Changed', null) };
  });
  const read = defineRoute({ ...facts, method: 'GET', operationId: 'read' }).handledBy(
    async () => ({ status: 200, body: success('Read', null) }),
  );
  return { routes: [change, read], begun, finish };
}

/** @param responseTimeoutMs a ninth of which a request waits for its turn */
async function serveSlowRoutes(responseTimeoutMs = HANGS_MS) {
  const { routes, begun, finish } = slowRoutes();
  const authenticate = async ({ apiKey = '' }) => ({
    id: apiKey,
    name: 'Merchant',
    apiKey,
    isReady: true,
  });
  const server = await serve({ routes, authenticate, responseTimeoutMs });
  const change = (base: string, merchant: string, name: string) =>
    server.call(`${base}/slow`, { method: 'POST', headers: { 'X-API-Key': merchant, Name: name } });
  /** A merchant sends more changes than the service takes at once; as many are begun as it may have. */
  const flood = async (merchant: string, expected: number) => {
    const names = Array.from({ length: 2 * CHANGES_AT_ONCE }, (_, index) => `${merchant}-${index}`);
    const answers = names.map((name) => change(SANDBOX, merchant, name));
    const begunOf = () => begun.filter((name) => String(name).startsWith(merchant));
    await expect.poll(begunOf).toHaveLength(expected);
    return answers;
  };
  return { server, begun, finish, change, flood };
}

const statusesOf = async (answers: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

test('a merchant whose changes do not end leaves turns to the others; reads and production need none', async () => {
  const { server, begun, finish, change, flood } = await serveSlowRoutes();
  await using _ = server;
  const first = await flood('first', CHANGES_AT_ONCE / 2);
  const second = await flood('second', CHANGES_AT_ONCE / 4);
  const others = [change(SANDBOX, 'third', 'third'), change(PRODUCTION, 'first', 'in production')];
  await expect.poll(() => begun).toEqual(expect.arrayContaining(['third', 'in production']));
  expect((await server.call(`${SANDBOX}/slow`)).status).toBe(200);
  finish();
  const statuses = await statusesOf([...first, ...second, ...others]);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test('more changes at once than the service takes are 429 with Retry-After, and were not begun', async () => {
  // The refused ones wait for a second.
  const { server, begun, finish, flood } = await serveSlowRoutes(9000);
  await using _ = server;
  const answers = await flood('first', CHANGES_AT_ONCE / 2);
  // Requests of one client arrive in any order.
  const refused: Awaited<(typeof answers)[number]>[] = [];
  for (const answer of answers) void answer.then((one) => one.status === 429 && refused.push(one));
  await expect.poll(() => refused).toHaveLength(1.5 * CHANGES_AT_ONCE);
  for (const { json, headers } of refused) {
    expect(json).toEqual({ error: 'Too many requests. Please slow down.' });
    expect(headers.get('X-Error-Code')).toBe('TOO_MANY_REQUESTS');
    expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(1);
  }
  // Many who wait come back later than few.
  const waits = refused.map(({ headers }) => Number(headers.get('Retry-After')));
  expect(Math.max(...waits)).toBeGreaterThan(1);
  finish();
  await Promise.all(answers);
  expect(begun).toHaveLength(CHANGES_AT_ONCE / 2);
});

test('a change whose client has gone when its turn comes is not begun', async () => {
  const { server, begun, finish, change, flood } = await serveSlowRoutes();
  await using _ = server;
  const answers = await flood(CREDENTIALS['X-API-Key'], CHANGES_AT_ONCE / 2);
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const credentials = Object.entries(CREDENTIALS).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${SANDBOX}/slow HTTP/1.1`, 'Host: a', 'Name: gone', ...credentials];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  // The server answers the requests of other connections only after it has read this one's.
  expect((await server.call(`${SANDBOX}/slow`)).status).toBe(200);
  socket.destroy();
  await once(socket, 'close');
  expect((await server.call(`${SANDBOX}/slow`)).status).toBe(200);
  finish();
  await Promise.all(answers);
  expect((await change(SANDBOX, 'another', 'next')).status).toBe(200);
  expect(begun).not.toContain('gone');
});
