import { expect } from 'vitest';
import { pageAfterLogin } from '../../src/dashboard/account/log-in.ts';
import { codeOf, merchantUser, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';
import { linkTo, mailsTo } from '../support/mails.ts';
import type { Visit } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { visitorOf } from './visitor.ts';

const LOG_IN = '/dashboard/login';
const CODE = '/dashboard/login/code';
const FORGOT = '/dashboard/forgot-password';
const NEW_PASSWORD = 'four purple umbrellas';

const test = dashboardTest({ time: 'real', worker: false })
  .extend('newUser', ({ service }) => async () => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    return merchantUser(service.sql, merchantId);
  })
  .extend('browser', ({ service }) => visitorOf(service.origin));

test.beforeEach(async ({ service }) => void (await service.sql`DELETE FROM account_attempts`));

/** The parts of a refusal that are the same for every request. */
function answerOf({ status, headers, body }: Visit, typed: string) {
  const varying = ['date', 'x-request-id', 'content-security-policy'];
  const kept = [...headers].filter(([name]) => !varying.includes(name));
  const page = body.replaceAll(/nonce="[^"]+"/g, '').replaceAll(typed, '');
  return { status, headers: kept.filter(([name]) => name !== 'content-length'), page };
}

test('a user logs in, sees the asked page, and logs out', async ({ newUser, browser, service }) => {
  const { email } = await newUser();
  const asked = await browser.get('/dashboard/production/account');
  expect(asked.location).toBe(`${LOG_IN}?next=%2Fdashboard%2Fproduction%2Faccount`);
  const form = await browser.follow(asked);
  expect(form.body).toContain('value="/dashboard/production/account"');
  const next = '/dashboard/production/account';
  const entered = await browser.post(LOG_IN, { email, password: PASSWORD, next });
  expect(entered).toMatchObject({ status: 303, location: next });
  expect((await browser.get(next)).body).toContain(email);
  const token = browser.cookie();

  const left = await browser.post('/dashboard/logout');
  expect(left.location).toBe(`${LOG_IN}?done=ended`);
  expect(browser.cookie()).toMatch(/^__Host-device=[\w-]{43}$/);
  expect((await browser.follow(left)).body).toContain('You are logged out.');
  const kept = await visitorOf(service.origin, { cookie: token }).get(next);
  expect(kept.location).toContain(LOG_IN);
});

test('a login gives a new session and ends the one that the browser had', async ({
  newUser,
  service,
}) => {
  const user = await newUser();
  const browser = visitorOf(service.origin, user);
  await browser.post(LOG_IN, { email: user.email, password: PASSWORD });
  expect(browser.cookie()).not.toBe(user.cookie);
  const old = await visitorOf(service.origin, user).get('/dashboard/sandbox/account');
  expect(old.location).toContain(LOG_IN);
});

test('an unknown address, a wrong password and a disabled account get the same answer', async ({
  newUser,
  service,
  browser,
}) => {
  const disabled = await operatorUser(service.sql, 'admin');
  await service.sql`UPDATE users SET disabled_at = now() WHERE user_id = ${disabled.userId}`;
  const { email } = await newUser();
  const answers: ReturnType<typeof answerOf>[] = [];
  for (const address of ['nobody@shop.example', email, disabled.email]) {
    const wrong = { email: address, password: 'not the password' };
    answers.push(answerOf(await browser.post(LOG_IN, wrong), address));
  }
  expect(answers[0]?.status).toBe(400);
  expect(answers[0]?.page).toContain('The e-mail address or the password is wrong');
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(browser.cookie()).toBe('');
});

test('an address that has to wait is told how long; another address is not affected', async ({
  newUser,
  service,
  browser,
}) => {
  const { email } = await newUser();
  for (const address of [email, 'nobody@shop.example']) {
    for (let count = 0; count < 5; count += 1) {
      const wrong = { email: address, password: `guess ${count}` };
      expect((await browser.post(LOG_IN, wrong)).status).toBe(400);
    }
    const refused = await browser.post(LOG_IN, { email: address, password: PASSWORD });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body).toContain('Too many attempts: try again in');
  }
  await service.sql`
    UPDATE account_attempts SET last_at = last_at - interval '15 seconds'`;
  expect((await browser.post(LOG_IN, { email, password: PASSWORD })).status).toBe(303);
});

