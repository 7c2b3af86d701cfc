import { expect } from 'vitest';
import { createSession } from '../../src/accounts/log-in/sessions.ts';
import { hashOfToken } from '../../src/accounts/tokens.ts';
import {
  endOtherSessions,
  endSession,
  listSessions,
  readSession,
  SESSION_COOKIE,
} from '../../src/accounts/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { installTestClock } from '../support/database.ts';
import { databaseTest, once } from '../support/fixtures.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, operatorUser, signIn } from '../support/users.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const ADDRESS = '203.0.113.7';
const CLIENT = { address: ADDRESS, userAgent: 'Mozilla/5.0 (a test)' };

const installed = once(installTestClock);
const test = databaseTest()
  .extend('clock', { scope: 'file' }, ({ database }) => installed(database))
  .extend('deps', ({ database }) => ({ sql: database.serviceSql }))
  .extend('newMerchant', ({ deps }) => async (name = 'Asha Textiles') => {
    const merchant = { name, email: 'owner@example.com' };
    const { merchantId } = await createMerchant({ ...deps, actor: TEST_ACTOR }, merchant);
    return { merchantId, ...(await merchantUser(deps.sql, merchantId)) };
  })
  .extend(
    'newOperator',
    ({ deps }) =>
      () =>
        operatorUser(deps.sql, 'finance'),
  );

test.beforeEach(async ({ clock }) => void (await clock.set(0)));

const tokenOf = ({ cookie }: Pick<TestUser, 'cookie'>) => cookie.replace(`${SESSION_COOKIE}=`, '');

test('a session says who is signed in, and which merchant', async ({ deps, newMerchant }) => {
  const merchant = await newMerchant('Bina Books');
  expect(await readSession(deps, tokenOf(merchant))).toEqual({
    userId: merchant.userId,
    email: merchant.email,
    sessionId: expect.stringMatching(/^ses_[0-9A-Z]{26}$/),
    merchantId: merchant.merchantId,
    merchantName: 'Bina Books',
    merchantStatus: 'PENDING',
    role: null,
    hasTwoFactor: false,
    isConfirmed: true,
  });
});

test('a session of an operator has the role and no merchant', async ({ deps, newOperator }) => {
  const operator = await newOperator();
  expect(await readSession(deps, tokenOf(operator))).toMatchObject({
    merchantId: null,
    merchantName: null,
    merchantStatus: null,
    role: 'finance',
    hasTwoFactor: true,
  });
});

test('an operator without two-factor is signed in as such', async ({ deps }) => {
  const operator = await operatorUser(deps.sql, 'admin', { hasTwoFactor: false });
  expect(await readSession(deps, tokenOf(operator))).toMatchObject({ hasTwoFactor: false });
});

test('a token has 256 bits, and the database has only its hash', async ({
  deps,
  newMerchant,
  database: { sql },
}) => {
  const token = tokenOf(await newMerchant());
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  const [row] = await sql<{ stored: string }[]>`
    SELECT to_jsonb(s)::text AS stored FROM dashboard_sessions s
    WHERE token_hash = ${hashOfToken(token)}`;
  expect(row?.stored).toBeDefined();
  for (const form of [token, Buffer.from(token, 'base64url').toString('hex')]) {
    expect(row?.stored).not.toContain(form);
  }
  expect(await readSession(deps, hashOfToken(token).toString('hex'))).toBeUndefined();
});

test('a token that was never issued has no user', async ({ deps }) => {
  for (const token of ['', 'x', '\0', 'a'.repeat(100_000)]) {
    expect(await readSession(deps, token)).toBeUndefined();
  }
});

