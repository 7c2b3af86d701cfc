import { createHmac } from 'node:crypto';
import { exampleEventBody, unusualTestBody } from '../src/orders/public.ts';
import { errorOf, errorReply, ValidationError } from '../src/http/responses/errors.ts';
import { signWebhook } from '../src/webhooks/sending/signed-request.ts';

const AT = new Date('2026-11-20T09:30:00.000Z');
const NOW_SECONDS = AT.getTime() / 1000;
/** A secret's body is drawn once, so that the file stays the same. */
const secretOf = (seed: string) =>
  `whsec_${createHmac('sha256', 'vectors').update(seed).digest('hex').slice(0, 36)}`;
const [SECRET, OTHER] = [secretOf('one'), secretOf('two')];

interface WebhookVector {
  name: string;
  secrets: string[];
  headers: Record<string, string>;
  body: string;
  nowSeconds: number;
  /** The event's id, or the mistake that is found. */
  expect: { eventId: string } | { mistake: string };
}

function headersOf(body: string, secret: string): Record<string, string> {
  const rawBody = Buffer.from(body);
  const signature = signWebhook({ secret, timestampSeconds: NOW_SECONDS, rawBody });
  return { 'x-service-timestamp': String(NOW_SECONDS), 'x-service-signature': signature };
}

/** A webhook as the service sends it, with what a vector changes. */
function webhook(name: string, body: string, changes: Partial<WebhookVector> = {}): WebhookVector {
  const { event_id: eventId } = JSON.parse(body) as { event_id: string };
  return {
    name,
    secrets: [SECRET],
    headers: headersOf(body, SECRET),
    body,
    nowSeconds: NOW_SECONDS,
    expect: { eventId },
    ...changes,
  };
}

/** The body as Python's json.dumps writes it. */
const withSpaces = (body: string) =>
  JSON.stringify(JSON.parse(body), null, 1).replaceAll(/,\n */g, ', ').replaceAll(/\n */g, '');

const ABOUT = {
  environment: 'sandbox',
  eventId: 'evt_01M7W4Q010D3F5G7H9J1K2M4N6',
  at: AT,
} as const;
const PAID = exampleEventBody('PAYMENT_SUCCESS', ABOUT);
const UNUSUAL = unusualTestBody(ABOUT);
const fails = (mistake: string) => ({ expect: { mistake } });

const ACCEPTED: readonly WebhookVector[] = [
  webhook('as it was sent', PAID),
  webhook('a TEST event with Devanagari and odd spaces', UNUSUAL),
  webhook('during a rotation: the second secret fits', PAID, { secrets: [OTHER, SECRET] }),
  webhook('300 s old', PAID, { nowSeconds: NOW_SECONDS + 300 }),
  webhook('300 s in the future', PAID, { nowSeconds: NOW_SECONDS - 300 }),
];

/** What does not fit the signature. */
const WITH_MISTAKES: readonly WebhookVector[] = [
  webhook('301 s old', PAID, { nowSeconds: NOW_SECONDS + 301, ...fails('clock') }),
  webhook('301 s in the future', PAID, { nowSeconds: NOW_SECONDS - 301, ...fails('clock') }),
  webhook('the secret of another endpoint', PAID, { secrets: [OTHER], ...fails('wrong_secret') }),
  webhook('no secret', PAID, { secrets: [], ...fails('wrong_secret') }),
  webhook('an empty secret, with which everybody can sign', PAID, {
    secrets: [''],
    headers: headersOf(PAID, ''),
    ...fails('wrong_secret'),
  }),
  webhook('the secret without its prefix', PAID, {
    secrets: [SECRET.slice('whsec_'.length)],
    ...fails('prefix_stripped'),
  }),
  ...[
    `${SECRET}\n`,
    `${SECRET}\r\n`,
    ` ${SECRET}`,
    `${SECRET}\u00a0`,
    `"${SECRET}"`,
    `'${SECRET}'`,
    `\ufeff${SECRET}`,
    `whsec_${SECRET}`,
    `${OTHER},${SECRET}`,
  ].map((secret) =>
    webhook(
      `the secret as ${JSON.stringify(secret.replaceAll(SECRET, 'whsec_…').replaceAll(OTHER, 'whsec_…'))}`,
      PAID,
      {
        secrets: [secret],
        ...fails('malformed_secret'),
      },
    ),
  ),
  webhook('another amount', PAID, {
    body: PAID.replace('"amount":499.5', '"amount":4.5'),
    ...fails('wrong_secret'),
  }),
  webhook('a body that is no JSON', PAID, { body: '{', ...fails('wrong_secret') }),
  webhook('serialised again, with spaces', PAID, {
    body: withSpaces(PAID),
    ...fails('reserialised'),
  }),
  webhook('a TEST event serialised again', UNUSUAL, {
    body: JSON.stringify(JSON.parse(UNUSUAL)),
    ...fails('reserialised'),
  }),
  webhook('a TEST event serialised again, with spaces', UNUSUAL, {
    body: withSpaces(JSON.stringify(JSON.parse(UNUSUAL))),
    ...fails('reserialised'),
  }),
];

