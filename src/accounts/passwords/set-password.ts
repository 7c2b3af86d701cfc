import type { Sql } from '../../db/client.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { readAttempter } from '../log-in/attempter.ts';
import { admitAttempt, forgetAttempts, passwordLimits } from '../log-in/attempts.ts';
import type { AccountDeps, Client } from '../context.ts';
import { refusalOfPassword } from './password-rules.ts';
import { verifyPassword } from './passwords.ts';
import type { SignedInUser } from '../log-in/sessions.ts';
import type { UserRow } from '../people/users.ts';
import { requireUser } from '../people/users.ts';

/** @throws ValidationError unless the new password is acceptable for an account with these names */
export function assertNewPassword(newPassword: string, names: readonly (string | null)[]): void {
  const refusal = refusalOfPassword(
    newPassword,
    names.filter((name) => name !== null),
  );
  if (refusal !== undefined) throw new ValidationError({ newPassword: refusal });
}

/**
 * Checks the password of the signed-in user, before a change of how the account is protected.
 *
 * @throws ValidationError for a wrong password
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function requirePassword(
  { sql }: Pick<AccountDeps, 'sql'>,
  { userId, email }: Pick<SignedInUser, 'userId' | 'email'>,
  password: string,
  { address }: Client,
): Promise<UserRow> {
  const attempter = await readAttempter(sql, email, address);
  const limits = passwordLimits(email, attempter);
  await admitAttempt(sql, limits);
  const user = await requireUser(sql, userId);
  if (!(await verifyPassword(password, user.passwordHash, attempter))) {
    throw new ValidationError({ password: 'This is not your password' });
  }
  await forgetAttempts(sql, limits);
  return user;
}

/**
 * The statements that end every session of a user, and every login that waits for its code. They run after a
 * password was set or a second factor added.
 */
export const endingAccess = (sql: Sql) => sql`
  sessions AS (DELETE FROM dashboard_sessions s USING changed WHERE s.user_id = changed.user_id),
  logins AS (DELETE FROM pending_logins p USING changed WHERE p.user_id = changed.user_id)`;
