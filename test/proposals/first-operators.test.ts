import { expect } from 'vitest';
import { adminCli } from '../support/admin-cli.ts';
import { databaseTest } from '../support/fixtures.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { mailsTo } from '../support/mails.ts';
import { operatorUser } from '../support/users.ts';

const test = databaseTest().extend('cli', { scope: 'file' }, ({ database }) =>
  adminCli({ DATABASE_URL: database.url, DATA_ENCRYPTION_KEYS: SECRET_KEYS }),
);
const create = (email: string) => ['operator', 'create', '--email', email, '--role', 'admin'];

test('the first operators need no proposal until two admins have confirmed a second factor, and never again', async ({
  database: { sql },
  cli,
}) => {
  for (const email of ['one@ops.example', 'two@ops.example', 'three@ops.example']) {
    const link = expect.stringContaining('/dashboard/invitation/');
    expect(await cli.json(...create(email))).toMatchObject({ email, link });
    expect(await mailsTo(sql, email)).toEqual([]);
  }
  const first = await operatorUser(sql, 'admin');
  await operatorUser(sql, 'finance');
  // From now on the link is mailed, and never printed again.
  expect(await cli.json(...create('four@ops.example'))).toMatchObject({ link: null });
  expect(await mailsTo(sql, 'four@ops.example')).toHaveLength(1);
  const second = await operatorUser(sql, 'admin', { hasTwoFactor: false });
  expect(await cli.json(...create('five@ops.example'))).toBeDefined();
  await sql`UPDATE users SET totp_secret_sealed = 'x', totp_confirmed_at = now()
    WHERE user_id = ${second.userId}`;
  expect(await cli.refusal(...create('six@ops.example'))).toContain('needs two operators');
  await sql`UPDATE users SET disabled_at = now(), totp_secret_sealed = NULL, totp_confirmed_at = NULL
    WHERE user_id IN (${first.userId}, ${second.userId})`;
  expect(await cli.refusal(...create('six@ops.example'))).toContain('needs two operators');
  expect(await sql`SELECT FROM users WHERE email = 'six@ops.example'`).toHaveLength(0);
});
