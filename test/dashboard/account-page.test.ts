import { expect } from 'vitest';
import { mailsTo } from '../support/mails.ts';
import { codeOf, merchantUser, operatorUser, PASSWORD, signIn } from '../support/users.ts';
import type { TestUser } from '../support/users.ts';
import { carriedOutBy } from '../support/proposals.ts';
import { dashboardTest } from './dashboard-test.ts';
import { visitorOf } from './visitor.ts';

const NEW_PASSWORD = 'four purple umbrellas';
const ACCOUNT = '/dashboard/sandbox/account';

const test = dashboardTest({ time: 'real', worker: false })
  .extend('newUser', ({ service }) => async () => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    return merchantUser(service.sql, merchantId);
  })
  .extend(
    'browserOf',
    ({ service }) =>
      (user: TestUser) =>
        visitorOf(service.origin, user),
  );

/** The secret that the page of the set-up shows. */
const secretIn = (body: string) => /<code>([A-Z2-7]{32})<\/code>/.exec(body)?.[1] ?? '';
const recoveryCodesIn = (body: string) => [
  ...new Set(body.match(/[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){5}/g)),
];

test('the sessions are listed, and can be ended one by one or all others', async ({
  service,
  newUser,
  browserOf,
}) => {
  const user = await newUser();
  const others = [await signIn(service.sql, user.userId), await signIn(service.sql, user.userId)];
  const browser = browserOf(user);
  const page = await browser.get(ACCOUNT);
  expect(page.body.match(/a test/g)).toHaveLength(3);
  expect(page.body).toContain('This session');
  const [first = ''] = page.body.match(/ses_\w{26}/g) ?? [];
  const ended = await browser.post(`${ACCOUNT}/sessions/end`, { sessionId: first });
  expect(ended.location).toBe(`${ACCOUNT}?done=ended`);
  expect((await browser.get(`${ACCOUNT}?done=ended`)).body.match(/a test/g)).toHaveLength(2);

  await browser.post(`${ACCOUNT}/sessions/end-others`);
  for (const cookie of others) {
    const { location } = await visitorOf(service.origin, { cookie }).get(ACCOUNT);
    expect(location).toContain('/dashboard/login');
  }
  expect((await browser.get(ACCOUNT)).body.match(/a test/g)).toHaveLength(1);
});

test("nobody else's session can be ended", async ({ service, newUser, browserOf }) => {
  const [user, other] = [await newUser(), await newUser()];
  const [row] = await service.sql`
    SELECT session_id FROM dashboard_sessions WHERE user_id = ${other.userId}`;
  const fields = { sessionId: row?.sessionId as string };
  expect((await browserOf(user).post(`${ACCOUNT}/sessions/end`, fields)).status).toBe(404);
  expect((await browserOf(other).get(ACCOUNT)).status).toBe(200);
});

test('the password is changed with the old one; other sessions end, and a mail reports it', async ({
  service,
  newUser,
  browserOf,
}) => {
  const user = await newUser();
  const other = await signIn(service.sql, user.userId);
  const browser = browserOf(user);
  const path = `${ACCOUNT}/password`;
  expect((await browser.get(path)).body).toContain('autocomplete="new-password"');
  const wrong = await browser.post(path, { password: 'wrong', newPassword: NEW_PASSWORD });
  expect(wrong.status).toBe(400);
  expect(wrong.body).toContain('id="password-violation">This is not your password');
  const changed = await browser.post(path, { password: PASSWORD, newPassword: NEW_PASSWORD });
  expect(changed.location).toBe(`${ACCOUNT}?done=password`);
  expect((await browser.follow(changed)).body).toContain('Your password is changed.');
  const [mail] = await mailsTo(service.sql, user.email);
  expect(mail?.text).toContain('Your password was changed.');
  for (const cookie of [other, user.cookie]) {
    const { location } = await visitorOf(service.origin, { cookie }).get(ACCOUNT);
    expect(location).toContain('/dashboard/login');
  }
});

test('two-factor is set up with a QR code or the secret; the recovery codes are shown once', async ({
  newUser,
  browserOf,
}) => {
  const browser = browserOf(await newUser());
  const path = `${ACCOUNT}/two-factor`;
  expect((await browser.get(path)).body).toContain('Start');
  const page = await browser.follow(await browser.post(`${path}/start`));
  expect(page.body).toContain('aria-label="QR code for an authenticator app"');
  const secret = secretIn(page.body);
  expect(secret).toHaveLength(32);
  const wrong = await browser.post(`${path}/confirm`, { password: PASSWORD, code: '12345' });
  expect(wrong.status).toBe(400);
  expect(secretIn(wrong.body)).toBe(secret);

  const done = await browser.post(`${path}/confirm`, { password: PASSWORD, code: codeOf(secret) });
  expect(done.status).toBe(200);
  expect(done.headers.get('cache-control')).toBe('no-store');
  const codes = recoveryCodesIn(done.body);
  expect(codes).toHaveLength(10);
  expect(done.body).toContain('data-copy=');
  expect(done.body).toContain('download="recovery-codes.txt"');
  const after = await browser.get(path);
  expect(after.body).toContain('10 of 10 left');
  for (const shownOnce of [secret, codes[0]!]) expect(after.body).not.toContain(shownOnce);
  expect((await browser.get(ACCOUNT)).body).toContain('Manage two-factor');
});

