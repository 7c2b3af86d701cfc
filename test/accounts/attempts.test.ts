import { expect } from 'vitest';
import type { Attempter } from '../../src/accounts/log-in/attempter.ts';
import {
  admitAttempt,
  admitMail,
  codeLimits,
  forgetAttempts,
  linkLimits,
  mailLimits,
  passwordLimits,
} from '../../src/accounts/log-in/attempts.ts';
import { HttpRefusal } from '../../src/http/responses/errors.ts';
import { installTestClock } from '../support/database.ts';
import { databaseTest, once } from '../support/fixtures.ts';

const MINUTE_SECONDS = 60;
type Standing = Attempter['standing'];
type Limits = Parameters<typeof admitAttempt>[1];
const DAY_SECONDS = 24 * 3600;
const ADDRESS = '203.0.113.7';
const OTHER_ADDRESS = '203.0.113.8';

const installed = once(installTestClock);
let accounts = 0;
const test = databaseTest()
  .extend('clock', { scope: 'file' }, ({ database }) => installed(database))
  .extend('email', () => `account-${(accounts += 1)}@shop.example`)
  .extend('at', ({ clock }) => {
    const start = Date.now();
    return (seconds: number) => clock.stopAt(new Date(start + seconds * 1000));
  })
  .extend('sql', ({ database }) => database.serviceSql)
  /** Makes an attempt. @returns the seconds that it has to wait; 0 if it was admitted */
  .extend('waitOf', ({ sql }) => async (limits: Limits): Promise<number> => {
    try {
      await admitAttempt(sql, limits);
      return 0;
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      expect(error.code).toBe('TOO_MANY_REQUESTS');
      return Number(error.headers['Retry-After']);
    }
  });

test.beforeEach(async ({ at, database }) => {
  await at(0);
  await database.sql`DELETE FROM account_attempts`;
});

const passwordsFrom = (email: string, address: string, standing: Standing = 'unknown') =>
  passwordLimits(email, { address, standing });
const codesFrom = (userId: string, address: string, standing: Standing = 'unknown') =>
  codeLimits(userId, { address, standing });

test('the fifth failure of an account and address makes the sixth attempt wait, longer each time', async ({
  email,
  at,
  waitOf,
}) => {
  const attempt = () => waitOf(passwordsFrom(email, ADDRESS));
  for (let count = 1; count <= 5; count += 1) expect(await attempt()).toBe(0);
  let now = 0;
  const waits: number[] = [];
  for (let count = 1; count <= 9; count += 1) {
    const wait = await attempt();
    waits.push(wait);
    await at(now + wait - 1);
    expect(await attempt(), 'a second early').toBe(1);
    await at((now += wait));
    expect(await attempt(), 'after the wait').toBe(0);
  }
  expect(waits).toEqual([15, 30, 60, 120, 240, 480, 900, 900, 900]);
});

test('the message says how long to wait', async ({ sql, email, at }) => {
  const attempt = () => admitAttempt(sql, passwordsFrom(email, ADDRESS));
  for (let count = 1; count <= 5; count += 1) await attempt();
  await expect(attempt()).rejects.toThrow('Too many attempts: try again in 15 seconds');
  await at(15);
  await attempt();
  await expect(attempt()).rejects.toThrow('Too many attempts: try again in 30 seconds');
  for (const seconds of [45, 105, 225]) {
    await at(seconds);
    await attempt();
  }
  await expect(attempt()).rejects.toThrow('Too many attempts: try again in 4 minutes');
});

test('of 100 parallel guesses five are made', async ({ email, waitOf }) => {
  const guesses = Array.from({ length: 100 }, () => waitOf(passwordsFrom(email, ADDRESS)));
  const waits = await Promise.all(guesses);
  expect(waits.filter((seconds) => seconds === 0)).toHaveLength(5);
});

test('an attempt that has to wait does not make the wait longer', async ({ email, at, waitOf }) => {
  const attempt = () => waitOf(passwordsFrom(email, ADDRESS));
  for (let count = 1; count <= 5; count += 1) await attempt();
  await at(5);
  for (let count = 1; count <= 20; count += 1) expect(await attempt()).toBe(10);
});

