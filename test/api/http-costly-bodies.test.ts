import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../src/http/define-route.ts';
import { serve } from './http-support.ts';

const routeFor = (bodyType: BodyType) =>
  defineRoute({
    base: 'root',
    method: 'POST',
    path: '/echo',
    operationId: 'echo',
    bodyType,
    body: z.object({}),
    responses: { 200: { description: '', schema: z.object({}) } },
  }).handledBy(async () => ({ status: 200, body: {} }));

const TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' };

type BodyType = keyof typeof TYPES;

/** The processor time of so many requests, one after another; the least of three tries. */
async function cpuMsOf(bodyType: BodyType, body: string, requests: number): Promise<number> {
  await using server = await serve({ routes: [routeFor(bodyType)] });
  const headers = { 'Content-Type': TYPES[bodyType] };
  const times: number[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const before = process.cpuUsage();
    for (let request = 0; request < requests; request += 1) {
      expect((await server.call('/echo', { method: 'POST', headers, body })).status).toBe(200);
    }
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

/** Bodies with so many fields, digits or lists. */
const BODIES: [what: string, type: BodyType, bodyOf: (count: number) => string, count: number][] = [
  ['thousands of fields', 'form', (count) => namesOf(count).join('&'), 8_000],
  ['one list of thousands', 'form', (count) => 'a[]=&'.repeat(count), 6_000],
  ['a number of 32,000 digits', 'json', (count) => `{"a":1${'0'.repeat(count)}1}`, 32_000],
  ['a number with 32,000 decimals', 'json', (count) => `{"a":0.${'0'.repeat(count)}1}`, 32_000],
  [
    'thousands of fields',
    'json',
    (count) =>
      `{${namesOf(count)
        .map((name) => `"${name}":1`)
        .join()}}`,
    4_000,
  ],
  ['lists in lists', 'json', (count) => `{"a":${'['.repeat(count)}${']'.repeat(count)}}`, 16_000],
];

const namesOf = (count: number) => Array.from({ length: count }, (_, index) => index.toString(36));

const PARTS = 16;

// With work for each pair of fields, or of digits, the one would cost about ten times as much.
test.each(BODIES)(
  'a body of 32 KiB costs no more than its parts in many requests, also one with %s (%s)',
  async (_what, type, bodyOf, count) => {
    expect(bodyOf(count).length).toBeGreaterThan(25_000);
    const wholeMs = await cpuMsOf(type, bodyOf(count), 1);
    const partsMs = await cpuMsOf(type, bodyOf(count / PARTS), PARTS);
    expect(wholeMs / partsMs).toBeLessThan(2);
  },
);