test('recovery codes are made anew, and two-factor is switched off, with the password and a code', async ({
  newUser,
  browserOf,
}) => {
  const browser = browserOf(await newUser());
  const path = `${ACCOUNT}/two-factor`;
  const secret = secretIn((await browser.follow(await browser.post(`${path}/start`))).body);
  const on = await browser.post(`${path}/confirm`, { password: PASSWORD, code: codeOf(secret) });
  const [used = ''] = recoveryCodesIn(on.body);
  const wrong = await browser.post(`${path}/recovery-codes`, {
    'codes-password': 'wrong',
    'codes-code': used,
  });
  expect(wrong.status).toBe(400);
  expect(wrong.body).toContain('id="codes-password-violation">This is not your password');
  const password = { 'codes-password': PASSWORD };
  const alone = await browser.post(`${path}/recovery-codes`, password);
  expect(alone.status).toBe(400);
  expect(alone.body).toContain('id="codes-code-violation">The code is wrong');
  const renewed = await browser.post(`${path}/recovery-codes`, { ...password, 'codes-code': used });
  const [code = ''] = recoveryCodesIn(renewed.body);

  const refused = await browser.post(`${path}/off`, { password: PASSWORD, code: 'wrong' });
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('id="code-violation">The code is wrong');
  const off = await browser.post(`${path}/off`, { password: PASSWORD, code });
  expect(off.location).toBe(`${ACCOUNT}?done=two-factor-off`);
  expect((await browser.get(path)).body).toContain('Start');
});

test('an operator without two-factor sees only its set-up', async ({ service, browserOf }) => {
  const operator = await operatorUser(service.sql, 'admin', { hasTwoFactor: false });
  const browser = browserOf(operator);
  for (const path of ['/operator/operators', '/operator/account/password']) {
    expect((await browser.get(path)).location).toBe('/operator/account');
  }
  expect((await browser.post('/operator/operators/invite', {})).location).toBe('/operator/account');
  expect((await browser.get('/operator/account')).body).toContain('set it up to continue');
  const path = '/operator/account/two-factor';
  const secret = secretIn((await browser.follow(await browser.post(`${path}/start`))).body);
  await browser.post(`${path}/confirm`, { password: PASSWORD, code: codeOf(secret) });
  expect((await browser.get('/operator/operators')).status).toBe(200);
});

test('the account of one kind of user does not exist for the other', async ({
  service,
  newUser,
  browserOf,
}) => {
  const operator = await operatorUser(service.sql, 'admin');
  const merchant = await newUser();
  for (const below of ['', '/password', '/two-factor']) {
    expect((await browserOf(operator).get(ACCOUNT + below)).status).toBe(404);
    expect((await browserOf(merchant).get(`/operator/account${below}`)).status).toBe(404);
  }
});

test('two admins invite an operator, who chooses a password and sets two-factor up', async ({
  service,
  operators,
}) => {
  const email = 'new-operator@ops.example';
  const form = await operators.admin.get('/operator/operators');
  expect(form.body).toContain('Invite an operator');
  const refused = await operators.admin.post('/operator/operators/invite', {
    email: 'x',
    role: 'finance',
    reason: 'A new colleague',
  });
  expect(refused.status).toBe(400);
  expect(refused.body).toContain('value="x"');
  const invited = await operators.admin.post('/operator/operators/invite', {
    email,
    role: 'finance',
    reason: 'A new colleague',
  });
  expect((await operators.admin.get('/operator/operators')).body).not.toContain(email);
  await carriedOutBy(operators.otherAdmin, invited);
  const [mail] = await mailsTo(service.sql, email);
  const [link = ''] = /\/dashboard\/invitation\/[\w-]{43}/.exec(mail?.text ?? '') ?? [];

  const visitor = visitorOf(service.origin);
  expect((await visitor.get(link)).body).toContain(email);
  const easy = await visitor.post(link, { newPassword: 'new-operator-1' });
  expect(easy.status).toBe(400);
  const accepted = await visitor.post(link, { newPassword: NEW_PASSWORD });
  expect(accepted.location).toBe('/dashboard');
  expect((await visitor.get('/dashboard')).location).toBe('/operator');
  expect((await visitor.get(link)).status).toBe(404);
});