test.for([
  { who: 'merchant', idleMs: 12 * HOUR_MS, absoluteMs: 30 * DAY_MS },
  { who: 'operator', idleMs: 15 * MINUTE_MS, absoluteMs: 12 * HOUR_MS },
] as const)(
  "a $who's session ends when it is not used, and in any case",
  async ({ who, idleMs, absoluteMs }, { deps, clock, newMerchant, newOperator }) => {
    const start = Date.now();
    const at = (ms: number) => clock.stopAt(new Date(start + ms));
    const signedInAt = async (ms: number) => {
      await at(ms);
      return tokenOf(await (who === 'merchant' ? newMerchant() : newOperator()));
    };

    const idle = await signedInAt(0);
    await at(idleMs);
    expect(await readSession(deps, idle)).toBeUndefined();

    const used = await signedInAt(0);
    const step = idleMs - MINUTE_MS;
    for (let ms = step; ms < absoluteMs; ms += step) {
      await at(ms);
      expect(await readSession(deps, used), `after ${ms} ms`).toBeDefined();
    }
    await at(absoluteMs - 1);
    expect(await readSession(deps, used)).toBeDefined();
    await at(absoluteMs);
    expect(await readSession(deps, used)).toBeUndefined();
  },
);

test('the time of the last request is written once a minute', async ({
  deps,
  clock,
  newMerchant,
}) => {
  const start = Date.now();
  await clock.stopAt(new Date(start));
  const user = await newMerchant();
  const seenAt = async (ms: number) => {
    await clock.stopAt(new Date(start + ms));
    await readSession(deps, tokenOf(user));
    const [session] = await listSessions(deps, user.userId);
    return (session?.lastSeenAt.getTime() ?? 0) - start;
  };
  expect(await seenAt(MINUTE_MS - 1)).toBe(0);
  expect(await seenAt(MINUTE_MS)).toBe(MINUTE_MS);
  expect(await seenAt(2 * MINUTE_MS - 1)).toBe(MINUTE_MS);
});

test('a request that no person has made leaves the idle time as it is', async ({
  deps,
  clock,
  newOperator,
}) => {
  const start = Date.now();
  await clock.stopAt(new Date(start));
  const operator = await newOperator();
  for (const minutes of [5, 10, 14]) {
    await clock.stopAt(new Date(start + minutes * MINUTE_MS));
    expect(await readSession(deps, tokenOf(operator), false)).toBeDefined();
  }
  await clock.stopAt(new Date(start + 15 * MINUTE_MS));
  expect(await readSession(deps, tokenOf(operator), false)).toBeUndefined();
});

test('a login ends the session that the browser had', async ({ deps, newMerchant }) => {
  const user = await newMerchant();
  const old = tokenOf(user);
  const token = await createSession(deps, user.userId, { ...CLIENT, sessionToken: old });
  expect(await readSession(deps, old)).toBeUndefined();
  expect(await readSession(deps, token)).toMatchObject({ userId: user.userId });
});

test('a login as another user of the same browser ends that session, too', async ({
  deps,
  newMerchant,
  newOperator,
}) => {
  const before = tokenOf(await newMerchant());
  const { userId } = await newOperator();
  const token = await createSession(deps, userId, { ...CLIENT, sessionToken: before });
  expect(await readSession(deps, before)).toBeUndefined();
  expect(await readSession(deps, token)).toMatchObject({ userId });
});

test('a user sees the own sessions, from where and since when', async ({ deps, newMerchant }) => {
  const user = await newMerchant();
  await createSession(deps, user.userId, { ...CLIENT, userAgent: 'x'.repeat(10_000) });
  const sessions = await listSessions(deps, user.userId);
  expect(sessions).toHaveLength(2);
  expect(sessions[0]).toEqual({
    sessionId: expect.any(String),
    createdAt: expect.any(Date),
    lastSeenAt: expect.any(Date),
    address: CLIENT.address,
    userAgent: 'x'.repeat(300),
  });
});

