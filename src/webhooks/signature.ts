import { createHmac } from 'node:crypto';

/**
 * The value of `X-Service-Signature`: HMAC-SHA256 over the bytes of `<timestamp>.<raw_body>`, which
 * are sent unchanged. Source: specification, Signature verification.
 *
 * @param input.secret the whole webhook secret, `whsec_` included, as the merchant copied it
 * @param input.timestampSeconds whole Unix seconds, the value of `X-Service-Timestamp`
 * @returns 64 lowercase hexadecimal digits
 * @throws RangeError when the timestamp is not a whole number of seconds.
 */
export function signWebhook(input: {
  secret: string;
  timestampSeconds: number;
  rawBody: Buffer;
}): string {
  const { secret, timestampSeconds, rawBody } = input;
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new RangeError('a webhook is stamped with whole Unix seconds');
  }
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex');
}
