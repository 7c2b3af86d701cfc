import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createClientIp, limitKeyOf } from '../../src/http/limits/client-ip.ts';
import { createSharedRateLimiter } from '../../src/http/limits/rate-limit-shared.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { PRODUCTION, SANDBOX, serve } from './http-support.ts';

/** A limiter whose clock is moved only by the test. */
function limiterAt(limitPerSecond = 10, maxClients?: number) {
  const clock = { ms: 0 };
  const limiter = createMemoryRateLimiter({
    limitPerSecond,
    nowMs: () => clock.ms,
    ...(maxClients === undefined ? {} : { maxClients }),
  });
  return { clock, admit: async (ip = '192.0.2.1') => limiter.admit(ip) };
}

const times = async (count: number, admit: () => Promise<boolean>) => {
  let admitted = 0;
  for (let index = 0; index < count; index += 1) if (await admit()) admitted += 1;
  return admitted;
};

test('ten concurrent requests are admitted, the eleventh is not', async () => {
  const { admit } = limiterAt();
  expect(await times(20, admit)).toBe(10);
});

test('the window slides: half of it at the end of one second, half at the start of the next', async () => {
  const { clock, admit } = limiterAt();
  clock.ms = 900;
  expect(await times(10, admit)).toBe(10);
  clock.ms = 1100;
  expect(await admit()).toBe(false);
  clock.ms = 1900;
  expect(await admit()).toBe(false);
  clock.ms = 1901;
  expect(await times(20, admit)).toBe(10);
});

test('never an eleventh within any one second, whenever requests come', async () => {
  const gaps = fc.array(fc.double({ min: 0, max: 400, noNaN: true }), {
    minLength: 30,
    maxLength: 120,
  });
  await fc.assert(
    fc.asyncProperty(gaps, async (gapsMs) => {
      const { clock, admit } = limiterAt();
      const admittedAtMs: number[] = [];
      for (const gapMs of gapsMs) {
        clock.ms += gapMs;
        if (await admit()) admittedAtMs.push(clock.ms);
      }
      const tooClose = admittedAtMs.some(
        (ms, index) => (admittedAtMs[index + 10] ?? Infinity) - ms <= 1000,
      );
      expect(tooClose).toBe(false);
    }),
  );
});

test('refused requests do not count, so a client with too many requests is not locked out indefinitely', async () => {
  const { clock, admit } = limiterAt();
  let admitted = 0;
  for (clock.ms = 0; clock.ms < 10_000; clock.ms += 10) if (await admit()) admitted += 1;
  expect(admitted).toBeGreaterThanOrEqual(90);
});

test('each address has its own limit, an IPv6 client one for the whole /64', async () => {
  const { admit } = limiterAt(1);
  expect(await admit('192.0.2.1')).toBe(true);
  expect(await admit('192.0.2.2')).toBe(true);
  expect(await admit('2001:db8:1:2::1')).toBe(true);
  expect(await admit('2001:db8:1:2:ffff::9')).toBe(false);
  expect(await admit('2001:db8:1:3::1')).toBe(true);
});

test('where wider IPv6 networks count, a /56 has four times the limit and a /48 sixteen times', async () => {
  const limiter = createMemoryRateLimiter({
    limitPerSecond: 1,
    limitsWiderNetworks: true,
    nowMs: () => 0,
  });
  const admitted = async (addresses: string[]) => {
    const admissions = await Promise.all(addresses.map((ip) => limiter.admit(ip)));
    return admissions.filter(Boolean).length;
  };
  const subnets = (count: number, shift: number) =>
    Array.from({ length: count }, (_, index) => `2001:db8:1:${(index << shift).toString(16)}::1`);
  expect(await admitted(subnets(256, 0))).toBe(4);
  expect(await admitted(subnets(256, 8))).toBe(12);
  expect(await admitted(['2001:db8:2::1', '192.0.2.1', '192.0.2.2'])).toBe(3);
});

test('an IPv4-mapped IPv6 address is the IPv4 address', async () => {
  const { admit } = limiterAt(1);
  expect(await admit('::ffff:192.0.2.1')).toBe(true);
  expect(await admit('192.0.2.1')).toBe(false);
  expect(limitKeyOf('::ffff:192.0.2.1')).toBe('192.0.2.1');
});

test('memory is bounded: the client that was admitted longest ago is removed first', async () => {
  const { clock, admit } = limiterAt(1, 3);
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']) {
    clock.ms += 1;
    expect(await admit(ip)).toBe(true);
  }
  expect(await admit('192.0.2.2')).toBe(false);
  expect(await admit('192.0.2.1')).toBe(true);
});

test('idle clients are removed automatically', async () => {
  const clock = { ms: 0 };
  const limiter = createMemoryRateLimiter({ limitPerSecond: 10, nowMs: () => clock.ms });
  for (let index = 0; index < 5_000; index += 1) {
    clock.ms += 1;
    await limiter.admit(`10.0.${index >> 8}.${index & 255}`);
  }
  // One for each millisecond of the last second, both ends included.
  expect(limiter.countClients()).toBe(1001);
});

