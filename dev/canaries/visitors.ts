import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import { exchange, type HttpAnswer } from '../load/client.ts';
import { receivedMails } from '../mailbox/received.ts';
import { marksOf, type Canaries } from './canary.ts';

/** What a request is made of; a text as body is sent as it is. */
interface VisitorRequest {
  readonly body?: object | string;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the requests of visitors need. */
export interface VisitorDeps {
  readonly canaries: Canaries;
  readonly origin: string;
  readonly dataDir: string;
  /** The settings of the service. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Sends a request as a browser or another client does, with canaries in every header that it may choose. */
export function visit(
  { canaries, origin }: VisitorDeps,
  path: string,
  { body, form, headers }: VisitorRequest = {},
): Promise<HttpAnswer> {
  const content = form ? new URLSearchParams(form).toString() : body;
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
  return exchange(origin + path, {
    method: content === undefined ? 'GET' : 'POST',
    headers: {
      ...marksOf(canaries).headers(),
      ...(content !== undefined && { 'Content-Type': type }),
      ...headers,
    },
    body: typeof content === 'object' ? JSON.stringify(content) : content,
  });
}

/** A request of a merchant, below the sandbox's base path. */
export const visitApi = (
  deps: VisitorDeps,
  { apiKey, apiSecret }: KeyPair,
  path: string,
  { headers, ...request }: VisitorRequest = {},
): Promise<HttpAnswer> =>
  visit(deps, `${BASE_PATHS.sandbox}${path}`, {
    ...request,
    headers: {
      'X-API-Key': apiKey,
      'X-API-Secret': apiSecret,
      'Idempotency-Key': deps.canaries.word('Idempotency-Key'),
      ...headers,
    },
  });

const MAIL_WITHIN_MS = 60_000;
const POLL_MS = 250;

/** Requests that are refused: malformed, invalid, unauthorised, to paths that do not exist. */
export async function sendRefusedRequests(deps: VisitorDeps, keys: KeyPair): Promise<void> {
  const { word, email, phone } = deps.canaries;
  const ofMerchant: [path: string, request?: VisitorRequest, keys?: Partial<KeyPair>][] = [
    ['/orders', { body: `{"buyerName": ${word('malformed body')}}` }],
    ['/orders', { body: `"${word('malformed body')}"` }],
    [
      '/orders',
      {
        body: {
          amount: word('invalid amount'),
          buyerEmail: word('invalid e-mail'),
          buyerPhone: word('invalid phone'),
          buyerName: word('name beside invalid fields'),
          description: word('description beside invalid fields').repeat(60),
        },
      },
    ],
    [
      '/orders',
      {
        body: {
          amount: 100,
          buyerEmail: email('buyerEmail'),
          buyerPhone: phone('buyerPhone'),
          unknownField: word('unknown field'),
        },
      },
    ],
    ['/orders', { body: { amount: 5 }, headers: { 'Content-Type': word('media type') } }],
    [`/orders/${word('unknown order')}`],
    [`/orders?status=${word('invalid filter')}&size=${word('invalid filter')}`],
    [`/${word('unknown path')}`],
    ['/orders', {}, { apiKey: word('unknown API key'), apiSecret: word('wrong API secret') }],
    ['/orders', {}, { apiSecret: word('wrong API secret') }],
  ];
  for (const [path, request, wrong] of ofMerchant) {
    await visitApi(deps, { ...keys, ...wrong }, path, request);
  }
  for (const path of [
    `/pay/${word('unknown payment token')}`,
    `/pay/${word('unknown payment token')}?utm=${word('query string')}`,
    `/${word('unknown path')}?token=${word('query string')}`,
    `/dashboard/reset-password/${word('unknown token')}`,
  ]) {
    await visit(deps, path);
  }
  await visit(deps, '/dashboard', { headers: { Cookie: `session=${word('cookie')}` } });
  const part = word('malformed request');
  await sendRaw(deps.origin, `GET /${part} HTTP/9.9\r\nX: ${part}\r\n\r\n`);
  const method = word('unknown method').toUpperCase();
  await sendRaw(deps.origin, `${method} /pay/${part} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await sendCallbacks(deps);
}

/** Bytes that no HTTP client would send. */
async function sendRaw(origin: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}).resume();
  socket.end(bytes, 'latin1');
  await once(socket, 'close');
}

/** Callbacks of the gateway: with a wrong signature, and signed ones in an unknown form. */
async function sendCallbacks(deps: VisitorDeps): Promise<void> {
  const { canaries, environment } = deps;
  const secret = environment['SANDBOX_RAZORPAY_WEBHOOK_SECRET'] ?? '';
  const sign = (body: string) => createHmac('sha256', secret).update(body).digest('hex');
  for (const signatureOf of [sign, () => canaries.word('wrong signature')]) {
    const entity = {
      id: 1,
      vpa: `${canaries.word('UPI address')}@upi`,
      contact: canaries.phone('contact of a callback'),
      email: canaries.email('e-mail of a callback'),
    };
    const body = JSON.stringify({ event: 'payment.captured', payload: { payment: { entity } } });
    const headers = {
      'X-Razorpay-Signature': signatureOf(body),
      'X-Razorpay-Event-Id': `evt_${randomUUID()}`,
    };
    await visit(deps, '/callbacks/razorpay/sandbox', { body, headers });
  }
}

/** A visitor signs up, logs in with a wrong and the right password, and applies as a merchant. */
export async function signUpAndApply(deps: VisitorDeps): Promise<boolean> {
  const { canaries, environment, origin } = deps;
  const { word } = canaries;
  const own = { Origin: environment['PUBLIC_BASE_URL'] ?? origin };
  const submit = (path: string, form: Record<string, string>, cookie = '') =>
    visit(deps, `/dashboard${path}`, {
      form,
      headers: { ...own, ...(cookie && { Cookie: cookie }) },
    });
  const email = canaries.email('e-mail of a user');
  const password = `${word('password')} ${word('password')}`;
  await submit('/login', {
    email: canaries.email('failed log-in'),
    password: word('failed log-in'),
    next: word('next page'),
  });
  await submit('/forgot-password', { email: canaries.email('forgotten password') });
  await submit('/sign-up', { email, businessName: word('business name'), password });
  const token = await tokenOfMail(deps.dataDir, email);
  if (token === undefined) return false;
  canaries.add('token of a mail', token);
  await submit(`/confirm-email/${token}`, { password: word('failed log-in') });
  const confirmed = await submit(`/confirm-email/${token}`, { password });
  const cookie = String(confirmed.headers['set-cookie'] ?? '').split(';')[0] ?? '';
  canaries.add('session cookie', cookie.split('=')[1] ?? '');
  const account = canaries.digits('bank account number', 14);
  await submit(
    '/onboarding/business',
    {
      legalName: word('legal name'),
      businessKind: 'company',
      pan: canaries.pan('PAN'),
      gstin: '',
      phone: canaries.phone("merchant's phone"),
      street: word('street'),
      city: word('city'),
      region: 'Karnataka',
      pinCode: '560034',
    },
    cookie,
  );
  await submit(
    '/onboarding/bank',
    {
      accountHolder: word('account holder'),
      accountNumber: account,
      accountNumberAgain: account,
      ifsc: 'HDFC0001234',
    },
    cookie,
  );
  return cookie !== '';
}

/** The token in the link of the mail to this address. */
async function tokenOfMail(dataDir: string, email: string): Promise<string | undefined> {
  const endsAt = performance.now() + MAIL_WITHIN_MS;
  while (performance.now() < endsAt) {
    for (const file of [...receivedMails(dataDir).values()].flat()) {
      const mail = readFileSync(file, 'utf8').replaceAll(/=\r?\n/g, '');
      const token = /confirm-email\/([\w-]+)/.exec(mail)?.[1];
      if (mail.includes(email) && token !== undefined) return token;
    }
    await delay(POLL_MS);
  }
  return undefined;
}
