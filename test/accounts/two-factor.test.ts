import type { TOTP } from 'otpauth';
import { Secret, URI } from 'otpauth';
import { expect } from 'vitest';
import type { SignedInUser } from '../../src/accounts/public.ts';
import {
  confirmTwoFactor,
  disableTwoFactor,
  isCodeAwaited,
  logIn,
  logInWithCode,
  readSession,
  readTwoFactor,
  readTwoFactorSetUp,
  renewRecoveryCodes,
  requestReset,
  resetPassword,
  startTwoFactor,
} from '../../src/accounts/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { codeOf, PASSWORD, TOTP_SECRET } from '../support/users.ts';
import { accountsTest, CLIENT, ELSEWHERE, expectTooMany, tokenIn } from './accounts-test.ts';

const STEP_SECONDS = 30;
const WRONG_CODE = { code: 'VALIDATION_FAILED' };

const given = (code: string) => ({ password: PASSWORD, code });

const base = accountsTest();
const test = base
  .extend('user', async ({ deps, newMerchant }) => {
    const { email } = await newMerchant();
    const { token } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
    return (await readSession(deps, token))!;
  })
  .extend('withTwoFactor', ({ deps, now }) => async (user: SignedInUser) => {
    await startTwoFactor(deps, user);
    const { secret } = (await readTwoFactorSetUp(deps, user))!;
    const change = await confirmTwoFactor(deps, user, given(codeOf(secret, now.ms)), CLIENT);
    const login = async () => {
      const { next, token } = await logIn(deps, { email: user.email, password: PASSWORD }, CLIENT);
      expect(next).toBe('code');
      return token;
    };
    return { secret, login, ...change };
  });

test('is set up with a secret and its first code', async ({ deps, user, mails, now }) => {
  expect(await readTwoFactorSetUp(deps, user)).toBeUndefined();
  await startTwoFactor(deps, user);
  const { secret, uri } = (await readTwoFactorSetUp(deps, user))!;
  expect(Buffer.from(Secret.fromBase32(secret).buffer)).toHaveLength(20);
  const totp = URI.parse(uri) as TOTP;
  expect(totp).toMatchObject({
    issuer: 'Merchant Payments',
    label: user.email,
    algorithm: 'SHA1',
    digits: 6,
    period: 30,
  });
  expect(totp.secret.base32).toBe(secret);
  expect((await readTwoFactor(deps, user)).since).toBeNull();

  const { recoveryCodes, sessionToken } = await confirmTwoFactor(
    deps,
    user,
    given(codeOf(secret, now.ms).replace(/^.../, '$& ')),
    CLIENT,
  );
  expect(recoveryCodes).toHaveLength(10);
  expect(new Set(recoveryCodes).size).toBe(10);
  for (const code of recoveryCodes) {
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){5}$/);
  }
  expect(await readTwoFactor(deps, user)).toEqual({
    since: expect.any(Date),
    recoveryCodesLeft: 10,
  });
  expect(await readTwoFactorSetUp(deps, user)).toBeUndefined();
  expect(await readSession(deps, sessionToken)).toMatchObject({ hasTwoFactor: true });
  expect(mails).toMatchObject([{ to: user.email, subject: 'Your account was changed' }]);
});

test('is not switched on by a wrong code, nor by one for another secret', async ({
  deps,
  user,
  now,
}) => {
  await startTwoFactor(deps, user);
  const first = (await readTwoFactorSetUp(deps, user))!;
  await startTwoFactor(deps, user);
  const second = (await readTwoFactorSetUp(deps, user))!;
  expect(second.secret).not.toBe(first.secret);
  for (const code of ['', '000000 ', 'abcdef', codeOf(first.secret, now.ms)]) {
    if (code === codeOf(second.secret, now.ms)) continue;
    await expect(confirmTwoFactor(deps, user, given(code), CLIENT)).rejects.toMatchObject(
      WRONG_CODE,
    );
  }
  expect((await readTwoFactor(deps, user)).since).toBeNull();
  await confirmTwoFactor(deps, user, given(codeOf(second.secret, now.ms)), CLIENT);
  await expect(startTwoFactor(deps, user)).rejects.toMatchObject({ code: 'INVALID_STATE' });
});

