import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { READS_AT_ONCE } from '../../src/http/limits/slots.ts';
import { anOrder } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { linesIn } from '../support/log-lines.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

const ORDERS = '/sandbox/api/merchant/v1/orders';
/** As many as an API works on for one merchant: more would wait for their turn, and get a 429 on a busy machine. */
const CLIENTS = READS_AT_ONCE / 2;

const credentials = (merchant: Merchant) => {
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  return { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret };
};

const headOf = (line: string, headers: Record<string, string>) =>
  [line, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  );

/**
 * A client with one keep-alive connection, which it uses until a response closes it. On a busy machine the
 * server may have closed the idle connection before the next request comes.
 *
 * @returns the id of the request that came too late
 */
async function useUntilClosed(
  merchant: Merchant,
  port: number,
  onAnswer: (requestId: string) => void,
): Promise<string | undefined> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const requestId = randomUUID();
    const asked = request({
      agent,
      port,
      host: '127.0.0.1',
      path: ORDERS,
      headers: { ...credentials(merchant), 'X-Request-Id': requestId },
    });
    asked.end();
    let response: IncomingMessage;
    try {
      [response] = (await once(asked, 'response')) as [IncomingMessage];
    } catch (error) {
      if (asked.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET')
        return requestId;
      throw error;
    }
    response.resume();
    await once(response, 'end');
    expect(response.statusCode).toBe(200);
    onAnswer(requestId);
    if (response.headers.connection === 'close') return undefined;
  }
}

/** Connects and sends the beginning of a request; `end` sends the rest, and returns all of the response. */
async function beginRequest(port: number, beginning: string) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(beginning);
  const answer = text(socket);
  return {
    end(rest: string): Promise<string> {
      socket.write(rest);
      return answer;
    },
  };
}

test('after SIGTERM the API is not ready, responds to every request that was sent, and exits', async ({
  service,
  merchant,
}) => {
  const stopping = await startApiProcess(service, { LOG_LEVEL: 'info' });
  const { port } = stopping;
  // A body whose second half arrives after the signal.
  const body = JSON.stringify(anOrder());
  const headers = {
    Host: 'a',
    ...credentials(merchant),
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  const head = headOf(`POST ${ORDERS} HTTP/1.1`, headers);
  const underLoad = Promise.withResolvers<void>();
  const answered: string[] = [];
  const onAnswer = (id: string) => answered.push(id) > 100 && underLoad.resolve();
  const requests = Array.from({ length: CLIENTS }, () => useUntilClosed(merchant, port, onAnswer));
  await underLoad.promise;

  const slow = await beginRequest(port, head + body.slice(0, 20));
  // No connection is accepted a second after the signal: this one is accepted before it.
  const ready = await beginRequest(port, 'GET /readyz HTTP/1.1\r\nHost: a\r\n');
  process.kill(stopping.pid, 'SIGTERM');
  // A response has closed a connection, so the signal has arrived.
  await Promise.race(requests);
  expect(await ready.end('\r\n')).toMatch(/^HTTP\/1\.1 503 [^]*"stopping"/);
  expect(await slow.end(body.slice(20))).toMatch(/^HTTP\/1\.1 201 Created/);
  const late = await Promise.all(requests);
  expect(await stopping.exited).toEqual({ code: 0, signal: null });
  const got = new Set(linesIn(stopping.logFile).map(({ requestId }) => requestId));
  expect(answered.filter((id) => !got.has(id))).toEqual([]);
  expect(late.filter((id) => id !== undefined && got.has(id))).toEqual([]);
  await expect(fetch(`${stopping.origin}/healthz`)).rejects.toThrow('fetch failed');
  await stopping.stop();
});
