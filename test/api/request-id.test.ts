import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { envelopeOf, success } from '../../src/http/responses/response.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import { everyKindOfAnswer, MALFORMED_REQUESTS, SANDBOX, sendRaw, serve } from './http-support.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const facts = {
  base: 'merchant',
  method: 'GET',
  summary: '',
  description: '',
  tags: [],
  responses: { 200: { description: '', schema: envelopeOf(z.null()) } },
} as const;

const faulty = defineRoute({ ...facts, path: '/odd', operationId: 'odd' }).handledBy(async () => {
  throw new Error('boom');
});

/** The header in a response that was read as text. */
const idIn = (answer: string) => /^X-Request-Id: (.*)\r$/im.exec(answer)?.[1];

test('every kind of response has a unique request id, errors and unknown paths included', async () => {
  await using server = await serve();
  const answers = await everyKindOfAnswer(server, '/nowhere');
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 400, 204, 405, 401, 413]);
  const ids = answers.map(({ headers }) => headers.get('X-Request-Id') ?? '');
  for (const id of ids) expect(id).toMatch(UUID);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(MALFORMED_REQUESTS)(
  'a malformed request has an id too, in its response and its log line: %s',
  async (_what, bytes, status) => {
    await using server = await serve();
    const answer = await sendRaw(server.port, bytes);
    expect(idIn(answer)).toMatch(UUID);
    expect(server.logged.filter(({ msg }) => msg === 'request')).toMatchObject([
      { requestId: idIn(answer), status },
    ]);
  },
);

test.each([
  ['an answer', `GET ${SANDBOX}/things/T1 HTTP/1.1`],
  ['an unknown path', 'GET /nowhere HTTP/1.1'],
  ['headers over 16 KiB', `GET / HTTP/1.1\r\nX: ${'x'.repeat(17_000)}`],
  ['an unknown method', 'PAY / HTTP/1.1'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1'],
])("the client's own request id is kept: %s", async (_what, start) => {
  await using server = await serve();
  const [line, ...rest] = start.split('\r\n');
  const own = ['X-Request-Id: Shop_7.order-12', 'Host: a', 'Connection: close'];
  const bytes = [line, ...own, ...rest, '', ''].join('\r\n');
  expect(idIn(await sendRaw(server.port, bytes))).toBe('Shop_7.order-12');
});

test.each([
  ['64 characters', 'a'.repeat(64), true],
  ['one character', '7', true],
  ['65 characters', 'a'.repeat(65), false],
  ['nothing', '', false],
  ['a space', 'a b', false],
  ['a line of a log', '{"level":60}', false],
  ['other letters', 'größe', false],
])('a request id of %s is kept or replaced, as the contract says', async (_what, id, isKept) => {
  await using server = await serve();
  const sending = request({
    port: server.port,
    host: '127.0.0.1',
    path: '/healthz',
    headers: { 'X-Request-Id': Buffer.from(id).toString('latin1') },
  });
  sending.end();
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  response.resume();
  const answered = String(response.headers['x-request-id']);
  if (isKept) expect(answered).toBe(id);
  else expect(answered).toMatch(UUID);
});

test('two ids in one request are both replaced by a generated one', async () => {
  await using server = await serve();
  const head = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n';
  const twice = 'X-Request-Id: one\r\nX-Request-Id: two\r\n';
  expect(idIn(await sendRaw(server.port, `${head}${twice}\r\n`))).toMatch(UUID);
});

test('every log line of a request has its id, also with concurrent requests', async () => {
  const gate = Promise.withResolvers<void>();
  const arrived: string[] = [];
  const talking = defineRoute({ ...facts, path: '/talk', operationId: 'talk' }).handledBy(
    async ({ log, requestId }) => {
      arrived.push(requestId);
      if (arrived.length === 2) gate.resolve();
      await gate.promise;
      log.info({ expected: requestId }, 'said');
      return { status: 200, body: success('', null) };
    },
  );
  await using server = await serve({ routes: [talking, faulty] });
  const get = (path: string, id: string) =>
    server.call(SANDBOX + path, { headers: { 'X-Request-Id': id } });
  await Promise.all([get('/talk', 'first'), get('/talk', 'second'), get('/odd', 'third')]);
  const said = server.logged.filter(({ msg }) => msg === 'said');
  expect(said).toHaveLength(2);
  for (const { requestId, expected } of said) expect(requestId).toBe(expected);
  const ofThird = server.logged.filter(({ requestId }) => requestId === 'third');
  expect(ofThird.map(({ msg }) => msg)).toEqual(['Unexpected error', 'request']);
});

test('health checks are logged only at level debug, failing ones always', async () => {
  await using well = await serve();
  await well.call('/healthz');
  const DEBUG = 20;
  expect(well.logged.filter(({ msg }) => msg === 'request')).toMatchObject([{ level: DEBUG }]);
  const readiness = createReadiness({
    database: async () => {
      throw new Error('away');
    },
  });
  await using unwell = await serve({ readiness });
  await unwell.call('/readyz');
  const INFO = 30;
  expect(unwell.logged.filter(({ msg }) => msg === 'request')).toMatchObject([
    { level: INFO, status: 503 },
  ]);
});
