import { createHook } from 'node:async_hooks';
import { brotliDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { fileRoute } from '../../src/http/responses/asset.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import { sendRaw, serve } from './http-support.ts';

const PACKET_BYTES = 65_536;
const filled = (begin: string, filler: string, end = '') =>
  begin + filler.repeat(PACKET_BYTES - begin.length - end.length) + end;

/** Each kept the process busy for 6 to 21 s once: forty of them would not be answered before a test ends. */
test.each([
  ['a target without an end', filled('GET /', 'a'), 431],
  ['a method that does not exist', filled('FOO /', 'a'), 400],
  ['a method that does not exist, and blanks', filled('FOO /', ' ', ' HTTP/1.1\r\n'), 400],
  ['a request id with a blank', filled('FOO / HTTP/1.1\r\nX-Request-Id:', ' ', 'a b\r\n'), 405],
  ['a header line without an end', filled('FOO / HTTP/1.1\r\nx-request-id: a', '\t'), 405],
])('forty packets of 64 KB stop nobody: %s', async (_, packet, status) => {
  await using server = await serve();
  const packets = Array.from({ length: 40 }, () => sendRaw(server.port, packet));
  expect((await server.call('/healthz')).status).toBe(200);
  const statuses = (await Promise.all(packets)).map((answer) => answer.slice(9, 12));
  expect(new Set(statuses)).toEqual(new Set([String(status)]));
});

test('a preference of more than a thousand characters is ignored', async () => {
  const notFoundPage = () => ({
    contentType: 'text/html' as const,
    body: '<h1>Not found</h1>',
    headers: {},
  });
  await using server = await serve({ notFoundPage });
  const typeFor = async (accept: string) =>
    (await server.call('/nowhere', { headers: { Accept: accept } })).headers.get('Content-Type');
  expect(await typeFor('text/html')).toContain('text/html');
  expect(await typeFor(`text/html,${'a/b;",;,'.repeat(1900)}`)).toContain('application/json');
});

const style = { content: 'a{color:red}'.repeat(1000), contentType: 'text/css', headers: {} };

test('a file is compressed once, however often it is asked for', async () => {
  await using server = await serve({ routes: [fileRoute('/style.css', style)] });
  const head =
    'GET /style.css HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: br\r\n\r\n';
  const ask = () => sendRaw(server.port, head);
  const bodyOf = (answer: string) => Buffer.from(answer.split('\r\n\r\n')[1] ?? '', 'latin1');
  const compressions: string[] = [];
  const hook = createHook({ init: (_, type) => type === 'ZLIB' && compressions.push(type) });
  hook.enable();
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  hook.disable();
  const bodies = answers.map(bodyOf);
  expect(bodies.map((body) => brotliDecompressSync(body).toString())).toEqual(
    bodies.map(() => style.content),
  );
  expect(compressions).toHaveLength(1);
});

test('database and Temporal are asked once, however many ask whether the process is ready', async () => {
  let asked = 0;
  let nowMs = 0;
  const database = async () => (asked += 1);
  const readiness = createReadiness({ database }, () => nowMs);
  await using server = await serve({ readiness });
  const ask = async () => (await server.call('/readyz')).status;
  const fifty = await Promise.all(Array.from({ length: 50 }, ask));
  expect([new Set(fifty), asked]).toEqual([new Set([200]), 1]);
  nowMs = 1000;
  await ask();
  expect(asked).toBe(2);
  readiness.startStopping();
  expect([await ask(), asked]).toEqual([503, 2]);
});

test('public paths have a limit for each address, also those that do not exist; probes have none', async () => {
  const publicRateLimiter = createMemoryRateLimiter({ limitPerSecond: 2, nowMs: () => 0 });
  const routes = [fileRoute('/style.css', style)];
  await using server = await serve({ routes, publicRateLimiter });
  const statusOf = async (path: string) => (await server.call(path)).status;
  expect(await statusOf('/style.css')).toBe(200);
  expect(await statusOf('/nowhere')).toBe(404);
  const refused = await server.call('/style.css');
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1']);
  expect(await statusOf('/nowhere')).toBe(429);
  expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 200]);
});
