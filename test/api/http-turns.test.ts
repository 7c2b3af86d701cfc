import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { envelopeOf, success } from '../../src/http/responses/envelope.ts';
import { CHANGES_AT_ONCE } from '../../src/http/limits/turns.ts';
import { moveMonotonicClock } from '../support/monotonic-clock.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import { CREDENTIALS, PRODUCTION, SANDBOX, serve } from './http-support.ts';

/** Changes that stay under way until `finish`, a change with little time, and a read. */
function slowRoutes() {
  const begun: unknown[] = [];
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const facts = {
    caller: 'merchant',
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
  const hurried = defineRoute({
    ...facts,
    method: 'POST',
    path: '/hurried',
    operationId: 'hurried',
    responseTimeoutMs: 300,
  }).handledBy(async () => {
    begun.push('late');
    return { status: 200, body: success('Changed', null) };
  });
  const read = defineRoute({ ...facts, method: 'GET', operationId: 'read' }).handledBy(
    async () => ({ status: 200, body: success('Read', null) }),
  );
  return { routes: [change, hurried, read], begun, finish };
}

async function serveSlowRoutes() {
  const { routes, begun, finish } = slowRoutes();
  const authenticate = async () => ({
    id: 'M1',
    name: 'Merchant',
    apiKey: 'mk_test_1',
    isReady: true,
  });
  const server = await serve({ routes, authenticate, responseTimeoutMs: HANGS_MS });
  const change = (base: string, name: string) =>
    server.call(`${base}/slow`, { method: 'POST', headers: { Name: name } });
  /** All turns of the sandbox are taken. */
  const takeAllTurns = async () => {
    const names = Array.from({ length: CHANGES_AT_ONCE }, (_, index) => `first-${index}`);
    const answers = names.map((name) => change(SANDBOX, name));
    await expect.poll(() => begun).toHaveLength(CHANGES_AT_ONCE);
    return answers;
  };
  return { server, begun, finish, change, takeAllTurns };
}

test('a change waits for its turn; reads and the other environment do not', async () => {
  const { server, begun, finish, change, takeAllTurns } = await serveSlowRoutes();
  await using _ = server;
  const answers = await takeAllTurns();
  const waiting = change(SANDBOX, 'waiting');
  expect((await server.call(`${SANDBOX}/slow`)).status).toBe(200);
  const production = change(PRODUCTION, 'production');
  await expect.poll(() => begun).toContain('production');
  expect(begun).not.toContain('waiting');
  finish();
  const all = await Promise.all([...answers, production, waiting]);
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
  expect(begun.at(-1)).toBe('waiting');
});

test('a change whose time is over when its turn comes is not begun', async () => {
  const { server, begun, finish, change, takeAllTurns } = await serveSlowRoutes();
  await using _ = server;
  const answers = await takeAllTurns();
  const late = await server.call(`${SANDBOX}/hurried`, { method: 'POST' });
  expect(late.status).toBe(500);
  finish();
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  expect((await change(SANDBOX, 'next')).status).toBe(200);
  expect(begun).toContain('next');
  expect(begun).not.toContain('late');
});

test('a change that could not be done in time when its turn comes is not begun', async () => {
  const { server, begun, finish, change, takeAllTurns } = await serveSlowRoutes();
  await using _ = server;
  const answers = await takeAllTurns();
  const waiting = change(SANDBOX, 'waiting');
  // Its time has begun when a later request is answered.
  expect((await server.call(`${SANDBOX}/slow`)).status).toBe(200);
  const moved = moveMonotonicClock(0.8 * HANGS_MS);
  onTestFinished(moved.stop);
  finish();
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  const { status, text } = await waiting;
  expect(status).toBe(500);
  expect(text).toContain('has not begun this request: try it again');
  expect(begun).not.toContain('waiting');
});

test('a change whose client has gone when its turn comes is not begun', async () => {
  const { server, begun, finish, change, takeAllTurns } = await serveSlowRoutes();
  await using _ = server;
  const answers = await takeAllTurns();
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
  expect((await change(SANDBOX, 'next')).status).toBe(200);
  expect(begun).not.toContain('gone');
  expect(server.logged.map(({ msg }) => msg)).toContainEqual(
    'The service is busy and has not begun this request: try it again',
  );
});
