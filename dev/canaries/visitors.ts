import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import { dataDirIn, type Run } from '../faults/run.ts';
import { exchange, type HttpAnswer } from '../load/client.ts';
import { readOrder, type LoadOrder } from '../load/order.ts';
import { untilDone } from '../load/simulator.ts';
import { createMailStore } from '../mailbox/store.ts';
import { marksOf, type Canaries } from './canary.ts';

/** What a request is made of; a text as body is sent as it is. */
interface VisitorRequest {
  readonly body?: object | string;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends it as a merchant, below the sandbox's base path. */
  readonly keys?: KeyPair;
}

/** What the requests of visitors need. */
export interface VisitorDeps {
  readonly canaries: Canaries;
  readonly run: Run;
}

/** Sends a request as a browser or another client does, with canaries in every header that it may choose. */
function visit(
  { canaries, run }: VisitorDeps,
  path: string,
  { body, form, headers, keys }: VisitorRequest = {},
): Promise<HttpAnswer> {
  const content = form ? new URLSearchParams(form).toString() : body;
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
  return exchange(`${run.cluster.apiBaseUrl}${keys ? BASE_PATHS.sandbox : ''}${path}`, {
    method: content === undefined ? 'GET' : 'POST',
    headers: {
      ...marksOf(canaries).headers(),
      ...(content !== undefined && { 'Content-Type': type }),
      ...(keys && {
        'X-API-Key': keys.apiKey,
        'X-API-Secret': keys.apiSecret,
        'Idempotency-Key': canaries.word('Idempotency-Key'),
      }),
      ...headers,
    },
    body: typeof content === 'object' ? JSON.stringify(content) : content,
  });
}

/** What the merchant and the buyer of an order look at and type. */
export async function lookAt(deps: VisitorDeps, order: LoadOrder): Promise<void> {
  const { word, add } = deps.canaries;
  const { keys } = order.merchant;
  const now = await readOrder(order);
  if (!now) return;
  const token = new URL(now.payment_url).pathname.split('/').at(-1) ?? '';
  add('payment token', token);
  const form = { again: word('unknown form field') };
  const reason = `It never came: ${word("buyer's dispute reason")}`;
  await visit(deps, `/pay/${token}`);
  await visit(deps, `/pay/${token}/sessions`, { form });
  await visit(deps, `/pay/${token}/dispute`, { form: { reason } });
  for (const buyerEmail of [encodeURIComponent(now.buyer.email), word('query string')]) {
    await visit(deps, `/orders?buyerEmail=${buyerEmail}`, { keys });
  }
  await visit(deps, `/orders/${now.order_number}/timeline?note=${word('query string')}`, { keys });
}

/** PostgreSQL describes a row that a constraint refuses with all of its values. */
export const createRefusedRow = (deps: VisitorDeps): Promise<void> =>
  deps.run.withSql(async (sql) => {
    const { keys } = deps.run.merchant;
    const { text } = marksOf(deps.canaries);
    const fields = ['buyerName', 'buyerEmail', 'buyerPhone', 'description'];
    const texts = Object.fromEntries(fields.map((field) => [field, text(field, 'A row')]));
    await sql`ALTER TABLE orders ADD CONSTRAINT refused_for_canaries CHECK (false) NOT VALID`;
    const { status } = await visit(deps, '/orders', { keys, body: { amount: 500, ...texts } });
    await sql`ALTER TABLE orders DROP CONSTRAINT refused_for_canaries`;
    if (status > 0 && status < 500) throw new Error(`A refused row is answered with ${status}`);
  });