/** What is wrong with the headers. */
function withOddHeaders(): WebhookVector[] {
  const { headers } = webhook('', PAID);
  const { 'x-service-timestamp': timestamp = '', 'x-service-signature': signature = '' } = headers;
  const odd = (name: string, changed: Record<string, string>, mistake = 'missing_header') =>
    webhook(name, PAID, { headers: changed, ...fails(mistake) });
  const withTimestamp = (text: string) => ({ ...headers, 'x-service-timestamp': text });
  const withSignature = (text: string) => ({ ...headers, 'x-service-signature': text });
  return [
    odd('a later timestamp', withTimestamp(String(NOW_SECONDS + 1)), 'wrong_secret'),
    odd('a timestamp that is no number', withTimestamp(`${timestamp}.0`)),
    odd('without a signature', { 'x-service-timestamp': timestamp }),
    odd('without a timestamp', { 'x-service-signature': signature }),
    odd('a signature in capital letters', withSignature(signature.toUpperCase())),
    odd('a signature that is cut off', withSignature(signature.slice(1))),
  ];
}

function errors() {
  const made = [
    new ValidationError({ amount: 'must be greater than or equal to 5.0' }),
    ...(
      [
        'UNAUTHORIZED',
        'INVALID_STATE',
        'MERCHANT_NOT_ACTIVE',
        'ORDER_NOT_FOUND',
        'PAYMENT_SESSION_EXPIRED',
        'TOO_MANY_REQUESTS',
        'INTERNAL',
        'GATEWAY_UNAVAILABLE',
      ] as const
    ).map((code) => errorOf(code)),
  ].map((error) => {
    const { status, headers, body } = errorReply(error, AT);
    const fields = error instanceof ValidationError ? error.validationErrors : {};
    return {
      name: error.code,
      status,
      headers: { ...headers, 'x-request-id': 'req-1' },
      body: JSON.stringify(body),
      expect: { code: error.code, fields, requestId: 'req-1', isRetryable: RETRYABLE.has(status) },
    };
  });
  const ofProxy = (status: number, isRetryable: boolean) => ({
    name: `a page of a proxy: ${status}`,
    status,
    headers: {},
    body: '<h1>Not from the service</h1>',
    expect: { code: `HTTP_${status}`, fields: {}, requestId: null, isRetryable },
  });
  const ofProxies = [
    ...[200, 502, 503, 504].map((status) => ofProxy(status, true)),
    ...[301, 403, 413].map((status) => ofProxy(status, false)),
  ];
  return [...made, ...ofProxies];
}

/** Source: the specification's "Client handling rules"; 503 and 504 are those of proxies. */
const RETRYABLE = new Set([429, 500, 502, 503, 504]);

/** What every SDK and the service agree on, with what the service signs and answers; the rest stays. */
export function withVectors(current: string): string {
  const vectors = {
    ...(JSON.parse(current) as object),
    webhooks: [...ACCEPTED, ...WITH_MISTAKES, ...withOddHeaders()],
    errors: errors(),
  };
  return `${JSON.stringify(vectors, null, 2)}\n`;
}
