import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { createSlots } from '../../src/http/limits/slots.ts';
import { serve } from './http-support.ts';

const facts = { base: 'root' } as const;

/** Answers once the whole form has arrived. */
const upload = defineRoute({
  ...facts,
  method: 'POST',
  path: '/upload',
  operationId: 'upload',
  bodyType: 'multipart',
  headers: z.object({ Cookie: z.string().optional() }),
  body: z.object({ kind: z.string() }),
  responses: { 200: { description: '', schema: z.looseObject({}) } },
  beforeBody: async ({ Cookie }) =>
    Cookie === 'session=none' ? { status: 200, body: { is: 'refused unread' } } : undefined,
}).handledBy(async ({ body }) => ({ status: 200, body }));

const BODY = '--x\r\nContent-Disposition: form-data; name="kind"\r\n\r\nidentity\r\n--x--\r\n';
const HEAD = [
  'POST /upload HTTP/1.1',
  'Host: a',
  'Content-Type: multipart/form-data; boundary=x',
  `Content-Length: ${BODY.length}`,
];

/** Begins an upload and sends only the first byte of its body. */
async function beginUpload(port: number, ...headers: string[]) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`${[...HEAD, ...headers].join('\r\n')}\r\n\r\n${BODY[0]}`);
  return {
    /** The first bytes of the answer. */
    answer: () => answerOf(socket),
    /** Sends the rest. */
    async finish() {
      socket.write(BODY.slice(1));
      return answerOf(socket);
    },
    close: () => socket.destroy(),
  };
}

async function answerOf(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('latin1');
}

test('a client uploads two files at the same time, and a third one once one has arrived', async () => {
  await using server = await serve({ routes: [upload] });
  const first = await beginUpload(server.port);
  const second = await beginUpload(server.port);
  const third = await beginUpload(server.port);
  const refusal = await third.answer();
  expect(refusal).toContain('HTTP/1.1 429');
  expect(refusal).toContain('Retry-After: 10');
  expect(refusal).toContain('Too many files are uploaded at the same time');
  expect(await first.finish()).toContain('HTTP/1.1 200');
  const fourth = await beginUpload(server.port);
  expect(await fourth.finish()).toContain('HTTP/1.1 200');
  expect(await second.finish()).toContain('HTTP/1.1 200');
  for (const one of [first, second, third, fourth]) one.close();
});

test('the places of a client who disconnects are free again', async () => {
  await using server = await serve({ routes: [upload] });
  const begun = await Promise.all([1, 2].map(() => beginUpload(server.port)));
  for (const one of begun) one.close();
  await expect
    .poll(async () => {
      const next = await beginUpload(server.port);
      const answer = await next.finish();
      next.close();
      return answer;
    })
    .toContain('HTTP/1.1 200');
});

test('a request can be answered before its body has arrived', async () => {
  await using server = await serve({ routes: [upload] });
  const begun = await beginUpload(server.port, 'Cookie: session=none');
  expect(await begun.answer()).toContain('refused unread');
  begun.close();
});

test('all clients together have a limit, and a slot is given back once', () => {
  const slots = createSlots({ ofOne: 2, ofAll: 3 }, 'Too many');
  const tooMany = expect.objectContaining({
    code: 'TOO_MANY_REQUESTS',
    headers: { 'Retry-After': '10' },
    message: 'Too many',
  });
  const [first] = ['a', 'a', 'b'].map((who) => slots.take(who));
  expect(() => slots.take('a')).toThrow(tooMany);
  expect(() => slots.take('c')).toThrow(tooMany);
  first?.();
  first?.();
  slots.take('c');
  expect(() => slots.take('b')).toThrow(tooMany);
});
