import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signWebhook } from '../../src/webhooks/sending/signed-request.ts';

/** A merchant's handler in another language: reads events, computes the signature and compares. */
const VERIFY_IN_PYTHON = `
import hmac, hashlib, json, sys
sys.stdin.reconfigure(encoding="utf-8")
verified = 0
for line in sys.stdin:
    event = json.loads(line)
    signed = str(event["timestampSeconds"]).encode() + b"." + event["rawBody"].encode("utf-8")
    digest = hmac.new(event["secret"].encode("utf-8"), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(digest, event["signature"]):
        sys.exit("no match: " + line)
    verified += 1
print(verified)
`;

const text = fc.string({ unit: 'binary', maxLength: 200 });
const event = fc.record({
  secret: fc.stringMatching(/^whsec_[A-Za-z0-9]{36}$/),
  timestampSeconds: fc.integer({ min: 0, max: 4_102_444_800 }),
  rawBody: fc
    .record({
      event: text,
      data: fc.record({ description: text, buyer: text, amount: fc.float() }),
    })
    .map((body) => JSON.stringify(body)),
});

describe('webhook signature', () => {
  test('verifies with an independent implementation on 1,000 random events', () => {
    const lines = fc.sample(event, 1000).map((sample) => {
      const signature = signWebhook({ ...sample, rawBody: Buffer.from(sample.rawBody) });
      return JSON.stringify({ ...sample, signature });
    });
    const python = spawnSync('python3', ['-c', VERIFY_IN_PYTHON], {
      input: lines.join('\n'),
      encoding: 'utf8',
      maxBuffer: 1 << 24,
    });
    expect(python.stderr).toBe('');
    expect(python.stdout.trim()).toBe('1000');
  });

  test('covers the sent bytes and is lowercase hexadecimal', () => {
    const rawBody = Buffer.from('{"description":"चाय ☕ 🫖"}');
    const signature = signWebhook({
      secret: 'whsec_test',
      timestampSeconds: 1_763_600_000,
      rawBody,
    });
    expect(signature).toMatch(/^[0-9a-f]{64}$/);
    const other = Buffer.concat([rawBody, Buffer.from(' ')]);
    expect(
      signWebhook({ secret: 'whsec_test', timestampSeconds: 1_763_600_000, rawBody: other }),
    ).not.toBe(signature);
  });

  test.each([1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %s, which is not a whole number of seconds',
    (timestampSeconds) => {
      const rawBody = Buffer.from('{}');
      expect(() => signWebhook({ secret: 'whsec_test', timestampSeconds, rawBody })).toThrow(
        RangeError,
      );
    },
  );
});
