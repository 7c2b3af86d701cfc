import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectGuarded } from '../../src/webhooks/sending/guarded-connector.ts';
import { AddressDeniedError } from '../../src/webhooks/sending/resolve-host.ts';
import { WebhookNotAttemptedError } from '../../src/webhooks/sending/sender.ts';
import {
  createCertificate,
  hasIpv6Loopback,
  startDrippingReceiver,
  startReceiver,
  startRecordingReceiver,
  startTcpReceiver,
} from './receivers.ts';
import { makeSender, OPENED, webhookTo } from './send.ts';

const MEBIBYTE = 1024 * 1024;
const HEADERS_OF_200 = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n';

/** Stops the timers of time limits. @returns a function that lets time pass for them */
function stopTimeLimits(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.advanceTimersByTime(ms);
}

/** No answer came, for this reason. */
const noAnswer = (error: string) => ({ outcome: 'no_answer', statusCode: null, error });

describe('the webhook that the receiver gets', () => {
  test('has the exact bytes, the given headers, and the receiver’s Host, path and query', async () => {
    const receiver = await startRecordingReceiver();
    const body = Buffer.from('{"description":"चाय ☕"}  \n');
    const result = await makeSender().send(
      webhookTo(`http://hooks.example.com:${receiver.port}/a%20b/?shop=1&x=%2F#part`, {
        body,
        headers: { 'content-type': 'application/json', 'x-service-signature': 'ab12' },
      }),
    );
    expect(result).toMatchObject({ outcome: 'delivered', statusCode: 200, error: null });
    expect(result.responseBody.toString()).toBe('ok');
    expect(receiver.received).toEqual([
      {
        method: 'POST',
        url: '/a%20b/?shop=1&x=%2F',
        body,
        headers: {
          host: `hooks.example.com:${receiver.port}`,
          connection: 'keep-alive',
          'content-type': 'application/json',
          'x-service-signature': 'ab12',
          'content-length': String(body.length),
        },
      },
    ]);
  });

  test.each([200, 201, 202, 204, 299])('is accepted if the response is %i', async (statusCode) => {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(statusCode).end();
    });
    const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject({ outcome: 'delivered', statusCode, error: null });
  });

  test.runIf(hasIpv6Loopback)('arrives over IPv6, with the right Host', async () => {
    const receiver = await startRecordingReceiver({ address: '::1' });
    const sender = makeSender({ allowedCidrs: ['::1/128'] });
    const result = await sender.send(webhookTo(`http://[::1]:${receiver.port}/`));
    expect(result.outcome).toBe('delivered');
    expect(receiver.received[0]?.headers.host).toBe(`[::1]:${receiver.port}`);
  });

  test('arrives at localhost if that is opened, without a DNS lookup', async () => {
    const receiver = await startRecordingReceiver();
    const lookup = vi.fn(async () => ['8.8.8.8']);
    const sender = makeSender({ allowedCidrs: ['127.0.0.0/8', '::1/128'], lookup });
    const result = await sender.send(webhookTo(`http://localhost:${receiver.port}/`));
    expect(result.outcome).toBe('delivered');
    expect(lookup).not.toHaveBeenCalled();
  });

  test('is sent to the next address of a name if the first accepts no connection', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender({
      allowedCidrs: ['127.0.0.0/8'],
      lookup: async () => ['127.0.0.99', OPENED],
    });
    const result = await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
    expect(result.outcome).toBe('delivered');
  });

  test('is never sent through a proxy, whatever the environment says', async () => {
    const proxy = await startRecordingReceiver();
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const receiver = await startRecordingReceiver();
    const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(result.outcome).toBe('delivered');
    expect(receiver.received).toHaveLength(1);
    expect(proxy.connectionCount).toBe(0);
  });
});

