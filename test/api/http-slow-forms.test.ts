import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { drip } from '../support/drip.ts';
import { serve } from './http-support.ts';

const facts = { base: 'root' } as const;
const html = { description: '', contentType: 'text/html', schema: z.string() };

/** A page whose refusal shows the fields that have arrived. */
const pageAt = (path: `/${string}`, bodyType: 'form' | 'multipart') =>
  defineRoute({
    ...facts,
    method: 'POST',
    path,
    operationId: path,
    bodyType,
    body: z.looseObject({}),
    responses: { 200: html },
    refusalPage: ({ status, headers }, _requestId, { body }) => ({
      contentType: 'text/html',
      body: `<h1>${status}</h1>${JSON.stringify(body)}`,
      headers: { ...headers },
    }),
  }).handledBy(async ({ body }) => ({
    status: 200,
    body: `<h1>stored</h1>${String(body['kind'])}`,
  }));

const routes = [pageAt('/form', 'form'), pageAt('/upload', 'multipart')];
/** Long enough for what is sent at once to be read, on a busy machine too. */
const slowClientLimits = {
  headersTimeout: 3_000,
  requestTimeout: 3_000,
  connectionsCheckingInterval: 50,
};

const headOf = (path: string, type: string, lengthBytes: number) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${lengthBytes}\r\n\r\n`;
const MULTIPART = 'multipart/form-data; boundary=x-x';
const KIND = '--x-x\r\nContent-Disposition: form-data; name="kind"\r\n\r\nidentity\r\n';
const FILE = '--x-x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n';

test('a form that arrives too slowly is a page with what has arrived', async () => {
  await using server = await serve({ routes, slowClientLimits });
  const type = 'application/x-www-form-urlencoded';
  const { answer } = await drip(server.port, `${headOf('/form', type, 20_000)}reason=Sold+out`);
  const text = await answer;
  expect(text).toMatch(/^HTTP\/1\.1 408 [^]+<h1>408<\/h1>\{"reason":"Sold out/);
  expect(text).toMatch(/connection: close/i);
});

test('an upload that stops is a page with the fields before its file', async () => {
  await using server = await serve({ routes, slowClientLimits });
  const { answer } = await drip(server.port, headOf('/upload', MULTIPART, 20_000) + KIND + FILE);
  expect(await answer).toMatch(/^HTTP\/1\.1 408 [^]+<h1>408<\/h1>\{"kind":"identity"\}/);
});

test('an upload has a second more for each 32 KiB that has arrived', async () => {
  await using server = await serve({ routes, slowClientLimits });
  const content = 'x'.repeat(32 * 1024 * 20);
  const end = '\r\n--x-x--\r\n';
  const lengthBytes = KIND.length + FILE.length + content.length + end.length;
  const upload = connect(server.port, '127.0.0.1');
  await once(upload, 'connect');
  upload.write(headOf('/upload', MULTIPART, lengthBytes) + KIND + FILE + content);
  // A request that began later and sends nothing more is over first.
  const { answer } = await drip(server.port, headOf('/upload', MULTIPART, 20_000));
  expect(await answer).toContain('408 Request Timeout');
  upload.write(end);
  const [chunk] = (await once(upload, 'data')) as [Buffer];
  expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 OK/);
  upload.destroy();
});

test('a body that no route reads is not waited for: 404, and the connection is closed', async () => {
  await using server = await serve({ routes, slowClientLimits });
  const { answer } = await drip(server.port, headOf('/nothing', 'text/plain', 20_000));
  expect(await answer).toContain('404 Not Found');
});

test('5,000 characters of Hindi fit, which a browser sends as 45 KB; a line break is one character', async () => {
  await using server = await serve({ routes });
  const init = (text: string) => ({ method: 'POST', body: new URLSearchParams({ kind: text }) });
  const hindi = await server.call('/form', init('क'.repeat(5000)));
  expect(hindi.status).toBe(200);
  expect((await server.call('/form', init('क'.repeat(11_000)))).status).toBe(413);
  const broken = await server.call('/form', init('a\r\nb\rc\nd'));
  expect(broken.text).toBe('<h1>stored</h1>a\nb\nc\nd');
  const form = new FormData();
  form.set('kind', 'a\nb');
  const sent = await server.call('/upload', { method: 'POST', body: form });
  expect(sent.text).toBe('<h1>stored</h1>a\nb');
});