/** A request from a peer address with an X-Forwarded-For header. */
function requestFrom(peer: string, forwarded?: string) {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: peer });
  const request = new IncomingMessage(socket);
  if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded;
  return request;
}

test.each([
  [
    'no proxy configured: the peer, whatever it claims',
    [],
    '198.51.100.7',
    '1.2.3.4',
    '198.51.100.7',
  ],
  [
    'a peer that is no proxy is not believed',
    ['10.0.0.0/8'],
    '198.51.100.7',
    '1.2.3.4',
    '198.51.100.7',
  ],
  ['a proxy is believed', ['10.0.0.1'], '10.0.0.1', '1.2.3.4', '1.2.3.4'],
  [
    'only the rightmost foreign address counts',
    ['10.0.0.1'],
    '10.0.0.1',
    '9.9.9.9, 1.2.3.4',
    '1.2.3.4',
  ],
  [
    'proxies of ours are skipped',
    ['10.0.0.0/8'],
    '10.0.0.1',
    '9.9.9.9, 1.2.3.4, 10.0.0.2',
    '1.2.3.4',
  ],
  ['a proxy without a header is the client', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
  [
    'nonsense in the header ends the walk',
    ['10.0.0.1'],
    '10.0.0.1',
    '1.2.3.4, nonsense',
    '10.0.0.1',
  ],
  ['a mapped peer is its IPv4 address', ['10.0.0.1'], '::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
  ['IPv6 proxies work too', ['fd00::/8'], 'fd00::1', '2001:db8::1', '2001:db8::1'],
])('client address: %s', (_rule, proxies, peer, forwarded, expected) => {
  expect(createClientIp(proxies)(requestFrom(peer, forwarded))).toBe(expected);
});

test('a trusted proxy that is not an address prevents the start', () => {
  expect(() => createClientIp(['proxy.internal'])).toThrow();
});

const burst = (server: Awaited<ReturnType<typeof serve>>, path: string, headers = {}) =>
  Promise.all(Array.from({ length: 11 }, () => server.call(path, { headers })));

test('the eleventh request is a 429 with exactly the specified body and Retry-After', async () => {
  const rateLimiter = createMemoryRateLimiter({ limitPerSecond: 10, nowMs: () => 0 });
  await using server = await serve({ rateLimiter });
  const answers = await burst(server, `${SANDBOX}/things/T1`);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.map(({ json }) => json)).toEqual([
    { error: expect.stringMatching(/^Too many requests/) },
  ]);
  expect(refused[0]?.headers.get('Retry-After')).toBe('1');
  expect(refused[0]?.headers.get('X-API-Version')).toBe('2026-11-20');
});

test('the limit is checked before the credentials and covers both environments and unknown paths together', async () => {
  const rateLimiter = createMemoryRateLimiter({ limitPerSecond: 2, nowMs: () => 0 });
  await using server = await serve({ rateLimiter });
  expect((await server.call(`${PRODUCTION}/things/T1`)).status).toBe(401);
  expect((await server.call(`${SANDBOX}/nowhere`)).status).toBe(404);
  expect((await server.call(`${PRODUCTION}/things/T1`)).status).toBe(429);
  expect((await server.call(`${SANDBOX}/nowhere`)).status).toBe(429);
});

test('paths other than the merchant paths are not limited', async () => {
  const rateLimiter = createMemoryRateLimiter({ limitPerSecond: 1, nowMs: () => 0 });
  await using server = await serve({ rateLimiter });
  const answers = await burst(server, '/healthz');
  expect(answers.every(({ status }) => status === 200)).toBe(true);
});

test('clients behind a configured proxy have separate limits', async () => {
  const rateLimiter = createMemoryRateLimiter({ limitPerSecond: 1, nowMs: () => 0 });
  await using server = await serve({ rateLimiter, trustedProxies: ['127.0.0.1'] });
  const from = async (ip: string) =>
    (await server.call(`${SANDBOX}/things/T1`, { headers: { 'X-Forwarded-For': ip } })).status;
  expect([await from('1.2.3.4'), await from('1.2.3.5'), await from('1.2.3.4')]).toEqual([
    200, 200, 429,
  ]);
});

test.each([
  ['fails', async () => Promise.reject(new Error('store is gone'))],
  [
    'throws',
    () => {
      throw new Error('store is gone');
    },
  ],
  ['hangs', async () => new Promise<never>(() => undefined)],
])(
  'while the shared limiter %s, the process counts for itself and says so',
  async (_how, admit) => {
    const logged: unknown[] = [];
    const log = pino({}, { write: (line) => void logged.push(JSON.parse(line).msg) });
    const own = createMemoryRateLimiter({ limitPerSecond: 1, nowMs: () => 0 });
    const shared = { admit };
    const limits = { shared, own, limitPerSecond: 1, log, timeoutMs: 20 };
    await using server = await serve({ rateLimiter: createSharedRateLimiter(limits) });
    const statusOf = async () => (await server.call(`${SANDBOX}/things/T1`)).status;
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
    expect(logged).toContain('The shared rate limiter failed; this process counts for itself');
  },
);
