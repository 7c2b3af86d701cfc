import { DomainError } from '../../domain/index.ts';
import type { AccountDeps, Client } from '../context.ts';
import type { SignedInUser } from '../log-in/sessions.ts';
import { createSession } from '../log-in/sessions.ts';
import { noticeMail } from '../mails.ts';
import { auditNameOf } from '../people/users.ts';
import type { GivenAgain } from '../two-factor/two-factor.ts';
import { requireBoth } from '../two-factor/two-factor.ts';
import { hashPassword } from './passwords.ts';
import { assertNewPassword, endingAccess } from './set-password.ts';

/**
 * Changes the password of the signed-in user, who gives the old one and, if set up, the second factor. All
 * sessions end; this browser gets a new one.
 *
 * @returns the token for the session's cookie
 * @throws ValidationError for a wrong password or code, or a new password that is easy to guess
 * @throws DomainError INVALID_STATE if the password was reset meanwhile
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function changePassword(
  deps: AccountDeps,
  user: SignedInUser,
  {
    newPassword,
    password,
    code = '',
  }: Partial<GivenAgain> & { password: string; newPassword: string },
  client: Client,
): Promise<string> {
  const { sql } = deps;
  assertNewPassword(newPassword, [user.email, user.merchantName]);
  const { factor, row } = await requireBoth(deps, user, { password, code }, client);
  const passwordHash = await hashPassword(newPassword);
  // The hash waits in a queue: meanwhile the password may have been reset.
  const changed = await sql`
    WITH changed AS (
      UPDATE users SET password_hash = ${passwordHash}
      WHERE user_id = ${user.userId} AND password_hash = ${row.passwordHash} RETURNING *
    ), ${endingAccess(sql)}, links AS (
      DELETE FROM one_time_links l USING changed WHERE l.user_id = changed.user_id
    )
    INSERT INTO audit_log (actor, address, action, merchant_id, subject)
    SELECT ${auditNameOf(sql)}, ${client.address}, 'password.change', u.merchant_id, u.user_id
    FROM changed u RETURNING 1`;
  if (changed.length === 0) {
    throw new DomainError('INVALID_STATE', 'Your password was reset meanwhile: log in again');
  }
  await deps.sendMail(noticeMail(deps, user.email, 'password.change'));
  return createSession(deps, user.userId, client, {
    ...(factor && { secondFactor: factor }),
    hasPassword: true,
  });
}