test('another address, such as the owner, is not slowed down', async ({ sql, email, waitOf }) => {
  for (let count = 1; count <= 5; count += 1) {
    await admitAttempt(sql, passwordsFrom(email, ADDRESS));
  }
  expect(await waitOf(passwordsFrom(email, ADDRESS))).toBe(15);
  expect(await waitOf(passwordsFrom(email, OTHER_ADDRESS))).toBe(0);
});

test('the addresses of one IPv6 network count as one', async ({ sql, email, waitOf }) => {
  for (let count = 1; count <= 5; count += 1) {
    await admitAttempt(sql, passwordsFrom(email, `2001:db8::${count}`));
  }
  expect(await waitOf(passwordsFrom(email, '2001:db8::6'))).toBe(15);
});

test('an IPv6 /56 network has four times the free attempts of a /64, and a /48 sixteen times', async ({
  email,
  waitOf,
}) => {
  const attempt = (subnet: number) =>
    waitOf(passwordsFrom(email, `2001:db8:1:${subnet.toString(16)}::1`));
  const admitted = async (subnets: number[]) => {
    const waits: number[] = [];
    for (const subnet of subnets) waits.push(await attempt(subnet));
    return waits.filter((seconds) => seconds === 0).length;
  };
  // 256 networks of /64 are one /56, and so are the next 256.
  expect(await admitted(Array.from({ length: 30 }, (_, index) => index))).toBe(20);
  expect(await admitted(Array.from({ length: 100 }, (_, index) => (index + 1) << 8))).toBe(60);
  expect(await waitOf(passwordsFrom(email, '2001:db8:2::1'))).toBe(0);
});

test('a success gives a wider IPv6 network back one attempt only', async ({
  sql,
  email,
  waitOf,
}) => {
  const at = (subnet: number) => passwordsFrom(email, `2001:db8:1:${subnet.toString(16)}::1`);
  for (let subnet = 1; subnet <= 20; subnet += 1) await admitAttempt(sql, at(subnet));
  await forgetAttempts(sql, at(20));
  expect(await waitOf(at(21))).toBe(0);
  expect(await waitOf(at(22))).toBe(15);
});

test('five failures in more than 15 minutes slow nothing down', async ({ email, at, waitOf }) => {
  for (let count = 0; count < 20; count += 1) {
    await at(count * 4 * MINUTE_SECONDS);
    expect(await waitOf(passwordsFrom(email, ADDRESS))).toBe(0);
  }
});

test('a success forgets the failures of that account and address', async ({
  sql,
  email,
  at,
  waitOf,
}) => {
  const limits = passwordsFrom(email, ADDRESS);
  for (let count = 1; count <= 5; count += 1) await admitAttempt(sql, limits);
  await at(15);
  await admitAttempt(sql, limits);
  await forgetAttempts(sql, limits);
  for (let count = 1; count <= 5; count += 1) expect(await waitOf(limits)).toBe(0);
  expect(await waitOf(limits)).toBe(15);
});

test('an address that tries many accounts waits, also after it has signed in to its own', async ({
  sql,
  email,
  waitOf,
}) => {
  const own = passwordsFrom(email, ADDRESS);
  for (let count = 1; count <= 50; count += 1) {
    await admitAttempt(sql, own);
    await forgetAttempts(sql, own);
    await admitAttempt(sql, passwordsFrom(`victim-${count}@shop.example`, ADDRESS));
  }
  expect(await waitOf(passwordsFrom('next@shop.example', ADDRESS))).toBe(15);
  expect(await waitOf(passwordsFrom(email, OTHER_ADDRESS))).toBe(0);
});

test('codes of one account wait after 30 in a day from unknown networks, and from known ones do not', async ({
  at,
  waitOf,
}) => {
  for (let count = 1; count <= 30; count += 1) {
    await at(count * 20 * MINUTE_SECONDS);
    expect(await waitOf(codesFrom('usr_1', `203.0.113.${count}`))).toBe(0);
  }
  expect(await waitOf(codesFrom('usr_1', '203.0.113.99'))).toBe(15);
  expect(await waitOf(codesFrom('usr_2', '203.0.113.99'))).toBe(0);
  expect(await waitOf(codesFrom('usr_1', '203.0.113.98', 'known'))).toBe(0);
});

