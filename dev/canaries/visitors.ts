import { createHmac, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import type { Canaries } from './canary.ts';
import type { CanaryClient } from './client.ts';

/** What the requests of visitors need. */
export interface VisitorDeps {
  readonly canaries: Canaries;
  readonly client: CanaryClient;
  readonly origin: string;
  readonly dataDir: string;
  /** The settings of the service. */
  readonly environment: Readonly<Record<string, string>>;
}

const MAIL_WITHIN_MS = 60_000;
const POLL_MS = 250;

/** Requests that are refused: malformed, invalid, unauthorised, to paths that do not exist. */
export async function sendRefusedRequests(deps: VisitorDeps, keys: KeyPair): Promise<void> {
  const { canaries, client } = deps;
  const { word } = canaries;
  await client.api(keys, '/orders', { body: `{"buyerName": ${word('malformed body')}}` });
  await client.api(keys, '/orders', { body: `"${word('malformed body')}"` });
  await client.api(keys, '/orders', {
    body: {
      amount: word('invalid amount'),
      buyerEmail: word('invalid e-mail'),
      buyerPhone: word('invalid phone'),
      buyerName: word('name beside invalid fields'),
      description: word('description beside invalid fields').repeat(60),
    },
  });
  await client.api(keys, '/orders', {
    body: { amount: 5 },
    headers: { 'Content-Type': word('media type') },
  });
  await client.api(keys, `/orders/${word('unknown order')}`);
  await client.api(keys, `/orders?status=${word('invalid filter')}&size=${word('invalid filter')}`);
  await client.api(keys, `/${word('unknown path')}`);
  const wrong = { apiKey: word('unknown API key'), apiSecret: word('wrong API secret') };
  await client.api(wrong, '/orders');
  await client.api({ ...keys, apiSecret: word('wrong API secret') }, '/orders');
  await client.send(`/pay/${word('unknown payment token')}`);
  await client.send(`/pay/${word('unknown payment token')}?utm=${word('query string')}`);
  await client.send(`/${word('unknown path')}?token=${word('query string')}`);
  await client.send(`/dashboard/reset-password/${word('unknown token')}`);
  await client.send('/dashboard', { headers: { Cookie: `session=${word('cookie')}` } });
  await sendRaw(
    deps.origin,
    `GET /${word('malformed request')} HTTP/9.9\r\nX: ${word('malformed request')}\r\n\r\n`,
  );
  await sendRaw(
    deps.origin,
    `${word('unknown method').toUpperCase()} /pay/${word('malformed request')} HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
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
async function sendCallbacks({ canaries, client, environment }: VisitorDeps): Promise<void> {
  const secret = environment['SANDBOX_RAZORPAY_WEBHOOK_SECRET'] ?? '';
  const send = (body: string, signature: string) =>
    client.send('/callbacks/razorpay/sandbox', {
      body,
      headers: {
        'X-Razorpay-Signature': signature,
        'X-Razorpay-Event-Id': `evt_${randomUUID()}`,
      },
    });
  const payload = () =>
    JSON.stringify({
      event: 'payment.captured',
      payload: {
        payment: {
          entity: {
            id: 1,
            vpa: `${canaries.word('UPI address')}@upi`,
            contact: canaries.phone('contact of a callback'),
            email: canaries.email('e-mail of a callback'),
          },
        },
      },
    });
  await send(payload(), canaries.word('wrong signature'));
  const signed = payload();
  await send(signed, createHmac('sha256', secret).update(signed).digest('hex'));
}

/** A visitor signs up, logs in with a wrong and the right password, and applies as a merchant. */
export async function signUpAndApply(deps: VisitorDeps): Promise<boolean> {
  const { canaries, client, environment, origin } = deps;
  const { word } = canaries;
  const own = { Origin: environment['PUBLIC_BASE_URL'] ?? origin };
  const submit = (path: string, form: Record<string, string>, cookie = '') =>
    client.send(`/dashboard${path}`, {
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
    for (const name of readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.eml')) continue;
      const mail = readFileSync(join(dataDir, name), 'utf8').replaceAll(/=\r?\n/g, '');
      const token = /confirm-email\/([\w-]+)/.exec(mail)?.[1];
      if (mail.includes(email) && token !== undefined) return token;
    }
    await delay(POLL_MS);
  }
  return undefined;
}