describe('every kind of receiver failure is logged as the right attempt', () => {
  test.each([400, 401, 404, 410, 429, 500, 503])('a response of %i', async (statusCode) => {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(statusCode).end('went wrong');
    });
    const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject({
      outcome: 'rejected',
      statusCode,
      error: `answered ${statusCode}`,
      responseBody: Buffer.from('went wrong'),
    });
  });

  test.each([301, 302, 303, 307, 308])('a redirect %i is not followed', async (statusCode) => {
    const target = await startRecordingReceiver();
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(statusCode, { location: `http://127.0.0.1:${target.port}/` }).end();
    });
    const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject({
      outcome: 'rejected',
      statusCode,
      error: `answered ${statusCode}; redirects are not followed`,
    });
    expect(target.connectionCount).toBe(0);
  });

  test.each([
    ['hangs', '', ''],
    ['drips its headers', 'HTTP/1.1 200 OK\r\nx-drip: ', 'a'],
    ['sends one interim answer after the other', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('a receiver that %s is given up in time', async (_name, first, piece) => {
    const pass = stopTimeLimits();
    const receiver = await startDrippingReceiver(first, piece);
    const sending = makeSender({ totalTimeoutMs: 250 }).send(
      webhookTo(`http://127.0.0.1:${receiver.port}/`),
    );
    await expect.poll(receiver.piecesWritten).toBeGreaterThan(5);
    pass(250);
    expect(await sending).toMatchObject({
      ...noAnswer('no complete answer within 0.25 s'),
      outcome: 'timed_out',
    });
    await receiver.untilClosed(1);
  });

  test.each([
    ['1 GB', 200, 'delivered', `content-length: ${1024 * MEBIBYTE}\r\n`],
    ['endless', 200, 'delivered', ''],
    ['endless', 500, 'rejected', ''],
  ])(
    'of %s after a %i, 16 KiB are kept and it is %s',
    async (_name, statusCode, outcome, header) => {
      const chunk = Buffer.alloc(65_536, 'x');
      const receiver = await startTcpReceiver((socket) => {
        const pour = (): void => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.write(`HTTP/1.1 ${statusCode} Status\r\n${header}\r\n`);
        socket.on('drain', pour);
        pour();
      });
      const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
      expect(result).toMatchObject({ outcome, statusCode });
      expect(result.responseBody).toEqual(Buffer.alloc(16_384, 'x'));
      await receiver.untilClosed(1);
      // The bytes in both sides' kernel buffers before the sender closed the connection.
      expect(receiver.closedConnections[0]?.bytesWritten).toBeLessThan(32 * MEBIBYTE);
    },
  );

  test('a response of exactly 16 KiB is logged completely, and its connection is kept', async () => {
    const receiver = await startReceiver((_request, response) => {
      response.end(Buffer.alloc(16_384, 'x'));
    });
    const sender = makeSender();
    for (const _attempt of [1, 2]) {
      const result = await sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
      expect(result.responseBody).toHaveLength(16_384);
    }
    expect(receiver.connectionCount).toBe(1);
  });

  test('endless headers are cut off at 16 KiB', async () => {
    const receiver = await startTcpReceiver((socket) => {
      socket.write(`${HEADERS_OF_200}x-long: ${'a'.repeat(1_000_000)}`);
    });
    const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject(noAnswer("the answer's headers are too large"));
  });

  test.each([
    ['closes at once', (socket) => socket.end()],
    ['resets at once', (socket) => socket.resetAndDestroy()],
    ['closes after the request', (socket) => socket.once('data', () => socket.destroy())],
    ['closes inside its headers', (socket) => socket.end(HEADERS_OF_200)],
  ] satisfies [string, (socket: Socket) => void][])(
    'a receiver that %s',
    async (_name, onConnection) => {
      const receiver = await startTcpReceiver(onConnection);
      const result = await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
      expect(result).toMatchObject(
        noAnswer('the connection was closed before the answer was complete'),
      );
      expect(receiver.connectionCount).toBe(1);
    },
  );

  test('a port without a listener', async () => {
    const { port } = await startTcpReceiver(() => {}, '127.0.0.1');
    const sender = makeSender({ allowedCidrs: ['127.0.0.0/8'] });
    const result = await sender.send(webhookTo(`http://127.0.0.98:${port}/`));
    expect(result).toMatchObject(noAnswer('the connection was refused'));
  });

  test('a TLS handshake that never ends is aborted within the time to connect', async () => {
    const pass = stopTimeLimits();
    const receiver = await startTcpReceiver((socket) => socket.resume());
    const sending = makeSender({ connectTimeoutMs: 100 }).send(
      webhookTo(`https://127.0.0.1:${receiver.port}/`),
    );
    await expect.poll(() => receiver.connectionCount).toBe(1);
    pass(100);
    expect(await sending).toMatchObject({
      outcome: 'timed_out',
      error: 'no connection within 0.1 s',
    });
    await receiver.untilClosed(1);
  });

  test('a connection that is still being made at the total time-out is closed immediately', async () => {
    const pass = stopTimeLimits();
    const receiver = await startTcpReceiver((socket) => socket.resume());
    const sending = makeSender({ connectTimeoutMs: 10_000, totalTimeoutMs: 100 }).send(
      webhookTo(`https://127.0.0.1:${receiver.port}/`),
    );
    await expect.poll(() => receiver.connectionCount).toBe(1);
    pass(100);
    expect((await sending).error).toBe('no complete answer within 0.1 s');
    // The time to connect has not ended, and never will.
    await receiver.untilClosed(1);
  });

  test('a name that resolves after the time-out is not connected to', async () => {
    const receiver = await startTcpReceiver((socket) => socket.end());
    const { promise: addresses, resolve } = Promise.withResolvers<string[]>();
    const sender = makeSender({ lookup: () => addresses, totalTimeoutMs: 50 });
    const result = await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
    expect(result).toMatchObject({
      outcome: 'timed_out',
      error: 'no complete answer within 0.05 s',
    });
    resolve([OPENED]);
    // If there had been an earlier connection, the receiver would have seen it before this one.
    await makeSender().send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    expect(receiver.connectionCount).toBe(1);
  });

  test.each([
    ['fails', () => Promise.reject(new Error('ENOTFOUND'))],
    ['finds nothing', async () => []],
  ])('a name whose resolver %s', async (_name, lookup) => {
    const sender = makeSender({ lookup });
    const result = await sender.send(webhookTo('http://example.com/'));
    expect(result).toMatchObject(noAnswer('the host name cannot be resolved'));
  });
});

describe('TLS', () => {
  const certificate = createCertificate('DNS:hooks.example.com', 'IP:127.0.0.1');
  const trusting = { caCertificates: [certificate.cert] };

  test.each(['hooks.example.com', '127.0.0.1'])(
    'sends to %s, whose certificate fits',
    async (host) => {
      const receiver = await startRecordingReceiver({ tls: certificate });
      const url = `https://${host}:${receiver.port}/`;
      const result = await makeSender(trusting).send(webhookTo(url, { environment: 'production' }));
      expect(result).toMatchObject({ outcome: 'delivered', error: null });
      expect(receiver.received[0]?.headers.host).toBe(`${host}:${receiver.port}`);
    },
  );

  test('sends the requested name to the receiver', async () => {
    const names: string[] = [];
    const receiver = await startRecordingReceiver({
      tls: {
        ...certificate,
        SNICallback: (name, callback) => {
          names.push(name);
          callback(null);
        },
      },
    });
    await makeSender(trusting).send(webhookTo(`https://hooks.example.com.:${receiver.port}/`));
    expect(names).toEqual(['hooks.example.com']);
  });

  test('sends nothing to a receiver whose certificate is not trusted', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const receiver = await startRecordingReceiver({ tls: certificate });
    const url = `https://hooks.example.com:${receiver.port}/`;
    const result = await makeSender().send(webhookTo(url));
    expect(result).toMatchObject(
      noAnswer('the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)'),
    );
    expect(receiver.received).toHaveLength(0);
  });

  test('sends nothing to a receiver whose certificate is for another name', async () => {
    const receiver = await startRecordingReceiver({ tls: certificate });
    const url = `https://other.example.com:${receiver.port}/`;
    const result = await makeSender(trusting).send(webhookTo(url));
    expect(result).toMatchObject({
      outcome: 'no_answer',
      error: 'the certificate is not valid (ERR_TLS_CERT_ALTNAME_INVALID)',
    });
    expect(receiver.received).toHaveLength(0);
  });

  test.each([
    ['TLSv1.1', 'no_answer'],
    ['TLSv1.2', 'delivered'],
    ['TLSv1.3', 'delivered'],
  ] as const)('a receiver that speaks up to %s: %s', async (maxVersion, outcome) => {
    const receiver = await startRecordingReceiver({
      tls: { ...certificate, minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' },
    });
    const url = `https://hooks.example.com:${receiver.port}/`;
    const result = await makeSender(trusting).send(webhookTo(url));
    expect(result.outcome).toBe(outcome);
    if (outcome === 'no_answer') expect(result.error).toMatch(/^the TLS handshake failed/);
  });
});

describe('the guard at the connection', () => {
  test.each([
    'http://127.0.0.2:PORT/',
    'http://127.2:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://10.0.0.1:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost:PORT/',
  ])('never connects to %s', async (template) => {
    const receiver = await startTcpReceiver(() => {}, '0.0.0.0');
    const url = template.replace('PORT', String(receiver.port));
    const result = await makeSender().send(webhookTo(url));
    expect(result).toMatchObject({ outcome: 'url_refused', statusCode: null, durationMs: 0 });
    expect(result.error).toMatch(/^the URL must not point to/);
    expect(receiver.connectionCount).toBe(0);
  });

  test('checks every static rule again before each attempt', async () => {
    const http = await makeSender().send(
      webhookTo('http://127.0.0.1/', { environment: 'production' }),
    );
    expect(http.error).toBe('the URL must use https in production');
    const port = await makeSender({ deniedPorts: [5432] }).send(
      webhookTo('http://127.0.0.1:5432/'),
    );
    expect(port.error).toBe('the URL must not use port 5432');
  });

  test.each([
    ['a denied address', ['127.0.0.2']],
    ['a denied address among allowed ones', [OPENED, '127.0.0.2']],
    ['an IPv4 address inside an IPv6 one', ['::ffff:127.0.0.1']],
    ['what is no address', ['localhost']],
  ])('never connects to a name that resolves to %s', async (_name, addresses) => {
    const receiver = await startTcpReceiver(() => {}, '0.0.0.0');
    const sender = makeSender({ lookup: async () => addresses });
    const result = await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
    expect(result).toMatchObject(noAnswer('the host has an address that is not allowed'));
    expect(receiver.connectionCount).toBe(0);
  });

  // On other systems loopback has only the address 127.0.0.1.
  test.runIf(process.platform === 'linux')(
    'connects to exactly the address that was checked, whatever else the name resolves to',
    async () => {
      const connectedTo: (string | undefined)[] = [];
      const receiver = await startTcpReceiver((socket) => {
        connectedTo.push(socket.localAddress);
        socket.end();
      }, '0.0.0.0');
      const sender = makeSender({
        allowedCidrs: ['127.0.0.77/32'],
        lookup: async () => ['127.0.0.77'],
      });
      await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
      expect(connectedTo).toEqual(['127.0.0.77']);
    },
  );

  test('is not bypassed by a resolver that changes its response', async () => {
    const receiver = await startRecordingReceiver();
    const answers = [[OPENED], ['127.0.0.2']];
    const lookup = vi.fn(async () => answers.shift() ?? ['127.0.0.3']);
    const sender = makeSender({ lookup, maxConnectionAgeMs: 0 });
    const request = webhookTo(`http://example.com:${receiver.port}/`);

    expect((await sender.send(request)).outcome).toBe('delivered');
    expect(lookup).toHaveBeenCalledTimes(1);
    expect((await sender.send(request)).error).toBe('the host has an address that is not allowed');
    expect((await sender.send(request)).error).toBe('the host has an address that is not allowed');
    expect(lookup).toHaveBeenCalledTimes(3);
    expect(receiver.received).toHaveLength(1);
  });

  test('checks a new connection again', async () => {
    const receiver = await startTcpReceiver((socket) => {
      socket.once('data', () => {
        socket.write(`${HEADERS_OF_200}content-length: 0\r\n\r\n`);
        socket.once('data', () => socket.destroy());
      });
    });
    const answers = [[OPENED], ['127.0.0.2']];
    const sender = makeSender({ lookup: async () => answers.shift() ?? [] });
    const request = webhookTo(`http://example.com:${receiver.port}/`);
    expect((await sender.send(request)).outcome).toBe('delivered');
    expect((await sender.send(request)).error).toBe('the host has an address that is not allowed');
    expect(receiver.connectionCount).toBe(1);
  });

  test.each(['http://127.0.0.2', 'http://[::1]', 'https://127.0.0.2'])(
    'refuses in the connector the literal address %s, which is never looked up',
    async (host) => {
      const receiver = await startTcpReceiver(() => {}, '0.0.0.0');
      const lookup = vi.fn(async () => [OPENED]);
      const connecting = connectGuarded(
        new URL(`${host}:${receiver.port}`),
        new AbortController().signal,
        {
          lookup,
          allowedCidrs: [`${OPENED}/32`],
          connectTimeoutMs: 100,
          secureContext: createSecureContext(),
        },
      );
      await expect(connecting).rejects.toThrow(AddressDeniedError);
      expect(lookup).not.toHaveBeenCalled();
      expect(receiver.connectionCount).toBe(0);
    },
  );
});

describe('faults of the service itself use up no attempt', () => {
  test('a header that cannot be sent is an error, not a refused attempt', async () => {
    const receiver = await startRecordingReceiver();
    const request = webhookTo(`http://127.0.0.1:${receiver.port}/`, {
      headers: { 'x-a': 'a\r\nb' },
    });
    await expect(makeSender().send(request)).rejects.toThrow(/header/);
  });

  test('an invalid range is reported when the sender is created', () => {
    expect(() => makeSender({ allowedCidrs: ['127.0.0.1'] })).toThrow(TypeError);
  });

  test('a sender that stops finishes the webhooks under way and accepts no more', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const receiver = await startReceiver(async (_request, response) => {
      resolve();
      await answer.promise;
      response.end();
    });
    const sender = makeSender();
    const request = webhookTo(`http://127.0.0.1:${receiver.port}/`);
    const sending = sender.send(request);
    await arrived;
    const onClosed = vi.fn();
    const closing = sender.close().then(onClosed);
    await expect(sender.send(request)).rejects.toThrow(WebhookNotAttemptedError);
    await new Promise(setImmediate);
    expect(onClosed).not.toHaveBeenCalled();
    answer.resolve();
    await closing;
    expect((await sending).outcome).toBe('delivered');
    expect(sender.stats().idle).toEqual({ originCount: 0, connectionCount: 0 });
    await receiver.untilClosed(1);
  });
});
