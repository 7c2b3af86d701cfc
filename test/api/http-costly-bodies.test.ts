import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { serve } from './http-support.ts';

const routeFor = (bodyType: 'json' | 'form') =>
  defineRoute({
    base: 'root',
    caller: 'public',
    summary: '',
    description: '',
    tags: [],
    method: 'POST',
    path: '/echo',
    operationId: 'echo',
    bodyType,
    body: z.object({}),
    responses: { 200: { description: '', schema: z.object({}) } },
  }).handledBy(async () => ({ status: 200, body: {} }));

const TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' };

/** The processor time of one request, the least of three. */
async function cpuMsOf(bodyType: 'json' | 'form', body: string): Promise<number> {
  await using server = await serve({ routes: [routeFor(bodyType)] });
  const headers = { 'Content-Type': TYPES[bodyType] };
  const times: number[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const before = process.cpuUsage();
    expect((await server.call('/echo', { method: 'POST', headers, body })).status).toBe(200);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

const names = Array.from({ length: 8_000 }, (_, index) => index.toString(36));
const zeros = '0'.repeat(32_000);

// With work for each pair of fields, or of digits, it was 340 to 830 ms.
test.each([
  ['thousands of fields', 'form', names.join('&')],
  ['one list of thousands', 'form', 'a[]=&'.repeat(6_000)],
  ['a number of 32,000 digits', 'json', `{"a":1${zeros}1}`],
  ['a number with 32,000 decimals', 'json', `{"a":0.${zeros}1}`],
  [
    'thousands of fields',
    'json',
    `{${names
      .slice(0, 4_000)
      .map((name) => `"${name}":1`)
      .join()}}`,
  ],
  ['lists in lists', 'json', `{"a":${'['.repeat(16_000)}${']'.repeat(16_000)}}`],
] as const)('a body of 32 KiB costs little, also one with %s (%s)', async (_what, type, body) => {
  expect(body.length).toBeGreaterThan(25_000);
  const costMs = (await cpuMsOf(type, body)) - (await cpuMsOf(type, type === 'json' ? '{}' : ''));
  expect(costMs).toBeLessThan(120);
});