test('is not switched on in a stolen session: it takes the password', async ({
  deps,
  user,
  now,
}) => {
  await startTwoFactor(deps, user);
  const { secret } = (await readTwoFactorSetUp(deps, user))!;
  const guess = { password: 'a guess', code: codeOf(secret, now.ms) };
  for (let count = 0; count < 5; count += 1) {
    await expect(confirmTwoFactor(deps, user, guess, CLIENT)).rejects.toHaveProperty(
      'validationErrors.password',
    );
  }
  await expectTooMany(confirmTwoFactor(deps, user, given(guess.code), CLIENT));
  expect((await readTwoFactor(deps, user)).since).toBeNull();
});

test('ends every session when it is switched on', async ({ deps, user, withTwoFactor }) => {
  const { token } = await logIn(deps, { email: user.email, password: PASSWORD }, ELSEWHERE);
  const { sessionToken } = await withTwoFactor(user);
  expect(await readSession(deps, token)).toBeUndefined();
  expect(await readSession(deps, sessionToken)).toBeDefined();
});

test('asks for a code after the password, and accepts it once', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
}) => {
  const { secret, login } = await withTwoFactor(user);
  const first = await login();
  expect(await readSession(deps, first)).toBeUndefined();
  expect(await isCodeAwaited(deps, first)).toBe(true);
  const used = codeOf(secret, now.ms);
  await expect(
    logInWithCode(deps, first, used, CLIENT),
    'the code of the set-up',
  ).rejects.toMatchObject(WRONG_CODE);

  await at(STEP_SECONDS);
  const code = codeOf(secret, now.ms);
  const session = await logInWithCode(deps, first, code, CLIENT);
  expect(await readSession(deps, session)).toMatchObject({ userId: user.userId });
  expect(await isCodeAwaited(deps, first)).toBe(false);

  const second = await login();
  await expect(logInWithCode(deps, second, code, CLIENT)).rejects.toMatchObject(WRONG_CODE);
  await expect(logInWithCode(deps, second, used, CLIENT)).rejects.toMatchObject(WRONG_CODE);
});

test('accepts the code before and the one after, and none further away', async ({
  deps,
  user,
  withTwoFactor,
  at,
  start,
}) => {
  const { secret, login } = await withTwoFactor(user);
  const codeOfStep = (step: number) => codeOf(secret, start + step * STEP_SECONDS * 1000);
  const token = await login();
  await at(10 * STEP_SECONDS);
  for (const step of [8, 12]) {
    const offer = logInWithCode(deps, token, codeOfStep(step), CLIENT);
    await expect(offer).rejects.toMatchObject(WRONG_CODE);
  }
  await logInWithCode(deps, token, codeOfStep(9), CLIENT);
  await logInWithCode(deps, await login(), codeOfStep(10), CLIENT);
  await logInWithCode(deps, await login(), codeOfStep(11), CLIENT);
  await expect(
    logInWithCode(deps, await login(), codeOfStep(10), CLIENT),
    'an earlier one after a later one',
  ).rejects.toMatchObject(WRONG_CODE);
});

test('of concurrent uses of a code one succeeds', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
  database: { sql },
}) => {
  const { secret, login } = await withTwoFactor(user);
  await at(STEP_SECONDS);
  const token = await login();
  const uses = await Promise.allSettled(
    Array.from({ length: 5 }, () => logInWithCode(deps, token, codeOf(secret, now.ms), CLIENT)),
  );
  expect(uses.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const rows = await sql`
    SELECT FROM audit_log WHERE subject = ${user.userId} AND action = 'session.create'
      AND details->>'secondFactor' = 'totp' AND at >= now() - interval '1 hour'`;
  expect(rows).toHaveLength(2);
});

