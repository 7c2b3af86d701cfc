import { expect } from 'vitest';
import {
  confirmAgain,
  logIn,
  logInWithCode,
  readSession,
  SESSION_COOKIE,
} from '../../src/accounts/public.ts';
import type { AccountDeps } from '../../src/accounts/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { codeOf, merchantUser, PASSWORD, signIn, TOTP_SECRET } from '../support/users.ts';
import { accountsTest, CLIENT, expectTooMany, newEmail } from './accounts-test.ts';

const test = accountsTest();

const tokenOf = (cookie: string) => cookie.replace(`${SESSION_COOKIE}=`, '');

/** The user of a session that was confirmed long ago. */
async function unconfirmed(deps: AccountDeps, userId: string) {
  const token = tokenOf(await signIn(deps.sql, userId, { isConfirmed: false }));
  const read = async () => (await readSession(deps, token))!;
  return { user: await read(), read };
}

test('a login with password and code confirms the session for ten minutes', async ({
  deps,
  at,
  now,
  newOperator,
}) => {
  const { email } = await newOperator();
  const { token: pending } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  const token = await logInWithCode(deps, pending, codeOf(TOTP_SECRET, now.ms), CLIENT);
  expect(await readSession(deps, token)).toMatchObject({ isConfirmed: true });
  await at(10 * 60 - 1);
  expect(await readSession(deps, token)).toMatchObject({ isConfirmed: true });
  await at(10 * 60);
  expect(await readSession(deps, token)).toMatchObject({ isConfirmed: false });
});

test("a login with the password alone confirms that of a merchant's user without a second factor", async ({
  deps,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  const { token } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  expect(await readSession(deps, token)).toMatchObject({ hasTwoFactor: false, isConfirmed: true });
});

test('both together confirm a session again, and leave a line in the audit log', async ({
  deps,
  now,
  newOperator,
}) => {
  const { userId, email } = await newOperator();
  const { user, read } = await unconfirmed(deps, userId);
  expect(user.isConfirmed).toBe(false);
  const code = codeOf(TOTP_SECRET, now.ms);
  const wrong = confirmAgain(deps, user, { password: 'wrong', code }, CLIENT);
  await expect(wrong).rejects.toMatchObject({ validationErrors: { password: expect.any(String) } });
  const withoutCode = confirmAgain(deps, user, { password: PASSWORD, code: '000000' }, CLIENT);
  await expect(withoutCode).rejects.toMatchObject({
    validationErrors: { code: expect.any(String) },
  });
  expect(await read()).toMatchObject({ isConfirmed: false });

  await confirmAgain(deps, user, { password: PASSWORD, code }, CLIENT);
  expect(await read()).toMatchObject({ isConfirmed: true });
  const [line] = await deps.sql`
    SELECT actor, address, details FROM audit_log
    WHERE action = 'session.confirm' AND subject = ${userId}`;
  expect(line).toEqual({
    actor: `operator:${email}`,
    address: CLIENT.address,
    details: { sessionId: user.sessionId, secondFactor: 'totp' },
  });
});

test('the same code does not confirm twice, and a session that has ended is not confirmed', async ({
  deps,
  at,
  now,
  newOperator,
}) => {
  const { userId } = await newOperator();
  const { user } = await unconfirmed(deps, userId);
  const given = { password: PASSWORD, code: codeOf(TOTP_SECRET, now.ms) };
  await confirmAgain(deps, user, given, CLIENT);
  await expect(confirmAgain(deps, user, given, CLIENT)).rejects.toMatchObject({
    validationErrors: { code: expect.any(String) },
  });
  await at(60);
  await deps.sql`DELETE FROM dashboard_sessions WHERE user_id = ${userId}`;
  const later = { password: PASSWORD, code: codeOf(TOTP_SECRET, now.ms) };
  await expect(confirmAgain(deps, user, later, CLIENT)).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});

test('another session of the same user is not confirmed with it', async ({ deps, newMerchant }) => {
  const { userId } = await newMerchant();
  const one = await unconfirmed(deps, userId);
  const other = await unconfirmed(deps, userId);
  await confirmAgain(deps, one.user, { password: PASSWORD, code: '' }, CLIENT);
  expect(await one.read()).toMatchObject({ isConfirmed: true });
  expect(await other.read()).toMatchObject({ isConfirmed: false });
});

test('guesses count with those at the login: of the password, and of the code', async ({
  deps,
  newOperator,
}) => {
  const { userId, email } = await newOperator();
  const { user } = await unconfirmed(deps, userId);
  for (let guess = 1; guess <= 5; guess += 1) {
    await confirmAgain(deps, user, { password: 'wrong', code: '' }, CLIENT).catch(() => undefined);
  }
  await expectTooMany(confirmAgain(deps, user, { password: PASSWORD, code: '' }, CLIENT));
  await expectTooMany(logIn(deps, { email, password: PASSWORD }, CLIENT));
  await deps.sql`DELETE FROM account_attempts`;
  for (let guess = 1; guess <= 5; guess += 1) {
    await confirmAgain(deps, user, { password: PASSWORD, code: '000000' }, CLIENT).catch(
      () => undefined,
    );
  }
  await expectTooMany(confirmAgain(deps, user, { password: PASSWORD, code: '000000' }, CLIENT));
});

test("a merchant's user who has a second factor needs it, too", async ({ deps, now }) => {
  const by = { sql: deps.sql, actor: TEST_ACTOR };
  const { merchantId } = await createMerchant(by, { name: 'Bina Books', email: newEmail() });
  const { userId } = await merchantUser(deps.sql, merchantId, { hasTwoFactor: true });
  const { user, read } = await unconfirmed(deps, userId);
  const alone = confirmAgain(deps, user, { password: PASSWORD, code: '' }, CLIENT);
  await expect(alone).rejects.toMatchObject({ validationErrors: { code: expect.any(String) } });
  const code = codeOf(TOTP_SECRET, now.ms);
  await confirmAgain(deps, user, { password: PASSWORD, code }, CLIENT);
  expect(await read()).toMatchObject({ isConfirmed: true });
});
