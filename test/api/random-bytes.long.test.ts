import { connect } from 'node:net';
import fc from 'fast-check';
import { expect } from 'vitest';
import { startApiProcess } from '../support/api-process.ts';
import { ORDER_POSTS } from '../support/command-requests.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';

/** Too little for a process that kept the requests that it has refused. */
const HEAP_MEGABYTES = 160;
const REQUESTS = 1_600;
const AT_ONCE = 16;
const END_AFTER_MS = 100;

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } }).extend(
  'api',
  { scope: 'file' },
  ({ service }, { onCleanup }) =>
    stoppedAtEnd(
      startApiProcess(service, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}` }),
      onCleanup,
    ),
);

const latin1 = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
});
const posts = ORDER_POSTS.map(({ path, body }) => [path, JSON.stringify(body ?? {})] as const);

const ODD_HEADERS = [
  'Content-Type: application/json; charset=utf-16',
  'Content-Encoding: gzip',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Content-Length: 9',
  'Content-Length: 70000',
  'Expect: wonders',
  'Upgrade: h2c\r\nConnection: Upgrade',
  `X-Long: ${'x'.repeat(20_000)}`,
];

/** A request as latin1 text, in which anything may be wrong: its line, its headers, its length, its body. */
const requestOf = (credentials: string) =>
  fc
    .record({
      method: fc.constantFrom('POST', 'GET', 'PUT', 'HEAD', 'OPTIONS'),
      post: fc.constantFrom(...posts),
      noise: latin1,
      headers: fc.array(fc.constantFrom(...ODD_HEADERS), { maxLength: 2 }),
      version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', ''),
      /** Where the noise is put in, as a part of the whole; null: only into the path. */
      at: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    })
    .map(({ method, post: [path, body], noise, headers, version, at }) => {
      const target = `/sandbox/api/merchant/v1${path.replace('{id}', encodeURIComponent(noise))}`;
      const length = `Content-Length: ${body.length}`;
      const own = ['Host: a', credentials, 'Content-Type: application/json', length];
      const text = [`${method} ${target} ${version}`, ...own, ...headers, '', body].join('\r\n');
      if (at === null) return text;
      const place = Math.floor(at * text.length);
      return text.slice(0, place) + noise + text.slice(place);
    });

/**
 * Writes a text to a connection of its own, and ends it once an answer has begun. A server drops the answers that it
 * has not written when the client's side ends.
 *
 * @param endAfterMs ends it then without an answer, because the text may be the beginning of a request
 * @returns the statuses of the answers
 */
async function statusesOf(port: number, text: string, endAfterMs?: number): Promise<number[]> {
  const socket = connect({ host: '127.0.0.1', port });
  const end = () => socket.end();
  if (endAfterMs !== undefined) socket.setTimeout(endAfterMs, end);
  let answers = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    answers += part;
    end();
  });
  socket.on('error', () => undefined);
  socket.write(text, 'latin1');
  // `once` would reject with a reset.
  await new Promise((resolve) => socket.once('close', resolve));
  return [...answers.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
}

test('random bytes in requests cause no server error, and the API keeps none of them', async ({
  merchant,
  api,
}) => {
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  const credentials = `X-API-Key: ${apiKey}\r\nX-API-Secret: ${apiSecret}`;
  const path = '/sandbox/api/merchant/v1/orders/unknown/deliver';
  const plain = [`POST ${path} HTTP/1.1`, 'Host: a', credentials, '', ''].join('\r\n');
  expect(await statusesOf(api.port, plain)).toEqual([404]);

  const some = fc.array(requestOf(credentials), { minLength: AT_ONCE, maxLength: AT_ONCE });
  const seen = new Set<number>();
  const sendsNoServerError = fc.asyncProperty(some, async (texts) => {
    const statuses = await Promise.all(
      texts.map((text) => statusesOf(api.port, text, END_AFTER_MS)),
    );
    for (const status of statuses.flat()) seen.add(status);
    expect(statuses.flat().filter((status) => status >= 500)).toEqual([]);
  });
  await fc.assert(sendsNoServerError, { numRuns: REQUESTS / AT_ONCE });
  expect([...seen]).toContain(400);
  expect((await repeated(() => api.as(merchant.keys).get('/orders'))).status).toBe(200);
});
