import { expect } from 'vitest';
import type { SignedInUser } from '../../src/accounts/public.ts';
import {
  acceptInvitation,
  changeOperatorRole,
  confirmTwoFactor,
  disableOperator,
  listOperators,
  logIn,
  readSession,
  readTwoFactorSetUp,
  requestReset,
  startTwoFactor,
} from '../../src/accounts/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { auditOf } from '../support/audit.ts';
import { linkTo, mailsTo } from '../support/mails.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { codeOf, merchantUser, operatorUser, PASSWORD, signIn } from '../support/users.ts';

const CLIENT = { address: '127.0.0.1', userAgent: 'a test' };
const NEW_PASSWORD = 'four purple umbrellas';
let operators = 0;
const newEmail = () => `operator-${(operators += 1)}@ops.example`;

interface Invited {
  userId: string;
  email: string;
  link: string;
}

const test = serviceTest({ time: 'real', worker: false }).extend('deps', ({ service }) => ({
  sql: service.sql,
  dataBox: createSecretBox(SECRET_KEYS),
  sendMail: async () => {},
  publicBaseUrl: service.origin,
  nowMs: Date.now,
}));

/** Invites an operator. The link is in the mail and nowhere else. */
async function create(
  { service: { sql, origin }, cli }: { service: TestService; cli: AdminCli },
  email: string,
  role = 'support',
): Promise<Invited> {
  const invited = await cli.alone.json<{ userId: string; email: string; link: null }>(
    'operator',
    'create',
    '--email',
    email,
    '--role',
    role,
  );
  expect(invited.link).toBeNull();
  return { ...invited, link: origin + (await linkTo(sql, invited.email)) };
}
const tokenIn = ({ link }: Invited) => link.split('/').at(-1) ?? '';

const stateOf = async ({ sql }: TestService, email: string) =>
  (await listOperators({ sql })).find((one) => one.email === email);

test('an operator is invited by a link that sets the password once, and then needs two-factor', async ({
  service,
  cli,
  deps,
}) => {
  const email = newEmail();
  const invited = await create({ service, cli }, email.toUpperCase(), 'finance');
  expect(invited).toMatchObject({ email });
  expect(invited.link).toMatch(`${service.origin}/dashboard/invitation/`);
  expect(await stateOf(service, email)).toMatchObject({ role: 'finance', state: 'INVITED' });
  const session = await acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT);
  const user = (await readSession(deps, session))!;
  expect(user).toMatchObject({ email, role: 'finance', hasTwoFactor: false, merchantId: null });
  expect(await stateOf(service, email)).toMatchObject({ state: 'WITHOUT_TWO_FACTOR' });
  await expect(
    acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT),
  ).rejects.toMatchObject({ code: 'NOT_FOUND' });

  await startTwoFactor(deps, user);
  const { secret } = (await readTwoFactorSetUp(deps, user))!;
  const given = { password: NEW_PASSWORD, code: codeOf(secret) };
  await confirmTwoFactor(deps, user, given, CLIENT);
  expect(await stateOf(service, email)).toMatchObject({
    state: 'ACTIVE',
    lastSeenAt: expect.any(Date),
  });
});

