import { expect, onTestFinished } from 'vitest';
import { confirmSignUp, findSignUp, readSession, signUp } from '../../src/accounts/public.ts';
import { countingCrypto, countingSql, countRows } from '../support/counted-work.ts';
import {
  accountsTest,
  CLIENT,
  ELSEWHERE,
  expectTooMany,
  newEmail,
  tokenIn,
} from './accounts-test.ts';

const test = accountsTest();

const PASSWORD = 'four purple umbrellas';
const formOf = (email: string) => ({ email, password: PASSWORD, businessName: 'Bina Books' });
const DAY_SECONDS = 24 * 3600;

test('a merchant signs up, confirms the address and is signed in', async ({
  deps,
  mails,
  database: { sql },
}) => {
  const email = newEmail();
  await signUp(deps, formOf(`  ${email.toUpperCase()} `), CLIENT);
  expect(mails.map(({ to }) => to)).toEqual([email]);
  expect(await sql`SELECT FROM users WHERE email = ${email}`).toHaveLength(0);

  const token = tokenIn(mails[0]!);
  expect(await findSignUp(deps, token)).toEqual({ email, businessName: 'Bina Books' });
  const session = await confirmSignUp(deps, token, PASSWORD, CLIENT);
  const user = await readSession(deps, session);
  expect(user).toMatchObject({ email, merchantName: 'Bina Books', merchantStatus: 'PENDING' });
  const [merchant] = await sql`SELECT name, email, status FROM merchants WHERE email = ${email}`;
  expect(merchant).toEqual({ name: 'Bina Books', email, status: 'PENDING' });
  const actions = await sql`
    SELECT action, actor, address, subject FROM audit_log
    WHERE merchant_id = ${user?.merchantId ?? null} ORDER BY audit_id`;
  expect(actions.map(({ action }) => action)).toEqual([
    'merchant.create',
    'user.create',
    'session.create',
  ]);
  expect(
    new Set(actions.map(({ actor, address, subject }) => `${actor} ${address} ${subject}`)),
  ).toEqual(new Set([`merchant:${email} ${CLIENT.address} ${user?.userId}`]));
});

test('the mail has nothing of what was typed but the address: a stranger may have typed it', async ({
  deps,
  mails,
}) => {
  const form = { ...formOf(newEmail()), businessName: 'You have won, see http://evil.example' };
  await signUp(deps, form, CLIENT);
  expect(JSON.stringify(mails)).not.toMatch(/evil|won|umbrellas/);
});

test('neither the password nor the link is stored as it is', async ({
  deps,
  mails,
  database: { sql },
}) => {
  const email = newEmail();
  await signUp(deps, formOf(email), CLIENT);
  const [row] =
    await sql`SELECT to_jsonb(s)::text AS stored FROM sign_ups s WHERE email = ${email}`;
  expect(row?.stored).not.toContain(PASSWORD);
  expect(row?.stored).not.toContain(tokenIn(mails[0]!));
});

test('what is wrong with the form is said for each field', async ({ deps, mails }) => {
  const refused = signUp(
    deps,
    { email: 'no address', password: 'short', businessName: ' ' },
    CLIENT,
  );
  await expect(refused).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    validationErrors: {
      email: 'email must be a valid email address',
      businessName: 'name must not be blank',
      password: 'The password must have at least 12 characters',
    },
  });
  for (const [field, value] of [
    ['email', 'a\0b@shop.example'],
    ['businessName', 'Bina \0'],
    ['password', 'BinaBooks2026'],
    ['password', 'passwordpassword'],
  ] as const) {
    const refusal = signUp(deps, { ...formOf(newEmail()), [field]: value }, CLIENT);
    await expect(refusal).rejects.toHaveProperty(`validationErrors.${field}`);
  }
  expect(mails).toEqual([]);
});

test('an address with an account gets a mail that says so, and no new account', async ({
  deps,
  mails,
  newMerchant,
  database: { sql },
}) => {
  const { email } = await newMerchant();
  await signUp(deps, formOf(email), CLIENT);
  expect(mails).toHaveLength(1);
  expect(mails[0]).toMatchObject({ to: email, subject: 'You already have an account' });
  expect(tokenIn(mails[0]!)).toBe('');
  expect(await sql`SELECT FROM users WHERE email = ${email}`).toHaveLength(1);
});

