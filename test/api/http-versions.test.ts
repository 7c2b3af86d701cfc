import { expect, test } from 'vitest';
import { createVersionRegistry } from '../../src/http/versions.ts';
import type { ApiVersion } from '../../src/http/versions.ts';
import { CREDENTIALS, JSON_TYPE, SANDBOX, serve } from './http-support.ts';

/** Adding a version takes one entry, which says how to serve clients of the older version. */
const NEXT: ApiVersion = {
  version: '2027-03-01',
  changeFromPrevious: {
    request: (operationId, input) => {
      if (operationId !== 'createThing') return input;
      const { price, ...rest } = input.body as { price?: number };
      return { ...input, body: { ...rest, amount: price } };
    },
    response: (operationId, reply) => {
      const body = reply.body as { data: { amount: number } | null };
      if (operationId !== 'createThing' || !body.data) return reply;
      const { amount, ...rest } = body.data;
      return { ...reply, body: { ...body, data: { ...rest, price: amount } } };
    },
  },
};

const versions = createVersionRegistry([{ version: '2026-11-20' }, NEXT]);
const during = { versions, now: () => new Date('2027-06-01T00:00:00Z') };
const after = { versions, now: () => new Date('2028-03-01T00:00:00Z') };

const post = (body: object, version?: string) => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...(version === undefined ? {} : { 'X-API-Version': version }) },
  body: JSON.stringify(body),
});

test('a request without a version uses the current one', async () => {
  await using server = await serve(during);
  const answer = await server.call(`${SANDBOX}/things`, post({ amount: 5, description: 'x' }));
  expect(answer.json['data']).toMatchObject({ amount: 5 });
  expect(answer.headers.get('X-API-Version')).toBe('2027-03-01');
  expect(answer.headers.get('Deprecation')).toBeNull();
  expect(answer.headers.get('Sunset')).toBeNull();
});

test('a request that pins the current version is the same', async () => {
  await using server = await serve(during);
  const init = post({ amount: 5, description: 'x' }, '2027-03-01');
  const answer = await server.call(`${SANDBOX}/things`, init);
  expect([answer.status, answer.headers.get('Sunset')]).toEqual([201, null]);
});

test('a superseded version is served in its own shape with the date of its end', async () => {
  await using server = await serve(during);
  const init = post({ price: 7, description: 'x' }, '2026-11-20');
  const answer = await server.call(`${SANDBOX}/things`, init);
  expect([answer.status, answer.json['data']]).toEqual([
    201,
    { id: 'T1', price: 7, environment: 'sandbox' },
  ]);
  expect(answer.headers.get('Deprecation')).toBe(`@${Date.UTC(2027, 2, 1) / 1000}`);
  expect(answer.headers.get('Sunset')).toBe('Wed, 01 Mar 2028 00:00:00 GMT');
});

test('errors to a superseded version have the notice too, also on unknown paths', async () => {
  await using server = await serve(during);
  const headers = { 'X-API-Version': '2026-11-20' };
  const unknown = await server.call(`${SANDBOX}/nowhere`, { headers });
  const invalid = await server.call(`${SANDBOX}/things`, post({}, '2026-11-20'));
  expect([unknown.status, invalid.status]).toEqual([404, 400]);
  expect(unknown.headers.get('Deprecation')).toBe(invalid.headers.get('Deprecation'));
  expect(invalid.headers.get('Sunset')).not.toBeNull();
});

test('a version is unknown twelve months after it was superseded', async () => {
  await using server = await serve(after);
  const init = post({ price: 7, description: 'x' }, '2026-11-20');
  const answer = await server.call(`${SANDBOX}/things`, init);
  expect([answer.status, answer.json['message']]).toEqual([400, 'Unsupported API version']);
});

test.each(['1999-01-01', 'v1', '', '2026-11-20, 2026-11-20', 'latest'])(
  'an unknown version is a 400: %j',
  async (version) => {
    await using server = await serve();
    const headers = { 'X-API-Version': version };
    const answer = await server.call(`${SANDBOX}/things/T1`, { headers });
    expect([answer.status, answer.json['success']]).toEqual([400, false]);
  },
);

test('credentials are checked before the version', async () => {
  await using server = await serve();
  const headers = { ...CREDENTIALS, 'X-API-Secret': 'wrong', 'X-API-Version': '1999-01-01' };
  expect((await fetch(`${server.url}${SANDBOX}/things/T1`, { headers })).status).toBe(401);
});

test('the changes of several versions are applied one after the other, oldest first for requests', () => {
  const step = (version: string, letter: string): ApiVersion => ({
    version,
    changeFromPrevious: {
      request: (_, input) => ({ ...input, body: `${String(input.body)}${letter}` }),
      response: (_, reply) => ({ ...reply, body: `${String(reply.body)}${letter}` }),
    },
  });
  const registry = createVersionRegistry([
    { version: '2026-01-01' },
    step('2026-02-01', 'b'),
    { version: '2026-03-01' },
    step('2026-04-01', 'd'),
  ]);
  const negotiated = registry.negotiate('2026-01-01', Date.parse('2026-05-01'));
  expect(negotiated.upgrade('any', { query: {}, body: '' }).body).toBe('bd');
  expect(negotiated.downgrade('any', { status: 200, body: '' }).body).toBe('db');
  expect(registry.supported(Date.parse('2027-02-15'))).toEqual([
    '2026-02-01',
    '2026-03-01',
    '2026-04-01',
  ]);
});