test('passwords of one account wait after 100 in a day from unknown networks, and from known ones do not', async ({
  email,
  at,
  waitOf,
}) => {
  for (let count = 1; count <= 100; count += 1) {
    await at(count * 14 * MINUTE_SECONDS);
    expect(await waitOf(passwordsFrom(email, `203.0.113.${count}`))).toBe(0);
  }
  const from = (standing: Standing) => passwordsFrom(email, '203.0.113.199', standing);
  expect(await waitOf(from('unknown'))).toBe(15);
  expect(await waitOf(from('known'))).toBe(0);
  expect(await waitOf(from('operator'))).toBe(0);
});

test('the success of one client leaves the ceiling of the account one attempt lower', async ({
  sql,
  email,
  waitOf,
}) => {
  const from = (count: number) => passwordsFrom(email, `203.0.113.${count}`);
  for (let count = 1; count <= 100; count += 1) await admitAttempt(sql, from(count));
  await forgetAttempts(sql, from(100));
  expect(await waitOf(from(101))).toBe(0);
  expect(await waitOf(from(102))).toBe(15);
});

test('operators of an address do not wait behind its other attempts', async ({
  sql,
  email,
  waitOf,
}) => {
  for (let count = 1; count <= 50; count += 1) {
    await admitAttempt(sql, passwordsFrom(`victim-${count}@shop.example`, ADDRESS));
  }
  expect(await waitOf(passwordsFrom(email, ADDRESS, 'known'))).toBe(15);
  expect(await waitOf(passwordsFrom(email, ADDRESS, 'operator'))).toBe(0);
});

test('links wait after 20 from one address', async ({ sql, waitOf }) => {
  for (let count = 1; count <= 20; count += 1) await admitAttempt(sql, linkLimits(ADDRESS));
  expect(await waitOf(linkLimits(ADDRESS))).toBe(15);
});

test('one client has five mails of a kind sent to an address, and all clients 50', async ({
  sql,
  email,
}) => {
  for (let count = 1; count <= 5; count += 1) {
    expect(await admitMail(sql, mailLimits('sign_up', email, ADDRESS))).toBe(true);
  }
  expect(await admitMail(sql, mailLimits('sign_up', email, ADDRESS))).toBe(false);
  expect(await admitMail(sql, mailLimits('reset', email, ADDRESS))).toBe(true);
  for (let count = 7; count <= 50; count += 1) {
    expect(await admitMail(sql, mailLimits('sign_up', email, `198.51.100.${count}`))).toBe(true);
  }
  expect(await admitMail(sql, mailLimits('reset', email, OTHER_ADDRESS))).toBe(false);
});

test('attempts at the same limits in another order never wait for each other', async ({
  email,
  waitOf,
}) => {
  const limits = passwordsFrom(email, ADDRESS);
  const admitted = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      waitOf(index % 2 === 0 ? limits : limits.toReversed()),
    ),
  );
  expect(admitted.filter((seconds) => seconds === 0)).toHaveLength(5);
});

test('a day after its last attempt a count is deleted', async ({ sql, email, at }) => {
  const limits = passwordsFrom(email, ADDRESS);
  for (let count = 1; count <= 5; count += 1) await admitAttempt(sql, limits);
  await at(DAY_SECONDS);
  await admitAttempt(sql, passwordsFrom('other@shop.example', OTHER_ADDRESS));
  const [row] = await sql<[{ rows: number }]>`
    SELECT count(*)::int AS rows FROM account_attempts WHERE address = ${ADDRESS}`;
  expect(row.rows).toBe(0);
});

test('refused attempts leave no rows behind', async ({ sql, at, waitOf }) => {
  const attempt = (index: number) => waitOf(passwordsFrom(`a${index}@shop.example`, ADDRESS));
  for (let index = 0; index < 60; index += 1) await attempt(index);
  await at(20 * MINUTE_SECONDS);
  await admitAttempt(sql, passwordsFrom('other@shop.example', OTHER_ADDRESS));
  const [row] = await sql<[{ rows: number }]>`
    SELECT count(*)::int AS rows FROM account_attempts WHERE attempts = 0`;
  expect(row.rows).toBe(0);
});

test('no e-mail address is stored', async ({ sql, email }) => {
  await admitAttempt(sql, passwordsFrom(email, ADDRESS));
  const rows = await sql`SELECT a::text AS stored FROM account_attempts a`;
  expect(rows).toHaveLength(3);
  expect(JSON.stringify(rows)).not.toContain(email.split('@')[0]);
});