test('an address with an account takes the same statements, rows, mails and hash', async ({
  deps,
  mails,
  newMerchant,
  database,
}) => {
  const { sql, statements } = countingSql(database.url);
  const { email: known } = await newMerchant();
  const { calls, stop } = countingCrypto();
  onTestFinished(stop);
  const workOf = async (email: string) => {
    const before = await countRows(database.sql);
    statements.length = 0;
    calls.length = 0;
    mails.length = 0;
    await signUp({ ...deps, sql }, formOf(email), CLIENT);
    const after = await countRows(database.sql);
    const added = Object.keys(after).map((table) => (after[table] ?? 0) - (before[table] ?? 0));
    const sent = mails.map(({ to }) => to === email);
    return { statements: [...statements], hashes: [...calls], added, mails: sent };
  };
  await workOf(newEmail());
  const unknown = await workOf(newEmail());
  expect(unknown.statements).toHaveLength(3);
  expect(unknown.hashes).toContainEqual(['argon2', 'argon2id', 19_456, 2, 1, 32]);
  expect(unknown.mails).toEqual([true]);
  expect(await workOf(known)).toEqual(unknown);
  await sql.end();
});

test('the link works for 24 hours, and once', async ({ deps, mails, at }) => {
  for (const email of [newEmail(), newEmail()]) await signUp(deps, formOf(email), CLIENT);
  const [first = '', second = ''] = mails.map(tokenIn);
  await at(DAY_SECONDS - 1);
  expect(await findSignUp(deps, first)).toBeDefined();
  await confirmSignUp(deps, first, PASSWORD, CLIENT);
  const gone = { code: 'NOT_FOUND' };
  await expect(findSignUp(deps, first)).rejects.toMatchObject(gone);
  await expect(confirmSignUp(deps, first, PASSWORD, CLIENT)).rejects.toMatchObject(gone);
  await at(DAY_SECONDS);
  await expect(findSignUp(deps, second)).rejects.toMatchObject(gone);
  await expect(confirmSignUp(deps, second, PASSWORD, CLIENT)).rejects.toMatchObject(gone);
});

test('the link alone confirms nothing: a stranger may have signed up with this address', async ({
  deps,
  mails,
}) => {
  await signUp(deps, formOf(newEmail()), ELSEWHERE);
  const token = tokenIn(mails[0]!);
  await expect(confirmSignUp(deps, token, 'another password', CLIENT)).rejects.toHaveProperty(
    'validationErrors.password',
  );
  await confirmSignUp(deps, token, PASSWORD, CLIENT);
});

test('of two sign-ups with one address each link has its own password, and the first one counts', async ({
  deps,
  mails,
  database: { sql },
}) => {
  const email = newEmail();
  await signUp(deps, formOf(email), CLIENT);
  await signUp(deps, { ...formOf(email), password: 'nine silver teapots' }, ELSEWHERE);
  const [first = '', second = ''] = mails.map(tokenIn);
  await confirmSignUp(deps, first, PASSWORD, CLIENT);
  await expect(confirmSignUp(deps, second, 'nine silver teapots', ELSEWHERE)).rejects.toMatchObject(
    { code: 'INVALID_STATE' },
  );
  expect(await sql`SELECT FROM merchants WHERE email = ${email}`).toHaveLength(1);
});

test('concurrent confirmations of one address create one merchant and one user', async ({
  deps,
  mails,
  database: { sql },
}) => {
  const email = newEmail();
  for (let count = 0; count < 3; count += 1) await signUp(deps, formOf(email), CLIENT);
  const tokens = mails.map(tokenIn);
  const confirmed = await Promise.allSettled(
    [...tokens, ...tokens].map((token) => confirmSignUp(deps, token, PASSWORD, CLIENT)),
  );
  expect(confirmed.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const one of confirmed) {
    if (one.status === 'fulfilled') continue;
    expect(['NOT_FOUND', 'INVALID_STATE']).toContain((one.reason as { code: string }).code);
  }
  expect(await sql`SELECT FROM merchants WHERE email = ${email}`).toHaveLength(1);
  expect(await sql`SELECT FROM users WHERE email = ${email}`).toHaveLength(1);
});

test('one address can be sent five mails in 15 minutes; the answer stays the same', async ({
  deps,
  mails,
}) => {
  const email = newEmail();
  for (let count = 0; count < 7; count += 1) await signUp(deps, formOf(email), CLIENT);
  expect(mails).toHaveLength(5);
});

test('one client cannot sign up without limit', async ({ deps }) => {
  for (let count = 0; count < 20; count += 1) await signUp(deps, formOf(newEmail()), CLIENT);
  await expectTooMany(signUp(deps, formOf(newEmail()), CLIENT));
  await signUp(deps, formOf(newEmail()), ELSEWHERE);
});

test('an expired sign-up is deleted by the next one', async ({ deps, at, database: { sql } }) => {
  const email = newEmail();
  await signUp(deps, formOf(email), CLIENT);
  await at(DAY_SECONDS);
  await signUp(deps, formOf(newEmail()), CLIENT);
  expect(await sql`SELECT FROM sign_ups WHERE email = ${email}`).toHaveLength(0);
});
