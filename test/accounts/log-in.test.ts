import { argon2Sync } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { readAttempter } from '../../src/accounts/log-in/attempter.ts';
import { admitAttempt, passwordLimits } from '../../src/accounts/log-in/attempts.ts';
import { createSession } from '../../src/accounts/log-in/sessions.ts';
import { hashPassword } from '../../src/accounts/passwords/passwords.ts';
import type { AccountDeps } from '../../src/accounts/public.ts';
import { changePassword, logIn, readSession } from '../../src/accounts/public.ts';
import { countingCrypto, countingSql, countRows, holdingHashes } from '../support/counted-work.ts';
import { untilBlocked } from '../support/locks.ts';
import { PASSWORD } from '../support/users.ts';
import { accountsTest, CLIENT, ELSEWHERE, expectTooMany, newEmail } from './accounts-test.ts';

const test = accountsTest();

const DAY_SECONDS = 24 * 3600;
const WRONG = { code: 'BAD_REQUEST' };
const NEW_PASSWORD = 'four purple umbrellas';

test('the right password signs in, in whatever case the address is typed', async ({
  deps,
  newMerchant,
}) => {
  const { email, userId } = await newMerchant();
  const given = { email: ` ${email.toUpperCase()}`, password: PASSWORD };
  const { next, token } = await logIn(deps, given, CLIENT);
  expect(next).toBe('session');
  expect(await readSession(deps, token)).toMatchObject({ userId });
});

test('an unknown address, a wrong password, an invited and a disabled user get one refusal', async ({
  deps,
  newMerchant,
  newOperator,
  database: { sql },
}) => {
  const { email } = await newMerchant();
  const [invited, disabled] = [await newMerchant(), await newOperator()];
  await sql`UPDATE users SET password_hash = NULL WHERE user_id = ${invited.userId}`;
  await sql`UPDATE users SET disabled_at = service_now() WHERE user_id = ${disabled.userId}`;
  const refusals: unknown[] = [];
  for (const given of [
    { email: newEmail(), password: PASSWORD },
    { email: 'a\0b', password: PASSWORD },
    { email: '', password: '' },
    { email, password: `${PASSWORD}x` },
    { email, password: '' },
    { email: invited.email, password: PASSWORD },
    { email: disabled.email, password: PASSWORD },
  ]) {
    const refusal = await logIn(deps, given, CLIENT).catch((error: unknown) => error);
    expect(refusal).toMatchObject(WRONG);
    refusals.push((refusal as Error).message);
  }
  expect(new Set(refusals).size).toBe(1);
});

test('an unknown address takes the same statements and rows as a wrong password, and a hash', async ({
  deps,
  newMerchant,
  database,
}) => {
  const { email } = await newMerchant();
  const { sql, statements } = countingSql(database.url);
  const { calls, stop } = countingCrypto();
  onTestFinished(stop);
  const workOf = async (address: string) => {
    const before = await countRows(database.sql);
    statements.length = 0;
    calls.length = 0;
    const given = { email: address, password: 'not the password' };
    await expect(logIn({ ...deps, sql }, given, CLIENT)).rejects.toMatchObject(WRONG);
    const after = await countRows(database.sql);
    return { statements: [...statements], hashes: [...calls], before, after };
  };
  await workOf(newEmail());
  const unknown = await workOf(newEmail());
  const wrong = await workOf(email);
  expect(unknown.statements).toHaveLength(4);
  expect(unknown.statements).toEqual(wrong.statements);
  for (const table of Object.keys(unknown.before)) {
    const added = (work: typeof wrong) => (work.after[table] ?? 0) - (work.before[table] ?? 0);
    expect(added(unknown), table).toBe(added(wrong));
  }
  expect(unknown.hashes).toContainEqual(['argon2', 'argon2id', 19_456, 2, 1, 32]);
  expect(unknown.hashes).toEqual(wrong.hashes);
  await sql.end();
});

/** As if the password of an account was guessed once from each of 100 other networks. */
async function guessFromEverywhere({ sql }: AccountDeps, email: string): Promise<void> {
  for (let count = 1; count <= 100; count += 1) {
    const address = `192.0.2.${count}`;
    await admitAttempt(sql, passwordLimits(email, { address, standing: 'unknown' }));
  }
}