test('the login continues only on a page of this service', () => {
  for (const page of ['/dashboard/sandbox/orders/ORD1', '/operator', '/dashboard']) {
    expect(pageAfterLogin(page)).toBe(page);
  }
  for (const elsewhere of [
    undefined,
    '',
    'https://evil.example/dashboard',
    '//evil.example',
    '/\\evil.example',
    '/dashboard//evil.example',
    '/dashboardevil',
    '/dashboard/logout?x',
    '/dashboard/\r\nSet-Cookie: a=b',
  ]) {
    expect(pageAfterLogin(elsewhere)).toBe('/dashboard');
  }
});

test('a user with two-factor enters a code after the password', async ({ service, browser }) => {
  const { email } = await operatorUser(service.sql, 'finance');
  expect((await browser.get(CODE)).location).toBe(LOG_IN);
  const next = '/operator/account';
  const entered = await browser.post(LOG_IN, { email, password: PASSWORD, next });
  expect(entered.location).toBe(`${CODE}?next=%2Foperator%2Faccount`);
  expect(entered.headers.getSetCookie()[0]).toMatch(
    /^__Host-login=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=600$/,
  );
  expect((await browser.get(next)).location).toContain(LOG_IN);
  expect((await browser.follow(entered)).body).toContain('autocomplete="one-time-code"');

  const wrong = await browser.post(CODE, { code: 'no code', next });
  expect(wrong.status).toBe(400);
  expect(wrong.body).toContain('The code is wrong, has expired or was used already');
  const right = await browser.post(CODE, { code: codeOf(TOTP_SECRET), next });
  expect(right).toMatchObject({ status: 303, location: next });
  expect((await browser.get(next)).body).toContain(email);

  const expired = await browser.post(CODE, { code: codeOf(TOTP_SECRET), next });
  expect(expired.status).toBe(400);
  expect(expired.body).toContain('The login has expired: log in again');
});

test('a forgotten password is set anew by the link of a mail', async ({
  newUser,
  service,
  browser,
}) => {
  const user = await newUser();
  const sent = await browser.follow(await browser.post(FORGOT, { email: user.email }));
  expect(sent.body).toContain('Check your e-mail at');
  const link = await linkTo(service.sql, user.email);
  for (let scanned = 0; scanned < 3; scanned += 1) {
    expect((await browser.get(link)).status).toBe(200);
  }
  const easy = await browser.post(link, { newPassword: 'password12345' });
  expect(easy.status).toBe(400);
  expect(easy.body).toContain('id="newPassword-violation">The password is easy to guess');
  const set = await browser.post(link, { newPassword: NEW_PASSWORD });
  expect(set.location).toBe(`${LOG_IN}?done=reset`);
  expect(browser.cookie()).toBe('');
  const old = await visitorOf(service.origin, user).get('/dashboard/sandbox/account');
  expect(old.location).toContain(LOG_IN);
  const reused = await browser.post(link, { newPassword: NEW_PASSWORD });
  expect(reused.status).toBe(404);
  expect(reused.body).toContain('request another link');
  const given = { email: user.email, password: NEW_PASSWORD };
  expect((await browser.post(LOG_IN, given)).location).toBe('/dashboard');
});

test('the answer to a forgotten password does not tell whether there is an account', async ({
  newUser,
  service,
  browser,
}) => {
  const { email } = await newUser();
  const unknown = 'nobody-else@shop.example';
  const answers = [
    answerOf(await browser.post(FORGOT, { email }), email),
    answerOf(await browser.post(FORGOT, { email: unknown }), unknown),
  ];
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]?.status).toBe(200);
  const mails = [await mailsTo(service.sql, email), await mailsTo(service.sql, unknown)];
  expect(mails.map((list) => list.map(({ subject }) => subject))).toEqual([
    ['Set a new password'],
    ['There is no account with this address'],
  ]);
});

test('links are not followed by guessing', async ({ browser }) => {
  for (const kind of ['confirm-email', 'reset-password', 'invitation']) {
    for (const token of ['x', 'a'.repeat(43), '%00', '..%2f']) {
      expect((await browser.get(`/dashboard/${kind}/${token}`)).status).toBe(404);
    }
  }
  const post = await browser.post('/dashboard/invitation/x', { newPassword: NEW_PASSWORD });
  expect(post.status).toBe(404);
});