test('an operator logs in with password and code', async ({ deps, newOperator, now }) => {
  const { email, userId } = await newOperator();
  const { token, next } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  expect(next).toBe('code');
  const session = await logInWithCode(deps, token, codeOf(TOTP_SECRET, now.ms), CLIENT);
  expect(await readSession(deps, session)).toMatchObject({ userId, role: 'finance' });
});

test('a login waits ten minutes for its code', async ({ deps, user, withTwoFactor, at, now }) => {
  const { secret, login } = await withTwoFactor(user);
  const token = await login();
  await at(600);
  expect(await isCodeAwaited(deps, token)).toBe(false);
  await expect(logInWithCode(deps, token, codeOf(secret, now.ms), CLIENT)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('five wrong codes make an address wait, however often it logs in again', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
}) => {
  const { secret, login } = await withTwoFactor(user);
  await at(STEP_SECONDS);
  for (let count = 0; count < 5; count += 1) {
    await expect(
      logInWithCode(deps, await login(), `wrong ${count}`, CLIENT),
    ).rejects.toMatchObject(WRONG_CODE);
  }
  const code = codeOf(secret, now.ms);
  await expectTooMany(logInWithCode(deps, await login(), code, CLIENT));
  await logInWithCode(deps, await login(), code, ELSEWHERE);
});

test('each recovery code works once, however it is typed, and reports its use by mail', async ({
  deps,
  user,
  withTwoFactor,
  mails,
}) => {
  const { recoveryCodes, login } = await withTwoFactor(user);
  mails.length = 0;
  const [first = '', second = ''] = recoveryCodes;
  const session = await logInWithCode(deps, await login(), first, CLIENT);
  expect(await readSession(deps, session)).toBeDefined();
  expect(mails).toMatchObject([{ to: user.email }]);
  expect(mails[0]?.paragraphs[0]).toContain('A recovery code was used');
  expect((await readTwoFactor(deps, user)).recoveryCodesLeft).toBe(9);
  await expect(logInWithCode(deps, await login(), first, CLIENT)).rejects.toMatchObject(WRONG_CODE);
  const typed = ` ${second.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o')} `;
  await logInWithCode(deps, await login(), typed, CLIENT);
});

test('neither the secret nor a recovery code is stored as it is', async ({
  deps,
  user,
  withTwoFactor,
  database: { sql },
}) => {
  const { secret, recoveryCodes } = await withTwoFactor(user);
  const [row] = await sql<[{ stored: string }]>`
    SELECT to_jsonb(u)::text || (
      SELECT jsonb_agg(c)::text FROM recovery_codes c WHERE c.user_id = u.user_id) AS stored
    FROM users u WHERE user_id = ${user.userId}`;
  expect(row.stored).not.toContain(secret);
  for (const code of recoveryCodes) {
    expect(row.stored).not.toContain(code);
    expect(row.stored).not.toContain(code.replaceAll('-', ''));
  }
  const [{ sealed }] = await sql<[{ sealed: string }]>`
    SELECT totp_secret_sealed AS sealed FROM users WHERE user_id = ${user.userId}`;
  expect(() => deps.dataBox.open(sealed, ['another user', 'totp_secret'])).toThrow();
});

test('a secret that was sealed with an older key is sealed anew at the next login', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
  database: { sql },
}) => {
  const { secret, login } = await withTwoFactor(user);
  await at(STEP_SECONDS);
  const rotated = createSecretBox(`new:${Buffer.alloc(32, 8).toString('base64')},${SECRET_KEYS}`);
  await logInWithCode({ ...deps, dataBox: rotated }, await login(), codeOf(secret, now.ms), CLIENT);
  const [row] = await sql<[{ sealed: string }]>`
    SELECT totp_secret_sealed AS sealed FROM users WHERE user_id = ${user.userId}`;
  expect(rotated.isCurrent(row.sealed)).toBe(true);
  expect(rotated.open(row.sealed, [user.userId, 'totp_secret'])).toBe(secret);
});

