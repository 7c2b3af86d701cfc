import { createHmac } from 'node:crypto';
import type { Environment } from '../../domain/index.ts';
import type { WebhookRequest } from './sender.ts';

/** Not recorded with an attempt: before it changes, attempts must record it as they do the version. */
const USER_AGENT = 'merchant-payment-order-service/1';

/** An event and its endpoint. */
export interface SignedRequestInput {
  url: string;
  environment: Environment;
  /** In clear text, `whsec_` included. */
  secret: string;
  eventType: string;
  eventId: string;
  body: string;
  apiVersion: string;
}

/** A request with its signature, which is also one of its headers. */
export interface SignedRequest extends WebhookRequest {
  signature: string;
}

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

/** Creates the request of one attempt, signed over its exact bytes with the time `sentAt`. */
export function signedRequest(message: SignedRequestInput, sentAt: Date): SignedRequest {
  const { url, environment, secret } = message;
  const body = Buffer.from(message.body);
  const timestampSeconds = secondsOf(sentAt);
  const signature = signWebhook({ secret, timestampSeconds, rawBody: body });
  return { url, environment, body, signature, headers: headersOf(message, sentAt, signature) };
}

/** A request as it was sent. */
export interface SentRequest {
  method: 'POST';
  url: string;
  /** Path and query: the target of the request line. */
  path: string;
  /** In the order in which they were sent. */
  headers: [name: string, value: string][];
  body: string;
}

/** The request of an earlier attempt, with the signature that was recorded when it was sent. */
export function sentRequest(
  message: Omit<SignedRequestInput, 'secret' | 'environment'> & { signature: string },
  sentAt: Date,
): SentRequest {
  const { url, signature, body } = message;
  const { host, pathname, search } = new URL(url);
  const headers: [string, string][] = [
    ['host', host],
    ['connection', 'keep-alive'],
    ...Object.entries(headersOf(message, sentAt, signature)),
    ['content-length', String(Buffer.byteLength(body))],
  ];
  return { method: 'POST', url, path: `${pathname}${search}`, headers, body };
}

function headersOf(
  {
    eventType,
    eventId,
    apiVersion,
  }: Pick<SignedRequestInput, 'eventType' | 'eventId' | 'apiVersion'>,
  sentAt: Date,
  signature: string,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-API-Version': apiVersion,
    'X-Service-Event': eventType,
    'X-Service-Event-Id': eventId,
    'X-Service-Signature': signature,
    'X-Service-Timestamp': String(secondsOf(sentAt)),
  };
}

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1000);