test('an invitation that was not accepted is replaced by the next one, which works for 24 hours', async ({
  cli,
  deps,
  service,
}) => {
  const email = newEmail();
  const first = await create({ service, cli }, email);
  const second = await create({ service, cli }, email, 'admin');
  expect(second.userId).toBe(first.userId);
  const accept = (invited: Invited) =>
    acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT);
  await expect(accept(first)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await service.clock.advance(24 * 3_600_000);
  await expect(accept(second)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const third = await create({ service, cli }, email, 'admin');
  expect(await readSession(deps, await accept(third))).toMatchObject({ role: 'admin' });
});

test('an address of a user is refused, and so is what is no address', async ({
  cli,
  service,
  merchant,
}) => {
  const active = await operatorUser(service.sql, 'admin');
  const { email } = await merchantUser(service.sql, merchant.merchantId);
  for (const taken of [active.email, email]) {
    expect(await cli.alone.refusal('operator', 'create', '--email', taken, '--role', 'admin')).toBe(
      `There is a user with the e-mail address ${taken}`,
    );
  }
  expect(await cli.alone.refusal('operator', 'create', '--email', 'x', '--role', 'admin')).toBe(
    'email must be a valid email address',
  );
  expect(
    await cli.misuse('operator', 'create', '--email', newEmail(), '--role', 'owner'),
  ).toContain('--role must be support or finance or admin');
});

test('a changed role counts from the next request on', async ({ service, deps }) => {
  const { email, cookie } = await operatorUser(service.sql, 'support');
  await changeOperatorRole({ ...deps, actor: TEST_ACTOR }, email, 'finance');
  const token = cookie.split('=')[1] ?? '';
  expect(await readSession(deps, token)).toMatchObject({ role: 'finance' });
});

test('a disabled operator is signed out and cannot come back but by another invitation', async ({
  cli,
  service,
  deps,
}) => {
  const { email, userId } = await operatorUser(service.sql, 'admin');
  const token = (await signIn(service.sql, userId)).split('=')[1] ?? '';
  await requestReset(deps, email, CLIENT);
  await disableOperator({ ...deps, actor: TEST_ACTOR }, email);
  expect(await readSession(deps, token)).toBeUndefined();
  await expect(logIn(deps, { email, password: PASSWORD }, CLIENT)).rejects.toThrow();
  const links = await service.sql`SELECT FROM one_time_links WHERE user_id = ${userId}`;
  expect(links).toHaveLength(0);
  expect(await stateOf(service, email)).toMatchObject({ state: 'DISABLED' });
  for (const change of [
    disableOperator({ ...deps, actor: TEST_ACTOR }, email),
    changeOperatorRole({ ...deps, actor: TEST_ACTOR }, email, 'admin'),
  ]) {
    await expect(change).rejects.toThrow(`There is no active operator ${email}`);
  }

  const invited = await create({ service, cli }, email, 'support');
  expect(invited.userId).toBe(userId);
  const session = await acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT);
  expect(await readSession(deps, session)).toMatchObject({ role: 'support', hasTwoFactor: false });
  await expect(logIn(deps, { email, password: PASSWORD }, CLIENT)).rejects.toThrow();
});

test('two-factor of a user without the device is reset: sessions end, and a mail reports it', async ({
  cli,
  service,
  deps,
  merchant,
}) => {
  const owner = await service.newMerchant({ webhooks: false });
  const users = [
    await operatorUser(service.sql, 'support'),
    await merchantUser(service.sql, owner.merchantId, { hasTwoFactor: true }),
  ];
  for (const { email, cookie } of users) {
    expect((await logIn(deps, { email, password: PASSWORD }, CLIENT)).next).toBe('code');
    const commands = email.endsWith('@ops.example') ? cli.alone : cli;
    await commands.json('operator', 'reset-two-factor', '--email', email);
    expect(await readSession(deps, cookie.split('=')[1] ?? '')).toBeUndefined();
    const { next, token } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
    expect(next).toBe('session');
    expect(await readSession(deps, token)).toMatchObject({ email, hasTwoFactor: false });
    const mail = (await mailsTo(service.sql, email)).at(-1);
    expect(mail?.text).toContain('An operator switched off two-factor authentication');
  }
  expect(merchant.merchantId).not.toBe(owner.merchantId);
  expect(await cli.refusal('operator', 'reset-two-factor', '--email', 'x@ops.example')).toBe(
    'There is no active user x@ops.example',
  );
});