test('new recovery codes need the password and replace the old ones', async ({
  deps,
  user,
  withTwoFactor,
}) => {
  const { recoveryCodes, login } = await withTwoFactor(user);
  const renew = (password: string, code = '') =>
    renewRecoveryCodes(deps, user, { password, code }, CLIENT);
  await expect(renew('wrong', recoveryCodes[1])).rejects.toHaveProperty(
    'validationErrors.password',
  );
  // Not even within ten minutes of the login: the password alone is not enough.
  for (const code of ['', '000000', 'wrong']) {
    await expect(renew(PASSWORD, code)).rejects.toHaveProperty('validationErrors.code');
  }
  const renewed = await renew(PASSWORD, recoveryCodes[1]);
  expect(renewed).toHaveLength(10);
  await expect(logInWithCode(deps, await login(), recoveryCodes[0]!, CLIENT)).rejects.toMatchObject(
    WRONG_CODE,
  );
  await logInWithCode(deps, await login(), renewed[0]!, CLIENT);
});

test('is switched off with the password and a code', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
}) => {
  const { secret } = await withTwoFactor(user);
  await at(STEP_SECONDS);
  const code = codeOf(secret, now.ms);
  const off = (password: string, offered: string) =>
    disableTwoFactor(deps, user, { password, code: offered }, CLIENT);
  await expect(off('wrong', code)).rejects.toHaveProperty('validationErrors.password');
  await expect(off(PASSWORD, 'wrong')).rejects.toHaveProperty('validationErrors.code');
  expect((await readTwoFactor(deps, user)).since).not.toBeNull();
  await off(PASSWORD, code);
  expect(await readTwoFactor(deps, user)).toEqual({ since: null, recoveryCodesLeft: 0 });
  const { next } = await logIn(deps, { email: user.email, password: PASSWORD }, CLIENT);
  expect(next).toBe('session');
  await expect(off(PASSWORD, code)).rejects.toMatchObject({ code: 'INVALID_STATE' });
  await expect(renewRecoveryCodes(deps, user, given(code), CLIENT)).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});

test('is still required after the password was reset by mail, and old logins end', async ({
  deps,
  user,
  withTwoFactor,
  mails,
}) => {
  const { login } = await withTwoFactor(user);
  const waiting = await login();
  mails.length = 0;
  await requestReset(deps, user.email, CLIENT);
  await resetPassword(deps, tokenIn(mails[0]!), 'four purple umbrellas', CLIENT);
  expect(await isCodeAwaited(deps, waiting)).toBe(false);
  const newLogin = { email: user.email, password: 'four purple umbrellas' };
  expect((await logIn(deps, newLogin, CLIENT)).next).toBe('code');
});

test('every change is in the audit log', async ({
  deps,
  user,
  withTwoFactor,
  at,
  now,
  database: { sql },
}) => {
  const { secret, recoveryCodes } = await withTwoFactor(user);
  await renewRecoveryCodes(deps, user, given(recoveryCodes[0]!), CLIENT);
  await at(STEP_SECONDS);
  await disableTwoFactor(deps, user, given(codeOf(secret, now.ms)), CLIENT);
  const rows = await sql`
    SELECT actor, address, action, merchant_id FROM audit_log
    WHERE subject = ${user.userId} AND action ~ '^(two_factor|recovery_codes)' ORDER BY audit_id`;
  const by = {
    actor: `merchant:${user.email}`,
    address: CLIENT.address,
    merchantId: user.merchantId,
  };
  expect(rows).toEqual([
    { ...by, action: 'two_factor.enable' },
    { ...by, action: 'recovery_codes.create' },
    { ...by, action: 'two_factor.disable' },
  ]);
});