test('two admins change and reset operators, one disables them, and none the own account', async ({
  service,
  browserOf,
}) => {
  const admin = await operatorUser(service.sql, 'admin');
  const other = await operatorUser(service.sql, 'support');
  const browser = browserOf(admin);
  const second = await operatorUser(service.sql, 'admin');
  const approver = browserOf(second);
  const path = `/operator/operators/${other.userId}`;
  expect((await browser.get(path)).body).toContain(other.email);
  const role = { role: 'finance', roleReason: 'Moves to finance' };
  await carriedOutBy(approver, await browser.post(`${path}/role`, role));
  const resetReason = 'The phone is lost';
  await carriedOutBy(approver, await browser.post(`${path}/reset-two-factor`, { resetReason }));
  const account = await browserOf(other).get('/operator/account');
  expect(account.location).toContain('/dashboard/login');
  expect((await browser.post(`${path}/disable`)).location).toBe(`${path}?done=disabled`);
  expect((await browser.get(path)).body).toContain('Disabled');
  const rows = await service.sql`
    SELECT actor, action FROM audit_log WHERE subject = ${other.userId}
      AND action <> 'session.create' ORDER BY audit_id`;
  const approved = `operator:${second.email}`;
  expect(rows).toEqual([
    { actor: approved, action: 'operator.role' },
    { actor: approved, action: 'two_factor.reset' },
    { actor: `operator:${admin.email}`, action: 'operator.disable' },
  ]);

  const own = `/operator/operators/${admin.userId}`;
  expect((await browser.get(own)).body).toContain('This is you');
  for (const [action, fields] of [
    ['role', { role: 'support' }],
    ['disable', {}],
    ['reset-two-factor', {}],
  ] as const) {
    expect((await browser.post(`${own}/${action}`, fields)).status).toBe(400);
  }
  expect((await browser.get('/operator/operators/usr_none')).status).toBe(404);
});

test('only an admin sees and changes operators', async ({ service, operators, owner }) => {
  const other = await operatorUser(service.sql, 'support');
  const path = `/operator/operators/${other.userId}`;
  for (const [browser, status] of [
    [operators.support, 403],
    [operators.finance, 403],
    [owner, 404],
  ] as const) {
    expect((await browser.get('/operator/operators')).status).toBe(status);
    expect((await browser.get(path)).status).toBe(status);
    const invitation = { email: 'x@ops.example', role: 'admin' };
    expect((await browser.post('/operator/operators/invite', invitation)).status).toBe(status);
    for (const action of ['role', 'disable', 'reset-two-factor']) {
      expect((await browser.post(`${path}/${action}`, { role: 'admin' })).status).toBe(status);
    }
  }
});

test('mails can be switched off, except those about money and security', async ({
  service,
  newUser,
  browserOf,
}) => {
  const user = await newUser();
  const browser = browserOf(user);
  const path = `${ACCOUNT}/mails`;
  const page = await browser.get(path);
  expect(page.body.match(/<input[^>]*type="checkbox" checked/g)).toHaveLength(2);
  expect(page.body).toContain('A dispute: at once, 24 hours before its deadline');
  const saved = await browser.post(path, { merchant_first_payment: 'on' });
  expect((await browser.follow(saved)).body).toContain('Your choice is saved.');
  const muted = async () =>
    (
      await service.sql<{ mutedMails: string[] }[]>`
        SELECT muted_mails FROM users WHERE user_id = ${user.userId}`
    )[0]?.mutedMails;
  expect(await muted()).toEqual(['merchant_failing_endpoint']);
  await browser.post(path, { merchant_dispute_raised: '' });
  expect(await muted()).toEqual(['merchant_failing_endpoint', 'merchant_first_payment']);
});

test('a log-in with a browser that the account does not know is told to its user', async ({
  service,
  newUser,
}) => {
  const { email } = await newUser();
  const logIn = async () => {
    const browser = visitorOf(service.origin);
    const form = await browser.get('/dashboard/login');
    const device = /__Host-device=[\w-]{43}/.exec(form.headers.get('Set-Cookie') ?? '')?.[0];
    const again = visitorOf(service.origin, { cookie: device ?? '' });
    const post = () => again.post('/dashboard/login', { email, password: PASSWORD });
    expect((await post()).status).toBe(303);
    return { post };
  };
  const mails = async () => (await mailsTo(service.sql, email)).map(({ subject }) => subject);
  const first = await logIn();
  expect(await mails()).toEqual([]);
  await logIn();
  expect(await mails()).toEqual(['A log-in from a new device']);
  await first.post();
  expect(await mails()).toEqual(['A log-in from a new device']);
});
