import { expect } from 'vitest';
import {
  findLink,
  logIn,
  readSession,
  requestReset,
  resetPassword,
} from '../../src/accounts/public.ts';
import { PASSWORD } from '../support/users.ts';
import {
  accountsTest,
  CLIENT,
  ELSEWHERE,
  expectTooMany,
  newEmail,
  tokenIn,
} from './accounts-test.ts';
import { countingSql, countRows } from '../support/counted-work.ts';

const test = accountsTest();

const NEW_PASSWORD = 'four purple umbrellas';
const GONE = { code: 'NOT_FOUND' };
const MINUTE_SECONDS = 60;

test('a forgotten password is set anew by a link, which ends every session', async ({
  deps,
  mails,
  newMerchant,
  database: { sql },
}) => {
  const { email, userId } = await newMerchant();
  const { token: session } = await logIn(deps, { email, password: PASSWORD }, CLIENT);
  await requestReset(deps, ` ${email.toUpperCase()}`, CLIENT);
  expect(mails).toMatchObject([{ to: email, subject: 'Set a new password' }]);
  const link = tokenIn(mails[0]!);
  expect(await findLink(deps, link, 'reset_password')).toEqual({
    email,
    merchantName: 'Asha Textiles',
  });
  await resetPassword(deps, link, NEW_PASSWORD, CLIENT);
  expect(await readSession(deps, session)).toBeUndefined();
  await expect(logIn(deps, { email, password: PASSWORD }, CLIENT)).rejects.toThrow();
  await logIn(deps, { email, password: NEW_PASSWORD }, CLIENT);
  expect(mails[1]).toMatchObject({ to: email, subject: 'Your account was changed' });
  const rows = await sql`
    SELECT actor, action FROM audit_log
    WHERE subject = ${userId} AND action LIKE 'password.%' ORDER BY audit_id`;
  expect(rows).toEqual([
    { actor: 'anonymous', action: 'password.request_reset' },
    { actor: `merchant:${email}`, action: 'password.reset' },
  ]);
});

test('the link works for 30 minutes and once; the others of the account end with it', async ({
  deps,
  mails,
  newMerchant,
  at,
}) => {
  const { email } = await newMerchant();
  for (let count = 0; count < 3; count += 1) await requestReset(deps, email, CLIENT);
  const [first = '', second = '', third = ''] = mails.map(tokenIn);
  await at(30 * MINUTE_SECONDS - 1);
  await resetPassword(deps, first, NEW_PASSWORD, CLIENT);
  for (const token of [first, second, third, 'x', '']) {
    await expect(findLink(deps, token, 'reset_password')).rejects.toMatchObject(GONE);
    await expect(resetPassword(deps, token, NEW_PASSWORD, CLIENT)).rejects.toMatchObject(GONE);
  }
  await requestReset(deps, email, CLIENT);
  await at(60 * MINUTE_SECONDS);
  const late = resetPassword(deps, tokenIn(mails.at(-1)!), NEW_PASSWORD, CLIENT);
  await expect(late).rejects.toMatchObject(GONE);
});

test('of concurrent uses of the links of an account one succeeds, and none fails otherwise', async ({
  deps,
  mails,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  for (let count = 0; count < 5; count += 1) await requestReset(deps, email, CLIENT);
  const tokens = mails.map(tokenIn);
  expect(tokens).toHaveLength(5);
  const uses = await Promise.allSettled(
    [...tokens, ...tokens].map((token) => resetPassword(deps, token, NEW_PASSWORD, CLIENT)),
  );
  expect(uses.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const use of uses) {
    if (use.status === 'rejected') expect(use.reason).toMatchObject(GONE);
  }
});

test('a refused password does not use the link up', async ({ deps, mails, newMerchant }) => {
  const { email } = await newMerchant();
  await requestReset(deps, email, CLIENT);
  const token = tokenIn(mails[0]!);
  for (const easy of ['short', 'Asha-Textiles-1', 'password12345678']) {
    await expect(resetPassword(deps, token, easy, CLIENT)).rejects.toHaveProperty(
      'validationErrors.newPassword',
    );
  }
  await resetPassword(deps, token, NEW_PASSWORD, CLIENT);
});

test('only the hash of a link is stored', async ({
  deps,
  mails,
  newMerchant,
  database: { sql },
}) => {
  const { email, userId } = await newMerchant();
  await requestReset(deps, email, CLIENT);
  const [row] = await sql`
    SELECT to_jsonb(l)::text AS stored FROM one_time_links l WHERE user_id = ${userId}`;
  expect(row?.stored).toBeDefined();
  expect(row?.stored).not.toContain(tokenIn(mails[0]!));
});

test('an address without an account takes the same statements, rows and mails', async ({
  deps,
  mails,
  newMerchant,
  newOperator,
  database,
}) => {
  const { sql, statements } = countingSql(database.url);
  const disabled = await newOperator();
  await database.sql`
    UPDATE users SET disabled_at = service_now() WHERE user_id = ${disabled.userId}`;
  const workOf = async (email: string) => {
    const before = await countRows(database.sql);
    statements.length = 0;
    mails.length = 0;
    await requestReset({ ...deps, sql }, email, CLIENT);
    const after = await countRows(database.sql);
    const added = Object.keys(after).map((table) => (after[table] ?? 0) - (before[table] ?? 0));
    return { statements: [...statements], added, mails: mails.map(({ to }) => to === email) };
  };
  await workOf(newEmail());
  const known = await workOf((await newMerchant()).email);
  expect(known.statements).toHaveLength(3);
  expect(known.mails).toEqual([true]);
  expect(await workOf(newEmail())).toEqual(known);
  expect(mails).toMatchObject([{ subject: 'There is no account with this address' }]);
  expect(tokenIn(mails[0]!)).toBe('');
  expect(await workOf(disabled.email)).toEqual(known);
  expect(tokenIn(mails[0]!)).toBe('');
  await sql.end();
});

test('one address is sent five mails in 15 minutes; one client asks for 20', async ({
  deps,
  mails,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  for (let count = 0; count < 20; count += 1) await requestReset(deps, email, CLIENT);
  expect(mails).toHaveLength(5);
  await expectTooMany(requestReset(deps, email, CLIENT));
  await requestReset(deps, email, ELSEWHERE);
});

test('opened links are counted, too', async ({ deps }) => {
  for (let count = 0; count < 20; count += 1) {
    const guess = resetPassword(deps, `guess ${count}`, NEW_PASSWORD, CLIENT);
    await expect(guess).rejects.toMatchObject(GONE);
  }
  await expectTooMany(resetPassword(deps, 'guess', NEW_PASSWORD, CLIENT));
});

test('a text that is no address is refused', async ({ deps, mails }) => {
  for (const text of ['', 'nobody', 'a\0@shop.example', `${'a'.repeat(300)}@shop.example`]) {
    await expect(requestReset(deps, text, CLIENT)).rejects.toHaveProperty('validationErrors.email');
  }
  expect(mails).toEqual([]);
});

test('after a reset no address has to wait for earlier failures', async ({
  deps,
  mails,
  newMerchant,
}) => {
  const { email } = await newMerchant();
  for (let count = 0; count < 5; count += 1) {
    await expect(logIn(deps, { email, password: 'wrong' }, CLIENT)).rejects.toThrow();
  }
  await expectTooMany(logIn(deps, { email, password: PASSWORD }, CLIENT));
  await requestReset(deps, email, CLIENT);
  await resetPassword(deps, tokenIn(mails[0]!), NEW_PASSWORD, CLIENT);
  await logIn(deps, { email, password: NEW_PASSWORD }, CLIENT);
});
