import { describe, expect, test } from 'vitest';
import { WebhookNotAttemptedError } from '../../src/webhooks/sending/sender.ts';
import {
  startHeldReceiver,
  startReceiver,
  startRecordingReceiver,
  startTcpReceiver,
} from './receivers.ts';
import { makeSender, webhookTo } from './send.ts';

const NOTHING_HELD = {
  underWay: 0,
  idle: { originCount: 0, connectionCount: 0 },
};

const count = (length: number) => Array.from({ length }, (_, index) => index);

describe('connections are reused', () => {
  test('webhooks to one host, one after the other, share one connection', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender();
    for (const index of count(20)) {
      await sender.send(webhookTo(`http://example.com:${receiver.port}/${index}`));
    }
    expect(receiver.received).toHaveLength(20);
    expect(receiver.connectionCount).toBe(1);
  });

  test('webhooks to two names at one address do not share a connection', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender();
    for (const name of ['a.example.com', 'b.example.com', 'a.example.com']) {
      await sender.send(webhookTo(`http://${name}:${receiver.port}/`));
    }
    expect(receiver.connectionCount).toBe(2);
  });

  test('a connection over its maximum age is not used again, so that a receiver can move', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender({ maxConnectionAgeMs: 0 });
    await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
    await sender.send(webhookTo(`http://example.com:${receiver.port}/`));
    expect(receiver.connectionCount).toBe(2);
    await receiver.untilClosed(2);
  });

  test('a receiver that closes its idle connection has not refused a webhook', async () => {
    const receiver = await startTcpReceiver((socket) => {
      let requestCount = 0;
      socket.on('data', (data) => {
        if (!data.includes('POST')) return;
        requestCount += 1;
        // The receiver closes the connection just as the second request is sent on it.
        if (requestCount === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const sender = makeSender();
    for (const _attempt of count(3)) {
      const result = await sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
      expect(result).toMatchObject({ outcome: 'delivered', error: null });
    }
    expect(receiver.connectionCount).toBe(3);
  });
});

describe('idle connections are bounded', () => {
  test('with many origins, the least recently used connections are closed', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender({ maxIdleConnections: 5 });
    for (const index of count(20)) {
      await sender.send(webhookTo(`http://shop-${index}.example.com:${receiver.port}/`));
    }
    expect(sender.stats()).toEqual({
      underWay: 0,
      idle: { originCount: 5, connectionCount: 5 },
    });
    await receiver.untilClosed(15);
    await sender.send(webhookTo(`http://shop-19.example.com:${receiver.port}/`));
    expect(receiver.connectionCount).toBe(20);
  });

  test('the least recently used connection is closed, not the oldest one', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender({ maxIdleConnections: 2 });
    for (const name of ['a', 'b', 'a', 'c', 'a']) {
      await sender.send(webhookTo(`http://${name}.example.com:${receiver.port}/`));
    }
    expect(receiver.connectionCount).toBe(3);
  });

  test('after the keep-alive time no connection to an origin is kept', async () => {
    // A raw socket, because Node's HTTP server announces its keep-alive time, which would take precedence.
    const receiver = await startTcpReceiver((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    const sender = makeSender({ keepAliveTimeoutMs: 20 });
    await Promise.all(
      count(10).map((index) =>
        sender.send(webhookTo(`http://shop-${index}.example.com:${receiver.port}/`)),
      ),
    );
    await receiver.untilClosed(10);
    await expect.poll(() => sender.stats()).toEqual(NOTHING_HELD);
  });

  test('connections that the receivers close are removed', async () => {
    const receiver = await startReceiver((_request, response) => {
      response.setHeader('connection', 'close');
      response.end();
    });
    const sender = makeSender();
    await sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/`));
    await receiver.untilClosed(1);
    await expect.poll(() => sender.stats()).toEqual(NOTHING_HELD);
  });
});

describe('one slow merchant cannot take all places', () => {
  /** The reasons of rejected sends: they are rejected while the receivers of the others still hang. */
  async function untilRejected(sending: Promise<unknown>[], howMany: number): Promise<unknown[]> {
    const reasons: unknown[] = [];
    for (const one of sending) one.catch((reason: unknown) => reasons.push(reason));
    await expect.poll(() => reasons.length).toBe(howMany);
    return reasons;
  }

  test('a burst to one host uses its few connections, and all of it arrives', async () => {
    const receiver = await startRecordingReceiver();
    const sender = makeSender({ maxConnectionsPerOrigin: 4, maxQueuedPerOrigin: 100 });
    const results = await Promise.all(
      count(50).map((index) =>
        sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/${index}`)),
      ),
    );
    expect(results.every(({ outcome }) => outcome === 'delivered')).toBe(true);
    expect(receiver.received).toHaveLength(50);
    expect(receiver.connectionCount).toBeLessThanOrEqual(4);
  });

  test('a webhook beyond the limit of a host’s queue is rejected immediately, and not counted as an attempt', async () => {
    const receiver = await startHeldReceiver();
    const sender = makeSender({ maxConnectionsPerOrigin: 2, maxQueuedPerOrigin: 3 });
    const sending = count(9).map(() =>
      sender.send(webhookTo(`http://127.0.0.1:${receiver.port}/`)),
    );
    const turnedAway = await untilRejected(sending, 4);
    for (const reason of turnedAway) {
      expect(reason).toBeInstanceOf(WebhookNotAttemptedError);
      expect(reason).toMatchObject({ reason: 'busy' });
    }
    receiver.release();
    await Promise.allSettled(sending);
    expect(turnedAway).toHaveLength(4);
    expect(receiver.requestCount()).toBe(5);
  });

  test('while 200 endpoints do not respond, a healthy one still gets its webhooks', async () => {
    const dead = await startHeldReceiver();
    const healthy = await startRecordingReceiver();
    const sender = makeSender();
    const toDead = count(200).flatMap((shop) =>
      count(10).map((order) =>
        sender.send(webhookTo(`http://shop-${shop}.example.com:${dead.port}/${order}`)),
      ),
    );
    const settling = Promise.allSettled(toDead);
    await expect.poll(() => dead.connectionCount).toBeGreaterThan(300);
    for (const index of count(5)) {
      const url = `http://healthy.example.com:${healthy.port}/${index}`;
      expect((await sender.send(webhookTo(url))).outcome).toBe('delivered');
    }
    expect(dead.requestCount()).toBeLessThan(1024);
    dead.release();
    await settling;
    expect(dead.connectionCount).toBeGreaterThanOrEqual(200);
  });

  test('when every place is taken, as many wait as may, and the rest is rejected at once, without an attempt', async () => {
    const receiver = await startHeldReceiver();
    const sender = makeSender({ maxConcurrentSends: 3, maxQueued: 1, queueTimeoutMs: 50 });
    const to = (shop: string) =>
      sender.send(webhookTo(`http://${shop}.example.com:${receiver.port}/`));
    const sending = ['a', 'b', 'c'].map(to);
    const rejected: unknown[] = [];
    const rest = ['waiting', 'one-too-many'].map((shop) =>
      to(shop).catch(({ reason }: WebhookNotAttemptedError) => rejected.push([shop, reason])),
    );
    await Promise.all(rest);
    expect(rejected).toEqual([
      ['one-too-many', 'busy'],
      ['waiting', 'busy'],
    ]);
    receiver.release();
    const results = await Promise.all(sending);
    expect(results.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(sender.stats().underWay).toBe(0);
    expect(receiver.requestCount()).toBe(3);
  });
});
