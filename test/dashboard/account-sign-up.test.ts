import { expect } from 'vitest';
import { linkTo, mailsTo } from '../support/mails.ts';
import { merchantUser, operatorUser } from '../support/users.ts';
import type { Visit } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';
import { visitorOf } from './visitor.ts';

const PASSWORD = 'four purple umbrellas';
const SIGN_UP = '/dashboard/sign-up';
let merchants = 0;
const newForm = () => ({
  businessName: 'Bina Books',
  email: `bina-${(merchants += 1)}@shop.example`,
  password: PASSWORD,
});

const test = dashboardTest({ time: 'real', worker: false });

/** The parts of an answer that are the same for every request. */
function answerOf({ status, headers, body, location }: Visit, email: string) {
  const varying = ['date', 'x-request-id', 'content-security-policy', 'content-length'];
  const kept = [...headers].filter(([name]) => !varying.includes(name));
  const same = body.replaceAll(/nonce="[^"]+"/g, '').replaceAll(email, 'ADDRESS');
  return { status, location, headers: kept, body: same };
}

test('a merchant signs up, opens the link of the mail, confirms with the password and is in', async ({
  service,
}) => {
  const form = newForm();
  const visitor = visitorOf(service.origin);
  const shown = await visitor.get(SIGN_UP);
  expect(shown.status).toBe(200);
  for (const name of ['businessName', 'email', 'password']) {
    expect(shown.body).toContain(`name="${name}"`);
  }
  const sent = await visitor.follow(await visitor.post(SIGN_UP, form));
  expect(sent.body).toContain('Check your e-mail at');
  expect(visitor.cookie()).toBe('');

  const link = await linkTo(service.sql, form.email);
  for (let scanned = 0; scanned < 3; scanned += 1) {
    const { status, body } = await visitor.get(link, { 'Sec-Fetch-Site': 'cross-site' });
    expect(status).toBe(200);
    expect(body).toContain('Bina Books');
  }
  const wrong = await visitor.post(link, { password: 'another password' });
  expect(wrong.status).toBe(400);
  expect(wrong.body).toContain('This is not the password that you signed up with');

  const confirmed = await visitor.post(link, { password: PASSWORD });
  expect(confirmed).toMatchObject({ status: 303, location: '/dashboard' });
  expect(confirmed.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/),
  ]);
  expect((await visitor.get('/dashboard')).location).toBe('/dashboard/sandbox');
  const account = await visitor.get('/dashboard/sandbox/account');
  expect(account.body).toContain(form.email);

  const again = await visitor.get(link);
  expect(again.status).toBe(404);
  expect(again.body).toContain('This link has expired or was already used');
  expect((await visitor.get(SIGN_UP)).location).toBe('/dashboard');
});

test('a form that is refused shows what was typed, except the password, and what is wrong', async ({
  visitor,
}) => {
  const form = { businessName: '<b>Bina</b>', email: 'bina', password: 'short' };
  const { status, body } = await visitor.post(SIGN_UP, form);
  expect(status).toBe(400);
  expect(body).toContain('value="&lt;b>Bina&lt;/b>"');
  expect(body).toContain('value="bina"');
  expect(body).not.toContain('short');
  expect(body).toContain('id="email-violation">email must be a valid email address');
  expect(body).toContain('id="password-violation">The password must have at least 12 characters');
  expect((await visitor.post(SIGN_UP, {})).status).toBe(400);
});

test('an address with an account and one without get the same answer', async ({
  service,
  visitor,
  merchant,
}) => {
  const operator = await operatorUser(service.sql, 'support');
  const { email } = await merchantUser(service.sql, merchant.merchantId);
  const answers: ReturnType<typeof answerOf>[] = [];
  for (const address of [newForm().email, email, operator.email, email.toUpperCase()]) {
    const answer = await visitor.post(SIGN_UP, { ...newForm(), email: address });
    answers.push(answerOf(answer, address));
  }
  expect(answers[0]).toMatchObject({ status: 200, location: null });
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  const [mail] = await mailsTo(service.sql, email);
  expect(mail?.subject).toBe('You already have an account');
});
