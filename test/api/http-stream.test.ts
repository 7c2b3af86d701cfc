import { get } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { endOfTurn } from '../support/turn.ts';
import { until } from '../support/until.ts';
import { serve } from './http-support.ts';

/** A route whose body is this stream. */
const routeOf = (stream: () => Readable) =>
  defineRoute({
    method: 'GET',
    base: 'root',
    path: '/stream',
    operationId: 'stream',
    responses: {
      200: { description: '', contentType: 'text/csv', schema: z.instanceof(Readable) },
    },
  }).handledBy(async () => ({
    status: 200,
    body: stream(),
    headers: { 'Content-Disposition': 'attachment; filename="a.csv"' },
  }));
const streamOf = (parts: () => AsyncGenerator<string>) => routeOf(() => Readable.from(parts()));

test('a stream is sent whole, with its headers', async () => {
  const route = streamOf(async function* parts() {
    yield 'a,b\n';
    await endOfTurn();
    yield '1,₹\n';
  });
  await using server = await serve({ routes: [route] });
  const answer = await server.call('/stream');
  expect([answer.status, answer.text]).toEqual([200, 'a,b\n1,₹\n']);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="a.csv"');
});

test('a stream that fails is cut off, so that no client takes it for the whole', async () => {
  const failing = Promise.withResolvers<void>();
  const route = streamOf(async function* parts() {
    yield 'the first part';
    await failing.promise;
    throw new Error('The database is away');
  });
  await using server = await serve({ routes: [route] });
  const response = await fetch(`${server.url}/stream`);
  expect(response.status).toBe(200);
  failing.resolve();
  await expect(response.text()).rejects.toThrow('terminated');
  await until(async () => server.logged.some(({ msg }) => msg === 'A connection failed'));
});

test('a stream that fails before its first part is no answer', async () => {
  const route = routeOf(() =>
    Readable.from([new Promise((_, reject) => reject(new Error('The database is away')))]),
  );
  await using server = await serve({ routes: [route] });
  await expect(server.call('/stream')).rejects.toThrow('fetch failed');
});

test('no more is read when the client goes, nor faster than the client reads', async () => {
  const state = { parts: 0, isEnded: false };
  const route = streamOf(async function* parts() {
    try {
      for (;;) {
        state.parts += 1;
        yield 'x'.repeat(100_000);
        await endOfTurn();
      }
    } finally {
      state.isEnded = true;
    }
  });
  await using server = await serve({ routes: [route] });
  const request = get(`${server.url}/stream`);
  const response = await new Promise<NodeJS.ReadableStream>((resolve) =>
    request.once('response', resolve),
  );
  response.once('readable', () => undefined);
  // The buffers of both sockets are full: 200 parts would be 20 MB.
  let before = 0;
  let unchanged = 0;
  await until(() => {
    unchanged = state.parts === before ? unchanged + 1 : 0;
    before = state.parts;
    return unchanged === 10;
  });
  expect(state.parts).toBeLessThan(200);
  request.destroy();
  await until(async () => state.isEnded);
});
