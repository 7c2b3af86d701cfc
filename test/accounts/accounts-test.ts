import { expect } from 'vitest';
import type { AccountDeps, Client } from '../../src/accounts/public.ts';
import type { Mail } from '../../src/mail/public.ts';
import { letterText } from '../../src/mail/public.ts';
import { createMerchant } from '../../src/merchants/commands.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { installTestClock } from '../support/database.ts';
import { databaseTest, once } from '../support/fixtures.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { merchantUser, operatorUser } from '../support/users.ts';

export const CLIENT: Client = { address: '203.0.113.7', userAgent: 'Mozilla/5.0 (a test)' };
/** Another browser elsewhere. */
export const ELSEWHERE: Client = { address: '198.51.100.3', userAgent: 'Mozilla/5.0 (another)' };

let users = 0;
/** An e-mail address that no other test uses. */
export const newEmail = () => `user-${(users += 1)}@shop.example`;

export const tokenIn = (mail: Mail) =>
  /\/dashboard\/[a-z-]+\/([\w-]{43})\n/.exec(letterText(mail))?.[1] ?? '';

/** The `test` of a file about accounts, whose clocks are stopped at `start`. */
export function accountsTest() {
  const installed = once(installTestClock);
  const test = databaseTest()
    .extend('clock', { scope: 'file' }, ({ database }) => installed(database))
    // The first moment of a step of two-factor codes.
    .extend('start', () => Math.floor(Date.now() / 30_000) * 30_000)
    .extend('now', ({ start }) => ({ ms: start }))
    .extend('mails', (): Mail[] => [])
    .extend('deps', ({ database, now, mails }): AccountDeps => ({
      sql: database.serviceSql,
      dataBox: createSecretBox(SECRET_KEYS),
      sendMail: async (mail) => void mails.push(mail),
      publicBaseUrl: 'https://pay.example',
      nowMs: () => now.ms,
    }))
    /** Moves the clocks of the database and of two-factor codes to so many seconds after `start`. */
    .extend('at', ({ clock, start, now }) => async (seconds: number) => {
      now.ms = start + seconds * 1000;
      await clock.stopAt(new Date(now.ms));
    })
    .extend('newMerchant', ({ deps }) => async () => {
      const email = newEmail();
      const by = { sql: deps.sql, actor: TEST_ACTOR };
      const { merchantId } = await createMerchant(by, { name: 'Asha Textiles', email });
      return { merchantId, ...(await merchantUser(deps.sql, merchantId, { email })) };
    })
    .extend(
      'newOperator',
      ({ deps }) =>
        () =>
          operatorUser(deps.sql, 'finance'),
    );
  test.beforeEach(async ({ at, database }) => {
    await at(0);
    await database.sql`DELETE FROM account_attempts`;
  });
  return test;
}

/** Whether a promise is refused for having to wait. */
export async function expectTooMany(attempt: Promise<unknown>): Promise<void> {
  await expect(attempt).rejects.toMatchObject({
    code: 'TOO_MANY_REQUESTS',
    headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
  });
}
