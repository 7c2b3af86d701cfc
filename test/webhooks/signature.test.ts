import { expect, test } from 'vitest';
import { signWebhook } from '../../src/webhooks/sending/signed-request.ts';

test.each([1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
  'no webhook is signed at %s, which is not a whole number of seconds',
  (timestampSeconds) => {
    const rawBody = Buffer.from('{}');
    expect(() => signWebhook({ secret: 'whsec_test', timestampSeconds, rawBody })).toThrow(
      RangeError,
    );
  },
);
