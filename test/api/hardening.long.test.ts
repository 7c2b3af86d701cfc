import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { anOrder } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { drip } from '../support/drip.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { expectSuccess } from './expectations.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } }).extend(
  'api',
  { scope: 'file' },
  ({ service }, { onCleanup }) => stoppedAtEnd(startApiProcess(service), onCleanup),
);

const ORDERS = '/sandbox/api/merchant/v1/orders';

const credentials = (merchant: Merchant) => {
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  return { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret };
};

/** The head of a request, as text. */
const headOf = (line: string, headers: Record<string, string>) =>
  [line, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  );

test('500 sockets that send headers or bodies very slowly are closed while a normal client is served', async ({
  merchant,
  api,
}) => {
  const headers = { Host: 'a', ...credentials(merchant) };
  const body = { ...headers, 'Content-Type': 'application/json', 'Content-Length': '20000' };
  const starts = [
    `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\nX-Drip: `,
    `${headOf(`POST ${ORDERS} HTTP/1.1`, body)}{`,
    // One sends nothing, the other a single byte.
    '',
    'G',
  ];
  const dripping = await Promise.all(
    Array.from({ length: 500 }, (_, index) => drip(api.port, starts[index % starts.length] ?? '')),
  );
  let closed = 0;
  for (const { answer } of dripping) void answer.then(() => (closed += 1));
  const client = api.as(merchant.keys);
  let servedMeanwhile = 0;
  while (closed < dripping.length) {
    expectSuccess(await client.get('/orders'), 200);
    if (closed < dripping.length) servedMeanwhile += 1;
  }
  expect(servedMeanwhile).toBeGreaterThan(0);
});

/** A client with one keep-alive connection, which it uses until a response closes it. */
async function useUntilClosed(
  merchant: Merchant,
  port: number,
  onAnswer: () => void,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const asked = request({
      agent,
      port,
      host: '127.0.0.1',
      path: ORDERS,
      headers: credentials(merchant),
    });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    expect(response.statusCode).toBe(200);
    onAnswer();
    if (response.headers.connection === 'close') return;
  }
}

test('after SIGTERM the API is not ready, responds to every request that was sent, and exits', async ({
  service,
  merchant,
}) => {
  const stopping = await startApiProcess(service);
  // A body whose second half arrives after the signal.
  const text = JSON.stringify(anOrder());
  const slow = connect(stopping.port, '127.0.0.1');
  const received: Buffer[] = [];
  slow.on('data', (chunk: Buffer) => received.push(chunk));
  const slowEnded = once(slow, 'close');
  const headers = {
    Host: 'a',
    ...credentials(merchant),
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
  };
  slow.write(headOf(`POST ${ORDERS} HTTP/1.1`, headers) + text.slice(0, 20));
  const underLoad = Promise.withResolvers<void>();
  let answers = 0;
  const onAnswer = () => (answers += 1) > 100 && underLoad.resolve();
  const requests = Array.from({ length: 30 }, () =>
    useUntilClosed(merchant, stopping.port, () => onAnswer()),
  );
  await underLoad.promise;

  process.kill(stopping.pid, 'SIGTERM');
  const notReady = async () => (await fetch(`${stopping.origin}/readyz`)).status === 503;
  await expect.poll(notReady).toBe(true);
  slow.write(text.slice(20));
  await Promise.all(requests);
  await slowEnded;
  expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 201 Created/);
  expect(await stopping.exited).toEqual({ code: 0, signal: null });
  await expect(fetch(`${stopping.origin}/healthz`)).rejects.toThrow('fetch failed');
  await stopping.stop();
});
