import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false });

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const valueOf = (digits: string) =>
  [...digits].reduce((value, digit) => value * 62 + BASE62.indexOf(digit), 0);

/** CRC-32 bit by bit, as it is defined. */
function crc32(text: string): number {
  let rest = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest >>> 0;
}

test('keys and secrets are 30 random base62 characters and 6 of CRC32 that verify', ({
  merchant,
}) => {
  const { keys, webhookSecret } = merchant;
  const tokens = {
    mk_test_: keys.sandbox.apiKey,
    sk_test_: keys.sandbox.apiSecret,
    mk_live_: keys.production.apiKey,
    sk_live_: keys.production.apiSecret,
    whsec_: webhookSecret,
  };
  for (const [prefix, token] of Object.entries(tokens)) {
    expect(token).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{36}$`));
    expect(valueOf(token.slice(-6)), token).toBe(crc32(token.slice(0, -6)));
  }
  const bodies = Object.values(tokens).map((token) => token.slice(-36, -6));
  expect(new Set(bodies).size).toBe(bodies.length);
});

test('an order number is ORD and the 26 Crockford characters of a ULID of this moment', async ({
  merchant,
}) => {
  const beforeMs = Date.now();
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const afterMs = Date.now();
  expect(orderNumber).toMatch(/^ORD[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  const timeMs = Array.from(orderNumber.slice(3, 13)).reduce(
    (value, digit) => value * 32 + CROCKFORD.indexOf(digit),
    0,
  );
  expect(timeMs).toBeGreaterThanOrEqual(beforeMs);
  expect(timeMs).toBeLessThanOrEqual(afterMs);
});
