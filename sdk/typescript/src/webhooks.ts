import { faultOfKey } from './settings.ts';
import type { WebhookEvent } from './types.ts';

/** What is wrong with a webhook, or with the code that verifies it. */
export type WebhookMistake =
  /** A header of the signature is missing or malformed: the request does not come from the service. */
  | 'missing_header'
  /** The body was parsed before it was verified: the signature is that of the raw bytes. */
  | 'parsed_body'
  /** The body was parsed and serialised again. */
  | 'reserialised'
  /** The secret has white space or quotes around it, or is not one secret. */
  | 'malformed_secret'
  /** The secret is used without its `whsec_`. */
  | 'prefix_stripped'
  /** No secret fits: it belongs to another endpoint or environment, or the request is forged. */
  | 'wrong_secret'
  /** The signature is right, but the time differs by more than 300 s: a replay, or a wrong clock. */
  | 'clock';

/** A webhook that must not be believed. Answer it with 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly mistake: WebhookMistake;

  constructor(mistake: WebhookMistake, message: string) {
    super(message);
    this.mistake = mistake;
  }
}

/** Headers of any framework: those of the web standard, or an object with lower-case names. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** How a webhook is verified. */
export interface VerifyOptions {
  /** The time to compare with, in milliseconds since 1970; the present one if absent. */
  readonly nowMs?: number;
}

/** Source: the specification. */
const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const found = Object.entries(headers).find(([one]) => one.toLowerCase() === name);
  const [, value] = found ?? [];
  // Function platforms give a list of the values of each header.
  const [first, ...others] = [value].flat();
  return others.length === 0 ? first : undefined;
}

const hexOf = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The bytes of 64 hexadecimal digits; undefined for anything else. */
function bytesOf(hex: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[0-9a-f]{64}$/.test(hex)) return undefined;
  return new Uint8Array((hex.match(/../g) ?? []).map((digits) => Number.parseInt(digits, 16)));
}

const keyOf = (secret: Uint8Array<ArrayBuffer>, use: 'sign' | 'verify') =>
  crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, [use]);

