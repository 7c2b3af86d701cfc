import { createHmac } from 'node:crypto';
import type { Environment } from '../../domain/index.ts';

export interface WebhookRequest {
  url: string;
  environment: Environment;
  /** Sent unchanged, together with those of {@link sentHeaders}. */
  headers: Readonly<Record<string, string>>;
  /** The bytes that were signed. */
  body: Buffer;
}

/** Attempts do not record it. Before it changes, they must record it as they do the version. */
const USER_AGENT = 'merchant-payment-order-service/1';

export interface SignedRequestInput {
  url: string;
  environment: Environment;
  /** In clear text, including `whsec_`. */
  secret: string;
  eventType: string;
  eventId: string;
  body: string;
  apiVersion: string;
}

/** The signatures of one attempt, in hexadecimal. They are recorded with the attempt. */
export interface Signatures {
  signature: string;
  /** The signature of Standard Webhooks. Null for attempts that were sent without one. */
  standardSignature: string | null;
}

export interface SignedRequest extends WebhookRequest, Signatures {}

/**
 * The value of `X-Service-Signature`: HMAC-SHA256 over the bytes of `<timestamp>.<raw_body>`, which are sent
 * unchanged. Source: specification, Signature verification.
 *
 * @param input.secret the whole webhook secret, including `whsec_`
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
  assertWholeSeconds(timestampSeconds);
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex');
}

/**
 * The signature of Standard Webhooks 1.0: HMAC-SHA256 over `<id>.<timestamp>.<raw_body>`, keyed with the bytes whose
 * base64 is the part of the secret after `whsec_`.
 *
 * @param input.secret the whole webhook secret, including `whsec_`
 * @returns 64 hexadecimal digits; the header has them as base64
 */
function signStandardWebhook(input: {
  secret: string;
  eventId: string;
  timestampSeconds: number;
  rawBody: Buffer;
}): string {
  const { secret, eventId, timestampSeconds, rawBody } = input;
  assertWholeSeconds(timestampSeconds);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const hmac = createHmac('sha256', key).update(`${eventId}.${timestampSeconds}.`);
  return hmac.update(rawBody).digest('hex');
}

/** @throws RangeError */
function assertWholeSeconds(timestampSeconds: number): void {
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new RangeError('a webhook is stamped with whole Unix seconds');
  }
}

/** Creates the request of one attempt, signed over its exact bytes with the time `sentAt`. */
export function signedRequest(message: SignedRequestInput, sentAt: Date): SignedRequest {
  const { url, environment, secret, eventId } = message;
  const rawBody = Buffer.from(message.body);
  const timestampSeconds = secondsOf(sentAt);
  const signatures = {
    signature: signWebhook({ secret, timestampSeconds, rawBody }),
    standardSignature: signStandardWebhook({ secret, eventId, timestampSeconds, rawBody }),
  };
  const headers = headersOf(message, sentAt, signatures);
  return { url, environment, body: rawBody, ...signatures, headers };
}

export interface SentRequest {
  method: 'POST';
  url: string;
  /** Path and query, as in the request line. */
  path: string;
  /** In the order in which they were sent. */
  headers: [name: string, value: string][];
  body: string;
}

/** Rebuilds the request of an earlier attempt, with the signatures that were recorded when it was sent. */
export function sentRequest(
  message: Omit<SignedRequestInput, 'secret' | 'environment'> & Signatures,
  sentAt: Date,
): SentRequest {
  const { url, body } = message;
  const target = new URL(url);
  const headers = sentHeaders(target, headersOf(message, sentAt, message), Buffer.byteLength(body));
  return { method: 'POST', url, path: `${target.pathname}${target.search}`, headers, body };
}

/** All headers of a request with a body of `bodyBytes` bytes, in the order in which they are sent. */
export function sentHeaders(
  { host }: URL,
  headers: Readonly<Record<string, string>>,
  bodyBytes: number,
): [name: string, value: string][] {
  return [
    ['host', host],
    ['connection', 'keep-alive'],
    ...Object.entries(headers),
    ['content-length', String(bodyBytes)],
  ];
}

function headersOf(
  {
    eventType,
    eventId,
    apiVersion,
  }: Pick<SignedRequestInput, 'eventType' | 'eventId' | 'apiVersion'>,
  sentAt: Date,
  { signature, standardSignature }: Signatures,
): Record<string, string> {
  const timestamp = String(secondsOf(sentAt));
  return {
    // Firewalls with the OWASP rules answer 403 to a request without it.
    Accept: '*/*',
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-API-Version': apiVersion,
    'X-Service-Event': eventType,
    'X-Service-Event-Id': eventId,
    'X-Service-Signature': signature,
    'X-Service-Timestamp': timestamp,
    ...(standardSignature !== null && {
      'webhook-id': eventId,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${Buffer.from(standardSignature, 'hex').toString('base64')}`,
    }),
  };
}

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1000);