test('guesses from 100 networks reach the ceiling of an account; its owner logs in from where it did before', async ({
  deps,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  const right = { email, password: PASSWORD };
  const home = { ...CLIENT, address: '2001:db8:1:1::1' };
  await logIn(deps, right, home);
  await guessFromEverywhere(deps, email);
  await expectTooMany(logIn(deps, right, ELSEWHERE));
  await expectTooMany(logIn(deps, right, { ...CLIENT, address: '2001:db8:1:2::1' }));
  expect((await logIn(deps, right, { ...CLIENT, address: '2001:db8:1:1::2' })).next).toBe(
    'session',
  );
});

test('a network is known for 30 days after the last login from it', async ({
  deps,
  newMerchant,
  at,
}) => {
  const { email } = await newMerchant();
  const given = { email, password: PASSWORD };
  const standing = async () => (await readAttempter(deps.sql, email, CLIENT.address)).standing;
  expect(await standing()).toBe('unknown');
  await logIn(deps, given, CLIENT);
  await at(29 * DAY_SECONDS);
  expect(await standing()).toBe('known');
  await at(31 * DAY_SECONDS);
  expect(await standing()).toBe('unknown');
});

test('an operator who logs in from a known network does not wait behind 42 other hashes', async ({
  deps,
  newOperator,
}) => {
  const { email, userId } = await newOperator();
  const given = { email, password: PASSWORD };
  await createSession(deps, userId, CLIENT);
  const { release } = holdingHashes('a flood');
  onTestFinished(release);
  const flood = Array.from({ length: 42 }, () => hashPassword('a flood'));
  await expectTooMany(logIn(deps, given, ELSEWHERE));
  expect((await logIn(deps, given, CLIENT)).next).toBe('code');
  release();
  await Promise.all(flood);
});

test('a failed login is in the audit log, without what was typed', async ({
  deps,
  newMerchant,
  database: { sql },
}) => {
  const { email, userId, merchantId } = await newMerchant();
  await expect(logIn(deps, { email, password: 'typed 1' }, CLIENT)).rejects.toThrow();
  await expect(logIn(deps, { email: 'typed 2', password: '' }, CLIENT)).rejects.toThrow();
  const rows = await sql`
    SELECT actor, address, subject, merchant_id, details FROM audit_log
    WHERE action = 'session.refuse' ORDER BY audit_id DESC LIMIT 2`;
  const refusal = { actor: 'anonymous', address: CLIENT.address, details: { wrong: 'password' } };
  expect(rows).toEqual([
    { ...refusal, subject: null, merchantId: null },
    { ...refusal, subject: userId, merchantId },
  ]);
});

test('a login replaces a hash that was made with parameters from before', async ({
  deps,
  newMerchant,
  database: { sql },
}) => {
  const { email, userId } = await newMerchant();
  const cost = { memory: 8192, passes: 1, parallelism: 1 };
  const nonce = Buffer.alloc(16, 1);
  const hash = argon2Sync('argon2id', { message: PASSWORD, nonce, tagLength: 32, ...cost });
  const old = `$argon2id$v=19$m=8192,t=1,p=1$${nonce.toString('base64')}$${hash.toString('base64')}`;
  await sql`UPDATE users SET password_hash = ${old} WHERE user_id = ${userId}`;
  await expect(logIn(deps, { email, password: 'wrong' }, CLIENT)).rejects.toMatchObject(WRONG);
  const storedHash = async () => {
    const [row] = await sql`SELECT password_hash FROM users WHERE user_id = ${userId}`;
    return row?.passwordHash as string;
  };
  expect(await storedHash()).toBe(old);
  await logIn(deps, { email, password: PASSWORD }, CLIENT);
  const renewed = await storedHash();
  expect(renewed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  await logIn(deps, { email, password: PASSWORD }, CLIENT);
  expect(await storedHash()).toBe(renewed);
});

test('changing the password needs the old one, ends every session and starts a new one', async ({
  deps,
  mails,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  const given = { email, password: PASSWORD };
  const other = (await logIn(deps, given, ELSEWHERE)).token;
  const own = (await logIn(deps, given, CLIENT)).token;
  const user = (await readSession(deps, own))!;
  const client = { ...CLIENT, sessionToken: own };
  const change = (password: string, newPassword: string) =>
    changePassword(deps, user, { password, newPassword }, client);

  await expect(change('wrong', NEW_PASSWORD)).rejects.toHaveProperty('validationErrors.password');
  await expect(change(PASSWORD, 'AshaTextiles99')).rejects.toHaveProperty(
    'validationErrors.newPassword',
  );
  expect(await readSession(deps, other)).toBeDefined();
  expect(mails).toEqual([]);

  const token = await change(PASSWORD, NEW_PASSWORD);
  expect(await readSession(deps, other)).toBeUndefined();
  expect(await readSession(deps, own)).toBeUndefined();
  expect(await readSession(deps, token)).toMatchObject({ email });
  expect(mails).toMatchObject([{ to: email, subject: 'Your account was changed' }]);
  await expect(logIn(deps, given, CLIENT)).rejects.toMatchObject(WRONG);
  await logIn(deps, { email, password: NEW_PASSWORD }, CLIENT);
});

test('a change of the password does not overwrite a reset that happened meanwhile', async ({
  deps,
  newMerchant,
  database: { sql },
}) => {
  const { email } = await newMerchant();
  const { token } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  const user = (await readSession(deps, token))!;
  const given = { password: PASSWORD, newPassword: NEW_PASSWORD };
  let change: Promise<unknown> = Promise.resolve();
  await sql.begin(async (resetting) => {
    await resetting`UPDATE users SET password_hash = 'reset' WHERE user_id = ${user.userId}`;
    change = changePassword(deps, user, given, CLIENT).catch((error: unknown) => error);
    await untilBlocked({ sql }, 'password.change');
  });
  expect(await change).toMatchObject({ code: 'INVALID_STATE' });
  const [row] = await sql`SELECT password_hash FROM users WHERE user_id = ${user.userId}`;
  expect(row?.passwordHash).toBe('reset');
});

test('guesses of the password in a stolen session wait like those of a login', async ({
  deps,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  const { token } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  const user = (await readSession(deps, token))!;
  const guess = () =>
    changePassword(deps, user, { password: 'guess', newPassword: NEW_PASSWORD }, CLIENT);
  for (let count = 0; count < 5; count += 1) {
    await expect(guess()).rejects.toHaveProperty('validationErrors.password');
  }
  await expectTooMany(guess());
});