test('a user can end one session, but none of another user', async ({ deps, newMerchant }) => {
  const [user, other] = [await newMerchant(), await newMerchant()];
  const { sessionId = '' } = (await readSession(deps, tokenOf(user))) ?? {};
  expect(await endSession(deps, other.userId, sessionId, ADDRESS)).toBe(false);
  expect(await readSession(deps, tokenOf(user))).toBeDefined();
  expect(await endSession(deps, user.userId, sessionId, ADDRESS)).toBe(true);
  expect(await readSession(deps, tokenOf(user))).toBeUndefined();
  expect(await readSession(deps, tokenOf(other))).toBeDefined();
});

test('a user can end all other sessions', async ({ deps, newMerchant }) => {
  const [user, other] = [await newMerchant(), await newMerchant()];
  const second = tokenOf({ cookie: await signIn(deps.sql, user.userId) });
  const { sessionId = '' } = (await readSession(deps, second)) ?? {};
  await endOtherSessions(deps, user.userId, sessionId, ADDRESS);
  expect(await readSession(deps, tokenOf(user))).toBeUndefined();
  expect(await readSession(deps, second)).toBeDefined();
  expect(await readSession(deps, tokenOf(other))).toBeDefined();
});

test('the audit log has the begin and the end of each session, and from where', async ({
  deps,
  newMerchant,
  database: { sql },
}) => {
  const user = await newMerchant();
  const first = (await readSession(deps, tokenOf(user)))?.sessionId ?? '';
  const second = tokenOf({ cookie: await signIn(deps.sql, user.userId) });
  const { sessionId = '' } = (await readSession(deps, second)) ?? {};
  await endOtherSessions(deps, user.userId, sessionId, ADDRESS);
  await endSession(deps, user.userId, sessionId, ADDRESS);
  const rows = await sql`
    SELECT actor, address, action, merchant_id, details->>'sessionId' AS session_id FROM audit_log
    WHERE subject = ${user.userId} ORDER BY audit_id`;
  const by = { actor: `merchant:${user.email}`, merchantId: user.merchantId };
  expect(rows).toEqual([
    { ...by, address: '127.0.0.1', action: 'session.create', sessionId: first },
    { ...by, address: '127.0.0.1', action: 'session.create', sessionId },
    { ...by, address: ADDRESS, action: 'session.end', sessionId: first },
    { ...by, address: ADDRESS, action: 'session.end', sessionId },
  ]);
});

test('a disabled user has no session and gets none', async ({
  deps,
  newOperator,
  database: { sql },
}) => {
  const user = await newOperator();
  await sql`UPDATE users SET disabled_at = clock_timestamp() WHERE user_id = ${user.userId}`;
  expect(await readSession(deps, tokenOf(user))).toBeUndefined();
  await expect(createSession(deps, user.userId, CLIENT)).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});

test('a user belongs to a merchant or is an operator, never both or neither', async ({
  database: { sql },
  newMerchant,
  newOperator,
}) => {
  const [merchant, operator] = [await newMerchant(), await newOperator()];
  const refused = expect.objectContaining({ code: '23514' });
  await expect(
    sql`UPDATE users SET operator_role = 'admin' WHERE user_id = ${merchant.userId}`,
  ).rejects.toEqual(refused);
  await expect(
    sql`UPDATE users SET operator_role = NULL WHERE user_id = ${operator.userId}`,
  ).rejects.toEqual(refused);
});

test('of one user the 20 latest sessions stay', async ({ deps, newMerchant }) => {
  const { userId } = await newMerchant();
  for (let count = 1; count <= 25; count += 1) await createSession(deps, userId, CLIENT);
  expect(await listSessions(deps, userId)).toHaveLength(20);
});

test('a password that was changed after it was verified starts no session', async ({
  deps,
  newMerchant,
}) => {
  const { userId } = await newMerchant();
  const [user] = await deps.sql<[{ passwordHash: string }]>`
    SELECT password_hash FROM users WHERE user_id = ${userId}`;
  const { passwordHash } = user;
  await createSession(deps, userId, CLIENT, { passwordHash });
  await deps.sql`UPDATE users SET password_hash = 'another' WHERE user_id = ${userId}`;
  await expect(createSession(deps, userId, CLIENT, { passwordHash })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});