test('a merchant that was registered by an operator gets its user by a link', async ({
  cli,
  service,
  deps,
}) => {
  const email = newEmail();
  const { merchantId } = await createMerchant(
    { sql: service.sql, actor: TEST_ACTOR },
    { name: 'Chitra Sarees', email: email.toUpperCase() },
  );
  const invite = () => cli.json<Invited>('merchant', 'invite', '--merchant', merchantId);
  const first = await invite();
  const second = await invite();
  expect(second.userId).toBe(first.userId);
  const accept = (invited: Invited, password = NEW_PASSWORD) =>
    acceptInvitation(deps, tokenIn(invited), password, CLIENT);
  await expect(accept(first)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(accept(second, 'ChitraSarees 2026')).rejects.toHaveProperty(
    'validationErrors.newPassword',
  );
  const user = (await readSession(deps, await accept(second))) as SignedInUser;
  expect(user).toMatchObject({ email, merchantId, merchantName: 'Chitra Sarees', role: null });
  expect(await cli.refusal('merchant', 'invite', '--merchant', merchantId)).toMatch(
    `There is a user with the e-mail address ${email}`,
  );
  expect(await cli.refusal('merchant', 'invite', '--merchant', 'mer_none')).toBe(
    'Merchant not found: mer_none',
  );
  const rows = await auditOf(service.sql, merchantId);
  expect(rows.map(({ action }) => action)).toEqual([
    'merchant.create',
    'merchant.invite',
    'merchant.invite',
    'invitation.accept',
    'session.create',
  ]);
});

test('every change of an operator is in the audit log', async ({ cli, service, deps }) => {
  const email = newEmail();
  const invited = await create({ service, cli }, email);
  await acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT);
  await changeOperatorRole({ ...deps, actor: TEST_ACTOR }, email, 'admin');
  await cli.alone.json('operator', 'reset-two-factor', '--email', email);
  await disableOperator({ ...deps, actor: TEST_ACTOR }, email);
  const rows = await service.sql`
    SELECT split_part(actor, ':', 1) AS actor, action, details FROM audit_log
    WHERE subject = ${invited.userId} ORDER BY audit_id`;
  const sessionId = expect.stringMatching(/^ses_/);
  expect(rows).toEqual([
    { actor: 'operator', action: 'operator.create', details: { email, role: 'support' } },
    { actor: 'operator', action: 'invitation.accept', details: {} },
    { actor: 'operator', action: 'session.create', details: { sessionId, secondFactor: null } },
    { actor: 'cli', action: 'operator.role', details: { email, role: 'admin' } },
    { actor: 'operator', action: 'two_factor.reset', details: { email } },
    { actor: 'cli', action: 'operator.disable', details: { email } },
  ]);
});

test('the terminal prints no link, and says that it is mailed and how long it works', async ({
  cli,
  service,
}) => {
  const email = newEmail();
  const { stdout } = await cli.alone.run('operator', 'create', '--email', email, '--role', 'admin');
  expect(stdout).not.toContain('/dashboard/invitation/');
  expect(stdout).toContain('The link is in a mail to this address. It works once, for 24 hours.');
  expect(await linkTo(service.sql, email)).toMatch(/^\/dashboard\/invitation\/[\w-]{43}$/);
});

test('a disabled operator is reactivated with the same id and lines, and no session from before', async ({
  service,
  cli,
  deps,
}) => {
  const { email, userId } = await operatorUser(service.sql, 'finance');
  await disableOperator({ ...deps, actor: TEST_ACTOR }, email);
  // As of a login that was under way when the operator was disabled.
  await service.sql`
    INSERT INTO dashboard_sessions (session_id, token_hash, user_id, expires_at, address, user_agent)
    VALUES (${`ses_of_${userId}`}, sha256('an old token'), ${userId}, service_now() + interval '1 hour',
      '127.0.0.1', 'a test')`;
  const invited = await create({ service, cli }, email, 'support');
  expect(invited.userId).toBe(userId);
  expect(await readSession(deps, 'an old token')).toBeUndefined();
  const [row] = await service.sql`
    SELECT password_hash, totp_secret_sealed, totp_confirmed_at FROM users WHERE user_id = ${userId}`;
  expect(row).toEqual({ passwordHash: null, totpSecretSealed: null, totpConfirmedAt: null });
  await acceptInvitation(deps, tokenIn(invited), NEW_PASSWORD, CLIENT);
  const lines = await service.sql<{ action: string }[]>`
    SELECT action FROM audit_log WHERE subject = ${userId} ORDER BY audit_id`;
  expect(lines.map(({ action }) => action)).toEqual([
    'session.create',
    'operator.disable',
    'operator.reactivate',
    'invitation.accept',
    'session.create',
  ]);
});
