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

/** The HMAC-SHA256 signatures of one attempt, each 64 lower-case hexadecimal digits. Attempts record them. */
export interface Signatures {
  /**
   * The value of `X-Service-Signature`: over the bytes of `<timestamp>.<raw_body>`, keyed with the whole secret,
   * including `whsec_`. Source: specification, Signature verification.
   */
  signature: string;
  /**
   * The signature of Standard Webhooks 1.0, whose header has it as base64: over `<id>.<timestamp>.<raw_body>`, keyed
   * with the bytes whose base64 is the part of the secret after `whsec_`. Null for attempts that were sent without one.
   */
  standardSignature: string | null;
}

export interface SignedRequest extends WebhookRequest, Signatures {}

/** Creates the request of one attempt, signed over its exact bytes with the time `sentAt`. */
export function signedRequest(message: SignedRequestInput, sentAt: Date): SignedRequest {
  const { url, environment } = message;
  const body = Buffer.from(message.body);
  const signatures = signaturesOf(message, secondsOf(sentAt), body);
  return { url, environment, body, ...signatures, headers: headersOf(message, sentAt, signatures) };
}

function signaturesOf(
  { secret, eventId }: SignedRequestInput,
  timestampSeconds: number,
  rawBody: Buffer,
): Signatures {
  const standardKey = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const sign = (key: string | Buffer, prefix: string) =>
    createHmac('sha256', key).update(prefix).update(rawBody).digest('hex');
  return {
    signature: sign(secret, `${timestampSeconds}.`),
    standardSignature: sign(standardKey, `${eventId}.${timestampSeconds}.`),
  };
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
