import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { serve } from './http-support.ts';

const FILE_LIMIT = 5 * 1024 * 1024;
const BODY_LIMIT = FILE_LIMIT + 64 * 1024;
const BOUNDARY = 'x-x-x';
const TYPE = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Returns what it was sent: the text, and the file's name, declared type and hash. */
const upload = defineRoute({
  base: 'root',
  method: 'POST',
  path: '/upload',
  operationId: 'upload',
  bodyType: 'multipart',
  body: z.object({
    kind: z.string({ error: 'must be given' }),
    file: z.instanceof(File, { error: 'must be a file' }),
  }),
  responses: { 200: { description: '', schema: z.looseObject({}) } },
}).handledBy(async ({ body: { kind, file } }) => ({
  status: 200,
  body: { kind, name: file.name, type: file.type, hash: hashOf(await file.bytes()) },
}));

async function send(body: BodyInit, headers: Record<string, string> = {}) {
  await using server = await serve({ routes: [upload] });
  const init = { method: 'POST', headers, body, duplex: 'half' } as const;
  return server.call('/upload', init);
}

const messageOf = async (body: BodyInit, headers: Record<string, string> = TYPE) => {
  const { status, json } = await send(body, headers);
  return [status, json['message']];
};

/** A form as browsers write it. */
function formOf(content: Uint8Array<ArrayBuffer>, name = 'pan.pdf', kind = 'identity') {
  const form = new FormData();
  form.set('kind', kind);
  form.set('file', new File([content], name, { type: 'application/pdf' }));
  return form;
}

const part = (name: string, content: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const END = `--${BOUNDARY}--\r\n`;

test('a file arrives byte for byte, with the other fields', async () => {
  const content = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256);
  const { status, json } = await send(formOf(content, 'आधार "2".pdf', '₹ & more'));
  expect([status, json]).toEqual([
    200,
    {
      kind: '₹ & more',
      name: 'आधार "2".pdf',
      type: 'application/pdf',
      hash: hashOf(content),
    },
  ]);
});

test('a file of 5 MB fits', async () => {
  expect((await send(formOf(new Uint8Array(FILE_LIMIT)))).status).toBe(200);
});

test('a larger form is a 413 by its Content-Length, before it is read', async () => {
  const [status, message] = await messageOf(new Uint8Array(BODY_LIMIT + 1));
  expect([status, message]).toEqual([413, 'The file is larger than 5 MB']);
});

test('a form without Content-Length is cut off at the same limit', async () => {
  const stream = (bytes: number) => new Blob([new Uint8Array(bytes)]).stream();
  expect(await messageOf(stream(BODY_LIMIT))).toEqual([400, 'Malformed multipart form']);
  expect(await messageOf(stream(BODY_LIMIT + 1))).toEqual([413, 'The file is larger than 5 MB']);
});

test.each([
  ['no boundary in the body', 'nonsense'],
  ['no end', part('kind', 'identity')],
  ['a part without a name', `--${BOUNDARY}\r\nX: y\r\n\r\nz\r\n${END}`],
  ['headers of a part that do not end', `--${BOUNDARY}\r\nContent-Disposition: form-data`],
  ['nothing', ''],
])('a malformed form is a 400: %s', async (_what, body) => {
  expect(await messageOf(body)).toEqual([400, 'Malformed multipart form']);
});

test('a form without the name of its boundary is a 400', async () => {
  const body = part('kind', 'a') + END;
  expect(await messageOf(body, { 'Content-Type': 'multipart/form-data' })).toEqual([
    400,
    'Malformed multipart form',
  ]);
});

test.each(['application/json', 'application/x-www-form-urlencoded', 'multipart/mixed; boundary=x'])(
  'a route for files accepts only multipart forms: %s',
  async (type) => {
    expect(await messageOf('{}', { 'Content-Type': type })).toEqual([
      400,
      'Content-Type must be multipart/form-data',
    ]);
  },
);

test('a missing file, or a text in its place, is a violation of its field', async () => {
  const violationsOf = async (body: string) => (await send(body, TYPE)).json['validationErrors'];
  expect(await violationsOf(part('kind', 'a') + END)).toEqual({ file: 'must be a file' });
  expect(await violationsOf(part('kind', 'a') + part('file', 'text') + END)).toEqual({
    file: 'must be a file',
  });
  expect(await violationsOf(END)).toEqual({ kind: 'must be given', file: 'must be a file' });
});

test('text that PostgreSQL cannot hold is a violation, and a field of a prototype changes none', async () => {
  const form = formOf(new Uint8Array(1), 'a.pdf', 'a\0b');
  expect((await send(form)).json['validationErrors']).toEqual({
    kind: 'must not contain NUL characters or unpaired surrogates',
  });
  expect((await send(part('__proto__', 'a') + END, TYPE)).status).toBe(400);
  expect(({} as Record<string, unknown>)['kind']).toBeUndefined();
});

test('of repeated fields the last one counts', async () => {
  const form = formOf(new Uint8Array(1));
  form.append('kind', 'bank');
  expect((await send(form)).json['kind']).toBe('bank');
});

const partsOf = (count: number) =>
  part('kind', 'a').repeat(count - 1) +
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\nx\r\n`;

test('a form has at most 99 parts, so that 5 MB of empty ones are not parsed', async () => {
  expect((await send(partsOf(99) + END, TYPE)).status).toBe(200);
  expect(await messageOf(partsOf(100) + END)).toEqual([400, 'Malformed multipart form']);
});

test('the headers of a part have at most 4 KiB, so that 5 MB of them are not parsed', async () => {
  const withHeaders = (bytes: number) =>
    `--${BOUNDARY}\r\n${'X: y\r\n'.repeat(bytes / 6)}${partsOf(1).slice(BOUNDARY.length + 4)}${END}`;
  const text = part('kind', 'a');
  expect((await send(text + withHeaders(3_600), TYPE)).status).toBe(200);
  expect(await messageOf(text + withHeaders(4_200))).toEqual([400, 'Malformed multipart form']);
});

test.each([
  'multipart/form-data; boundary=x-x-x; boundary=y',
  'multipart/form-data; charset=utf-8; boundary=x-x-x',
  'multipart/form-data; boundary="x-x-x',
  `multipart/form-data; boundary=${'x'.repeat(71)}`,
])('the boundary is the only parameter, so that there is no other one: %s', async (type) => {
  expect(await messageOf(partsOf(2) + END, { 'Content-Type': type })).toEqual([
    400,
    'Malformed multipart form',
  ]);
});

test('a boundary may be quoted', async () => {
  const type = { 'Content-Type': `multipart/form-data; boundary="${BOUNDARY}"` };
  expect((await send(partsOf(2) + END, type)).status).toBe(200);
});
