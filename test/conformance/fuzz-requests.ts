import { BASE_PATHS } from '../../src/http/base-paths.ts';
import { ORDER_POSTS } from '../support/command-requests.ts';

/** Random choices that a seed reproduces. */
export interface Chance {
  /** A whole number below the limit. */
  below(limit: number): number;
  /** True with a probability of one in `times`. */
  oneIn(times: number): boolean;
  pick<Value>(values: readonly [Value, ...Value[]]): Value;
}

/** mulberry32: small, fast, and random enough for a fuzzer. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (values) => values[below(values.length)] ?? values[0],
  };
}

/** A request as text and bytes, before it is written to a socket. */
export interface FuzzedRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** The data about the service that the fuzzer uses. */
export interface Knowledge {
  apiKey: string;
  apiSecret: string;
  /** Orders that exist. */
  orderNumbers: readonly [string, ...string[]];
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
type Operation = readonly [method: (typeof METHODS)[number], path: string, body: string];
/** Operations, each with a body that it accepts. */
const OPERATIONS: readonly [Operation, ...Operation[]] = [
  ['GET', '/orders', ''],
  ['GET', '/orders?page={n}&size={n}', ''],
  ['GET', '/orders?status={x}&merchantOrderId={x}', ''],
  ['GET', '/orders?createdFrom={x}&createdTo={x}', ''],
  ['GET', '/orders/{id}', ''],
  ['GET', '/orders/{id}/timeline', ''],
  ['GET', '/events?after={x}&type={x}&size={n}', ''],
  ['GET', '/events/{x}', ''],
  ['POST', '/events/{x}/resend', ''],
  ['GET', '/statements/{x}?after={x}&size={n}', ''],
  ['GET', '/orders/{id}/payment-sessions/{x}', ''],
  ['GET', '/{x}', ''],
  ...ORDER_POSTS.map(({ path, body }): Operation => [
    'POST',
    path,
    body ? JSON.stringify(body) : '',
  ]),
];
const FIELDS = [
  'amount',
  'buyerEmail',
  'buyerPhone',
  'description',
  'buyerName',
  'merchantOrderId',
  'currency',
  'note',
  'trackingId',
  'reason',
  'text',
  'resolution',
  'seconds',
  '__proto__',
  'constructor',
] as const;
/** JSON texts, some of them invalid. */
const VALUES = [
  '5',
  '499.5',
  '-0',
  '1e400',
  '1e-400',
  '5.001',
  'NaN',
  'null',
  'true',
  '""',
  '" "',
  '"asha@example.com"',
  '"+919876543210"',
  '"Blue kurta"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u2028\\u3000"',
  '"INR"',
  '[]',
  '{}',
  '{"__proto__":{"x":1}}',
  '"2026-11-20T09:30:00Z"',
] as const;

function randomBytes(chance: Chance, most: number): Buffer {
  return Buffer.from(Array.from({ length: chance.below(most + 1) }, () => chance.below(256)));
}

function jsonText(chance: Chance): string {
  const fields = Array.from({ length: chance.below(6) }, () => {
    const long = `"${'x'.repeat(chance.below(3_000))}"`;
    const deep = '['.repeat(chance.below(4_000));
    const value = chance.oneIn(30) ? chance.pick([long, deep, `${deep}${']'.repeat(9)}`]) : null;
    return `"${chance.pick(FIELDS)}":${value ?? chance.pick(VALUES)}`;
  });
  return `{${fields.join()}}`;
}

/** Flips, drops, doubles or inserts a few bytes. */
function mutate(chance: Chance, bytes: Buffer): Buffer {
  const values = [...bytes];
  for (let count = chance.below(4); count >= 0; count -= 1) {
    const at = chance.below(values.length + 1);
    if (chance.oneIn(2)) values.splice(at, chance.below(3));
    else values.splice(at, 0, ...randomBytes(chance, 4));
  }
  return Buffer.from(values);
}

function bodyOf(chance: Chance, accepted: string): Buffer {
  switch (chance.below(10)) {
    case 0:
      return Buffer.alloc(0);
    case 1:
      return randomBytes(chance, 300);
    case 2:
      return Buffer.from(chance.oneIn(20) ? 'x'.repeat(chance.below(60_000)) : '{}');
    case 3:
    case 4:
      return Buffer.from(accepted);
    case 5:
    case 6:
      return mutate(chance, Buffer.from(accepted));
    default:
      return Buffer.from(jsonText(chance));
  }
}

/** Text for a request target: encoded, partly encoded, or as it is. */
function noise(chance: Chance): string {
  const raw = randomBytes(chance, 8).toString('latin1');
  const plain = raw.replaceAll(/[^!-~]/g, 'x').replaceAll(/[?#]/g, '');
  return chance.pick([plain, encodeURIComponent(raw), '%00', '%zz', '%ED%A0%80', '..', '', 'PAID']);
}

function targetOf(chance: Chance, [, path]: Operation, { orderNumbers }: Knowledge): string {
  const base = chance.oneIn(20) ? BASE_PATHS.production : BASE_PATHS.sandbox;
  const filled = path
    .replace('{id}', () => (chance.oneIn(4) ? noise(chance) : chance.pick(orderNumbers)))
    .replaceAll('{n}', () => chance.pick(['0', '1', '-1', '100', '101', '1e9', noise(chance)]))
    .replaceAll('{x}', () => noise(chance));
  return chance.oneIn(50) ? `/${noise(chance)}` : base + filled;
}

function headersOf(chance: Chance, known: Knowledge, body: Buffer): Record<string, string> {
  const odd = () =>
    randomBytes(chance, 6)
      .toString('latin1')
      .replaceAll(/[^\t -~\u0080-\u00ff]/g, 'x');
  const type = chance.oneIn(8)
    ? chance.pick(['text/plain', 'application/json;;=', odd(), 'application/json; charset=utf-16'])
    : 'application/json';
  const key = chance.pick(['1', 'fuzz', String(chance.below(1_000)), odd(), 'x'.repeat(300)]);
  return {
    ...(!chance.oneIn(30) && { 'X-API-Key': chance.oneIn(30) ? odd() : known.apiKey }),
    ...(!chance.oneIn(30) && { 'X-API-Secret': chance.oneIn(30) ? odd() : known.apiSecret }),
    ...(body.length > 0 && { 'Content-Type': type }),
    ...(chance.oneIn(3) && { 'Idempotency-Key': key }),
    ...(chance.oneIn(10) && { 'X-API-Version': chance.pick(['2026-11-20', '', odd()]) }),
    ...(chance.oneIn(20) && { Origin: chance.pick(['https://shop.example', 'null', odd()]) }),
    ...(chance.oneIn(30) && { 'X-Forwarded-For': odd() }),
    ...(chance.oneIn(40) && { 'Content-Encoding': chance.pick(['gzip', 'br', odd()]) }),
  };
}

/** A request that more or less resembles a valid one. */
export function fuzzedRequest(chance: Chance, known: Knowledge): FuzzedRequest {
  const operation = chance.pick(OPERATIONS);
  const method = chance.oneIn(10) ? chance.pick(METHODS) : operation[0];
  const isBare = method === 'GET' || method === 'HEAD';
  const body = isBare ? Buffer.alloc(0) : bodyOf(chance, operation[2]);
  const target = targetOf(chance, operation, known);
  return { method, target, headers: headersOf(chance, known, body), body };
}

/** The bytes of a request in which anything can be wrong: its line, its headers, its length. */
export function fuzzedBytes(chance: Chance, known: Knowledge): Buffer {
  if (chance.oneIn(10)) return randomBytes(chance, 2_000);
  const { method, target, headers, body } = fuzzedRequest(chance, known);
  const length = chance.oneIn(6) ? chance.below(70_000) : body.length;
  const all: Record<string, string> = {
    ...(!chance.oneIn(15) && { Host: 'a' }),
    ...headers,
    ...(chance.oneIn(12) && { 'Transfer-Encoding': chance.pick(['chunked', 'gzip', 'x']) }),
    ...(!chance.oneIn(12) && { 'Content-Length': String(length) }),
    ...(chance.oneIn(20) && { Expect: chance.pick(['100-continue', 'wonders']) }),
    ...(chance.oneIn(20) && { Upgrade: 'h2c', Connection: 'Upgrade' }),
    ...(chance.oneIn(40) && { 'X-Long': 'x'.repeat(chance.below(20_000)) }),
  };
  const version = chance.pick(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', '']);
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target} ${version}`, ...lines, '', ''].join('\r\n');
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body]);
  const once = chance.oneIn(3) ? mutate(chance, bytes) : bytes;
  return chance.oneIn(10) ? Buffer.concat([once, once]) : once;
}