/** Requests that are refused: malformed, invalid, unauthorised, to paths that do not exist. */
export async function refusedRequests(deps: VisitorDeps): Promise<void> {
  const { canaries, run } = deps;
  const { word, email, phone } = canaries;
  const { keys } = run.merchant;
  const apiSecret = word('wrong API secret');
  const part = word('malformed request');
  const invalid = {
    amount: word('invalid amount'),
    buyerEmail: word('invalid e-mail'),
    buyerPhone: word('invalid phone'),
    buyerName: word('name beside invalid fields'),
    description: word('description beside invalid fields').repeat(60),
  };
  const unknown = {
    amount: 100,
    buyerEmail: email('buyerEmail'),
    buyerPhone: phone('buyerPhone'),
    unknownField: word('unknown field'),
  };
  const requests: readonly [path: string, request?: VisitorRequest][] = [
    ['/orders', { keys, body: `{"buyerName": ${word('malformed body')}}` }],
    ['/orders', { keys, body: `"${word('malformed body')}"` }],
    ['/orders', { keys, body: invalid }],
    ['/orders', { keys, body: unknown }],
    ['/orders', { keys, body: { amount: 5 }, headers: { 'Content-Type': word('media type') } }],
    [`/orders/${word('unknown order')}`, { keys }],
    [`/orders?status=${word('invalid filter')}&size=${word('invalid filter')}`, { keys }],
    [`/${word('unknown path')}`, { keys }],
    ['/orders', { keys: { apiKey: word('unknown API key'), apiSecret } }],
    ['/orders', { keys: { ...keys, apiSecret } }],
    [`/pay/${word('unknown payment token')}`],
    [`/pay/${word('unknown payment token')}?utm=${word('query string')}`],
    [`/${word('unknown path')}?token=${word('query string')}`],
    [`/dashboard/reset-password/${word('unknown token')}`],
    ['/dashboard', { headers: { Cookie: `session=${word('cookie')}` } }],
  ];
  for (const [path, request] of requests) await visit(deps, path, request);
  const method = word('unknown method').toUpperCase();
  for (const bytes of [
    `GET /${part} HTTP/9.9\r\nX: ${part}\r\n\r\n`,
    `${method} /pay/${part} HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]) {
    await sendRaw(run.cluster.apiBaseUrl, bytes);
  }
}

/** Bytes that no HTTP client would send. */
async function sendRaw(origin: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}).resume();
  socket.end(bytes, 'latin1');
  await once(socket, 'close').catch(() => undefined);
}

/** Callbacks of the gateway: a signed one in an unknown form, of which there is an alert, and one with a wrong signature. */
export async function sendCallbacks(deps: VisitorDeps): Promise<void> {
  const { canaries, run } = deps;
  const secret = run.environment()['SANDBOX_RAZORPAY_WEBHOOK_SECRET'] ?? '';
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

/**
 * A visitor signs up, logs in with a wrong and the right password, and applies as a merchant.
 *
 * @throws Error without a mail or a session
 */
export async function signUp(deps: VisitorDeps): Promise<void> {
  const { word, email: emailOf, phone, pan, digits, add } = deps.canaries;
  const headers = { Origin: deps.run.environment()['PUBLIC_BASE_URL'] ?? '', Cookie: '' };
  const submit = (path: string, form: Record<string, string>) =>
    visit(deps, `/dashboard${path}`, { form, headers });
  const email = emailOf('e-mail of a user');
  const password = `${word('password')} ${word('password')}`;
  const wrong = { password: word('failed log-in') };
  await submit('/login', { ...wrong, email: emailOf('failed log-in'), next: word('next page') });
  await submit('/forgot-password', { email: emailOf('forgotten password') });
  const untilAnswered = (path: string, form: Record<string, string>) =>
    untilDone(async () => {
      const answer = await submit(path, form);
      if (answer.status === 0 || answer.status >= 500) throw new Error(`No answer to ${path}`);
      return answer;
    });
  await untilAnswered('/sign-up', { email, businessName: word('business name'), password });
  const token = await tokenOfMail(deps.run, email);
  add('token of a mail', token);
  await submit(`/confirm-email/${token}`, wrong);
  const confirmed = await untilAnswered(`/confirm-email/${token}`, { password });
  // If a first answer was lost, the link is used up.
  const { headers: answered } = confirmed.headers['set-cookie']
    ? confirmed
    : await untilAnswered('/login', { email, password });
  [headers.Cookie = ''] = String(answered['set-cookie'] ?? '').split(';');
  const [, session] = headers.Cookie.split('=');
  if (!session) throw new Error('A user has no session');
  add('session cookie', session);
  await submit('/onboarding/business', {
    legalName: word('legal name'),
    businessKind: 'company',
    pan: pan('PAN'),
    gstin: '',
    phone: phone("merchant's phone"),
    street: word('street'),
    city: word('city'),
    region: 'Karnataka',
    pinCode: '560034',
  });
  const accountNumber = digits('bank account number', 14);
  await submit('/onboarding/bank', {
    accountHolder: word('account holder'),
    accountNumber,
    accountNumberAgain: accountNumber,
    ifsc: 'HDFC0001234',
  });
}

/** The token in the link of the mail to this address, once it has arrived. */
function tokenOfMail({ folder }: Run, email: string): Promise<string> {
  const mails = createMailStore(join(dataDirIn(folder), 'mails'));
  return untilDone(async () => {
    const mail = (await mails.latest(Infinity)).find(({ to }) => to.includes(email));
    const token = /confirm-email\/([\w-]+)/.exec(mail?.text ?? '')?.[1];
    if (token === undefined) throw new Error(`${email} got no link`);
    return token;
  });
}