/** `<timestamp>.<raw body>` */
function signedBytes(timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(`${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  return signed;
}

interface Signed {
  readonly timestamp: string;
  readonly signature: Uint8Array<ArrayBuffer>;
  readonly body: Uint8Array;
}

/** Whether a secret fits. `subtle.verify` compares in constant time. */
async function fits({ timestamp, signature, body }: Signed, secret: string): Promise<boolean> {
  const key = await keyOf(encoder.encode(secret), 'verify');
  return crypto.subtle.verify('HMAC', key, signature, signedBytes(timestamp, body));
}

async function fitsAny(signed: Signed, secrets: readonly string[]): Promise<boolean> {
  // Every secret is tried, so that the time does not tell which one fits.
  const results = await Promise.all(secrets.map((secret) => fits(signed, secret)));
  return results.includes(true);
}

/** The body without the white space between its tokens, as most serialisers write it; undefined if it is no JSON. */
function compact(text: string): Uint8Array | undefined {
  try {
    return encoder.encode(JSON.stringify(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** The service writes TEST events with odd spaces, which no serialiser keeps. */
const isReserialisedTest = (text: string) => /^\{\s?"event":\s?"TEST"/.test(text);

/**
 * What is wrong with the form of a secret; undefined if nothing is. A real one has base64 behind its prefix. The secret
 * itself is never part of it.
 */
export function faultOfSecret(secret: string): string | undefined {
  if (secret.startsWith(PREFIX + PREFIX)) return `begins with ${PREFIX} twice`;
  return faultOfKey(secret.replaceAll(/[+/=-]/g, '_'));
}

/** No event is longer: a longer body that no secret fits is not parsed. */
const MOST_PARSED_LENGTH = 64 * 1024;

/** Finds the mistake behind a signature that no secret fits. */
async function mistakeOf(
  signed: Signed,
  text: string,
  secrets: readonly string[],
): Promise<WebhookVerificationError> {
  const stripped = secrets.filter((secret) => !secret.startsWith(PREFIX));
  if (
    await fitsAny(
      signed,
      stripped.map((secret) => PREFIX + secret),
    )
  ) {
    const message = `The secret must begin with ${PREFIX}: use it as the dashboard shows it`;
    return new WebhookVerificationError('prefix_stripped', message);
  }
  const fault = secrets.map(faultOfSecret).find((one) => one !== undefined);
  if (fault !== undefined) {
    const message = `The secret ${fault}: use it as the dashboard shows it`;
    return new WebhookVerificationError('malformed_secret', message);
  }
  const other = text.length > MOST_PARSED_LENGTH ? undefined : compact(text);
  if (isReserialisedTest(text) || (other && (await fitsAny({ ...signed, body: other }, secrets)))) {
    const message = 'The body was parsed and serialised again: verify the bytes as they arrived';
    return new WebhookVerificationError('reserialised', message);
  }
  const message = 'No secret fits the signature: is it that of this endpoint and environment?';
  return new WebhookVerificationError('wrong_secret', message);
}

function rawBytes(rawBody: unknown): Uint8Array {
  if (typeof rawBody === 'string') return encoder.encode(rawBody);
  if (rawBody instanceof Uint8Array) return rawBody;
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  const message =
    'The body must be the raw text or bytes: verify it before any middleware parses it';
  throw new WebhookVerificationError('parsed_body', message);
}

/**
 * Verifies a webhook and returns its event.
 *
 * @param rawBody the body as it arrived: text or bytes
 * @param secrets the secret of the endpoint; during a rotation the new and the old one
 * @throws WebhookVerificationError which names the mistake; answer it with 401
 */
export async function verify(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { nowMs = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const body = rawBytes(rawBody);
  const timestamp = headerOf(headers, 'x-service-timestamp');
  const signature = bytesOf(headerOf(headers, 'x-service-signature') ?? '');
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp) || !signature) {
    const message = 'X-Service-Timestamp or X-Service-Signature is missing or malformed';
    throw new WebhookVerificationError('missing_header', message);
  }
  // An empty secret, such as that of an unset variable, would let anyone sign.
  const all = [secrets].flat().filter((secret) => secret !== '');
  const signed = { timestamp, signature, body };
  const isRight = await fitsAny(signed, all);
  const text = decoder.decode(body);
  if (!isRight) throw await mistakeOf(signed, text, all);
  const differenceSeconds = Math.abs(Math.floor(nowMs / 1000) - Number(timestamp));
  if (differenceSeconds > TOLERANCE_SECONDS) {
    const message = `The webhook was signed ${differenceSeconds} s away from this clock, at most ${TOLERANCE_SECONDS} are allowed`;
    throw new WebhookVerificationError('clock', message);
  }
  return JSON.parse(text) as WebhookEvent;
}

/** A signed request, as the service sends it. */
export interface SignedEvent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the headers of a webhook name. */
export interface SignedFacts {
  readonly event: string;
  readonly eventId: string;
}

/** Signs a body as the service does, with the headers of the specification and of Standard Webhooks. */
export async function signBody(
  body: string,
  { event, eventId }: SignedFacts,
  secret: string,
  { nowMs = Date.now() }: VerifyOptions = {},
): Promise<SignedEvent> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const bytes = encoder.encode(body);
  const own = await signatureOf(encoder.encode(secret), signedBytes(timestamp, bytes));
  const standardKey = Uint8Array.from(atob(paddedBase64(secret)), (char) => char.charCodeAt(0));
  const standard = await signatureOf(standardKey, signedBytes(`${eventId}.${timestamp}`, bytes));
  const headers = {
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-event-id': eventId,
    'x-service-timestamp': timestamp,
    'x-service-signature': hexOf(own),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(standard)))}`,
  };
  return { body, headers };
}

const signatureOf = async (secret: Uint8Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>) =>
  crypto.subtle.sign('HMAC', await keyOf(secret, 'sign'), bytes);

/** The base64 after the prefix; its padding may be missing. */
function paddedBase64(secret: string): string {
  const base64 = secret.replace(PREFIX, '');
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
}

/** Signs an event as the service does, for tests of your own handler. */
export function signTestEvent(
  event: Partial<WebhookEvent> & Pick<WebhookEvent, 'event'>,
  secret: string,
  options: VerifyOptions = {},
): Promise<SignedEvent> {
  const { nowMs = Date.now() } = options;
  const whole = {
    event_id: `evt_test_${crypto.randomUUID()}`,
    sequence: 0,
    timestamp: new Date(nowMs).toISOString(),
    environment: 'sandbox',
    ...event,
  };
  const facts = { event: whole.event, eventId: whole.event_id };
  return signBody(JSON.stringify(whole), facts, secret, { nowMs });
}
