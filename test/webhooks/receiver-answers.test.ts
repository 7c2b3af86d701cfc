import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ResponseHeadReader } from '../../src/webhooks/sending/response-head.ts';
import { CHUNKED, DELIVERED, EARLY_HINTS, OK, OK_WITH_BODY, REFUSED } from './answers.ts';
import { createCertificate, startDrippingReceiver, startTcpReceiver } from './receivers.ts';
import { makeSender, webhookTo } from './send.ts';

/** A receiver that gives each request the same bytes as its answer; `then` says what follows them. */
async function startAnswering(answer: string | Buffer, then: (socket: Socket) => void = () => {}) {
  let requestCount = 0;
  const receiver = await startTcpReceiver((socket) => {
    socket.on('data', (data) => {
      if (!data.includes('POST')) return;
      requestCount += 1;
      socket.write(typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer, () =>
        then(socket),
      );
    });
  });
  const url = `http://127.0.0.1:${receiver.port}/`;
  return { receiver, url, requestCount: () => requestCount };
}

const close = (socket: Socket) => void socket.end();
const reset = (socket: Socket) => void socket.resetAndDestroy();

describe('any number of interim answers, and then a 200, is a delivery', () => {
  test.each([
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'],
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103', EARLY_HINTS],
    ['199', 'HTTP/1.1 199 Unassigned\r\n\r\n'],
    ['100 with a length', 'HTTP/1.1 100 Continue\r\ncontent-length: 0\r\n\r\n'],
    ['100 of HTTP/1.0, without a reason', 'HTTP/1.0 100\r\n\r\n'],
    [
      '100 twice, 102 and 103',
      `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)}HTTP/1.1 102 P\r\n\r\n`,
    ],
    ['a thousand times 103', EARLY_HINTS.repeat(1000)],
  ])('%s', async (_name, interim) => {
    const { url, receiver, requestCount } = await startAnswering(`${interim}${OK_WITH_BODY}`);
    const sender = makeSender();
    for (const _attempt of [1, 2]) {
      const result = await sender.send(webhookTo(url));
      expect(result).toMatchObject({ outcome: 'delivered', statusCode: 200, error: null });
      expect(result.responseBody.toString()).toBe('ok');
    }
    expect(requestCount()).toBe(2);
    expect(receiver.connectionCount).toBe(1);
  });

  test('a 500 after them is refused as that 500', async () => {
    const { url, requestCount } = await startAnswering(
      `HTTP/1.1 100 Continue\r\n\r\n${EARLY_HINTS}HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n`,
    );
    const result = await makeSender().send(webhookTo(url));
    expect(result).toMatchObject({ outcome: 'rejected', statusCode: 500, error: 'answered 500' });
    expect(requestCount()).toBe(1);
  });

  test.each([
    ['the end of the connection', 'HTTP/1.1 100 Continue\r\n\r\n', close],
    ['a reset', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n', reset],
  ])('%s after them is no answer', async (_name, interim, then) => {
    const { url, requestCount } = await startAnswering(interim, then);
    expect(await makeSender().send(webhookTo(url))).toMatchObject({
      outcome: 'no_answer',
      statusCode: null,
      error: 'the connection was closed before the answer was complete',
    });
    expect(requestCount()).toBe(1);
  });

  test('a megabyte of them is the limit', async () => {
    const { url } = await startAnswering(EARLY_HINTS.repeat(30_000));
    expect(await makeSender().send(webhookTo(url))).toMatchObject({
      outcome: 'no_answer',
      error: 'the answer never came after a megabyte of interim answers',
    });
  });
});

describe('a whole head of a 2xx is a delivery', () => {
  test.each(DELIVERED)('with %s, whose connection then ends', async (_name, answer, body) => {
    const { url, requestCount } = await startAnswering(answer, close);
    const result = await makeSender().send(webhookTo(url));
    expect(result).toMatchObject({ outcome: 'delivered', error: null });
    expect(result.responseBody.toString('latin1')).toBe(body);
    expect(requestCount()).toBe(1);
  });

  test.each(DELIVERED)('with %s, whose connection is reset', async (_name, answer) => {
    const { url, requestCount } = await startAnswering(answer, reset);
    const result = await makeSender().send(webhookTo(url));
    expect(result).toMatchObject({ outcome: 'delivered', error: null });
    expect(requestCount()).toBe(1);
  });

  test.each([
    ['that is too short', `${OK}content-length: 10\r\n\r\nok`],
    ['without an end', `${OK}\r\nok`],
    ['without its last chunk', `${OK}${CHUNKED}\r\n2\r\nok\r\n`],
  ])('with a body %s on an open connection, after the time limit', async (_name, answer) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const written = Promise.withResolvers<void>();
    const { url, receiver } = await startAnswering(answer, () => written.resolve());
    const sending = makeSender({ totalTimeoutMs: 15_000 }).send(webhookTo(url));
    await written.promise;
    // When this second webhook has its answer, the first answer has reached the sender.
    await makeSender().send(webhookTo((await startAnswering(OK_WITH_BODY)).url));
    vi.advanceTimersByTime(15_000);
    const result = await sending;
    expect(result).toMatchObject({ outcome: 'delivered', error: null });
    expect(result.responseBody.toString()).toBe('ok');
    await receiver.untilClosed(1);
  });

  test('with a body that comes byte by byte, after the time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const receiver = await startDrippingReceiver(`${OK}content-length: 1000000\r\n\r\n`, 'z');
    const url = `http://127.0.0.1:${receiver.port}/`;
    const sending = makeSender({ totalTimeoutMs: 250 }).send(webhookTo(url));
    await expect.poll(receiver.piecesWritten).toBeGreaterThan(5);
    vi.advanceTimersByTime(250);
    const result = await sending;
    expect(result).toMatchObject({ outcome: 'delivered', statusCode: 200, error: null });
    expect(result.responseBody.toString()).toMatch(/^z+$/);
    await receiver.untilClosed(1);
  });

  test('whose receiver answers without reading the request', async () => {
    const receiver = await startTcpReceiver((socket) => socket.pause().write(OK_WITH_BODY));
    const url = `http://127.0.0.1:${receiver.port}/`;
    const body = Buffer.alloc(64 * 1024 * 1024, ' ');
    const result = await makeSender().send(webhookTo(url, { body }));
    expect(result).toMatchObject({ outcome: 'delivered', error: null });
    expect(receiver.connectionCount).toBe(1);
  });

  test('whose TLS connection ends without a notice', async () => {
    const certificate = createCertificate('IP:127.0.0.1');
    const receiver = await startTcpReceiver((socket) => {
      const tls = new TLSSocket(socket, { isServer: true, ...certificate });
      tls.on('error', () => {});
      tls.once('data', () => tls.write(`${OK}\r\nok`, () => socket.destroy()));
    });
    const sender = makeSender({ caCertificates: [certificate.cert] });
    const result = await sender.send(webhookTo(`https://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject({ outcome: 'delivered', error: null });
    expect(result.responseBody.toString()).toBe('ok');
  });
});

test.each([
  [304, 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n', '; redirects are not followed'],
  [403, 'HTTP/1.1 403 Forbidden\r\ncontent-length: 900\r\n\r\nno', ''],
  [500, `HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n${CHUNKED}\r\nxyz`, ''],
  [600, 'HTTP/1.1 600 Six\r\n\r\n', ''],
  [999, 'HTTP/1.1 999 Denied\r\n\r\n', ''],
])(
  'a %i is refused with that status, however its body ends',
  async (statusCode, answer, suffix) => {
    const { url, requestCount } = await startAnswering(answer, close);
    expect(await makeSender().send(webhookTo(url))).toMatchObject({
      outcome: 'rejected',
      statusCode,
      error: `answered ${statusCode}${suffix}`,
    });
    expect(requestCount()).toBe(1);
  },
);

describe('what is not HTTP is refused, and the log names the reason', () => {
  test.each(REFUSED)('%s', async (_name, answer, reason) => {
    const { url, requestCount } = await startAnswering(answer, close);
    expect(await makeSender().send(webhookTo(url))).toMatchObject({
      outcome: 'no_answer',
      statusCode: null,
      error: `the answer is not valid HTTP: ${reason}`,
    });
    expect(requestCount()).toBe(1);
  });

  test.each([
    ['small letters', 'http/1.1 200 OK\r\n\r\n'],
    ['another protocol', 'ICY 200 OK\r\n\r\n'],
    ['a page without a head', '<html>200 OK</html>'],
    ['an alert of TLS', '\x15\x03\x01\x00\x02\x02\x16'],
  ])('%s', async (_name, answer) => {
    const { url, requestCount } = await startAnswering(answer);
    const error = 'the answer is not valid HTTP';
    expect(await makeSender().send(webhookTo(url))).toMatchObject({ outcome: 'no_answer', error });
    expect(requestCount()).toBe(1);
  });
});

describe('a head is read alike in whatever pieces it arrives', () => {
  const readInPieces = (pieces: Buffer[]) => {
    const reader = new ResponseHeadReader(16_384);
    try {
      for (const piece of pieces) {
        const final = reader.read(piece);
        if (final !== undefined) return final.head;
      }
      return 'incomplete';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test.each([...DELIVERED, ...REFUSED, ['interim', EARLY_HINTS + OK_WITH_BODY, 'ok'] as const])(
    '%s',
    (_name, answer) => {
      const bytes = Buffer.from(answer, 'latin1');
      const whole = readInPieces([bytes]);
      expect(whole).not.toBe('incomplete');
      expect(readInPieces([...bytes].map((byte) => Buffer.of(byte)))).toEqual(whole);
      for (const at of bytes.subarray(0, 200).keys()) {
        expect(readInPieces([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
      }
    },
  );
});

describe('what comes after an answer on a kept connection costs no webhook an attempt', () => {
  test.each([
    ['the rest of a body that is too long', OK_WITH_BODY, 'ay'],
    ['a line break', OK_WITH_BODY, '\r\n'],
    ['a second answer', OK_WITH_BODY, 'HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n'],
    ['a body after 204', 'HTTP/1.1 204 No Content\r\n\r\n', 'ok'],
    ['an interim answer', OK_WITH_BODY, 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('%s', async (_name, answer, late) => {
    const together = await startAnswering(`${answer}${late}`);
    const afterwards = await startAnswering(answer, (socket) => socket.write(late));
    for (const { url, receiver, requestCount } of [together, afterwards]) {
      // A line break that arrives with the answer is ignored, so the connection stays until keep-alive ends.
      const sender = makeSender({ keepAliveTimeoutMs: 100 });
      for (const _attempt of [1, 2]) {
        const result = await sender.send(webhookTo(url));
        expect(result).toMatchObject({ outcome: 'delivered', error: null });
        await receiver.untilClosed(requestCount());
      }
      expect(requestCount()).toBe(2);
      expect(receiver.connectionCount).toBe(2);
    }
  });

  test('bytes that arrive with the next request, which is sent on a new connection', async () => {
    let requestCount = 0;
    const receiver = await startTcpReceiver((socket) => {
      let isFirst = true;
      socket.on('data', (data) => {
        if (!data.includes('POST')) return;
        requestCount += 1;
        socket.write(isFirst ? OK_WITH_BODY : `ay${OK_WITH_BODY}`);
        isFirst = false;
      });
    });
    const sender = makeSender();
    for (const _attempt of [1, 2, 3]) {
      const result = await sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
      expect(result).toMatchObject({ outcome: 'delivered', error: null });
    }
    expect(receiver.connectionCount).toBe(3);
    expect(requestCount).toBe(4);
  });

  test.each([
    [
      'an interim answer',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'the connection was closed before the answer was complete',
    ],
    [
      'an interim answer and no HTTP',
      'HTTP/1.1 100 Continue\r\n\r\nok',
      'the answer is not valid HTTP',
    ],
    ['half a head', OK, 'the connection was closed before the answer was complete'],
  ])(
    'but after %s the receiver has the next request, which is not sent again',
    async (_n, answer, error) => {
      let requestCount = 0;
      const receiver = await startTcpReceiver((socket) => {
        socket.on('data', (data) => {
          if (!data.includes('POST')) return;
          requestCount += 1;
          if (requestCount === 1) socket.write(OK_WITH_BODY);
          else socket.end(answer);
        });
      });
      const sender = makeSender();
      const request = webhookTo(`http://127.0.0.1:${receiver.port}/`);
      expect((await sender.send(request)).outcome).toBe('delivered');
      const result = await sender.send(request);
      expect(result).toMatchObject({ outcome: 'no_answer', statusCode: null });
      expect(result.error).toContain(error);
      expect(requestCount).toBe(2);
      expect(receiver.connectionCount).toBe(1);
    },
  );

  test.each([
    ['a length that stands alone', `${OK}content-length: 2\r\n\r\nok`, 1],
    ['chunks', `${OK}${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`, 1],
    ['an equal length twice', `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nok`, 2],
    ['both lengths', `${OK}content-length: 2\r\n${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`, 2],
    ['a length after 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n', 2],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok', 2],
    ['a keep-alive of one second', `${OK}keep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok`, 2],
  ])('after %s, two webhooks use %3$i connections', async (_name, answer, connectionCount) => {
    const { url, receiver, requestCount } = await startAnswering(answer);
    const sender = makeSender();
    for (const _attempt of [1, 2]) {
      expect((await sender.send(webhookTo(url))).outcome).toBe('delivered');
    }
    expect(requestCount()).toBe(2);
    expect(receiver.connectionCount).toBe(connectionCount);
  });
});
