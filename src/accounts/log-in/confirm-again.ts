import { DomainError } from '../../domain/index.ts';
import type { AccountDeps, Client } from '../context.ts';
import { noticeMail } from '../mails.ts';
import { auditNameOf } from '../people/users.ts';
import type { GivenAgain } from '../two-factor/two-factor.ts';
import { requireBoth } from '../two-factor/two-factor.ts';
import type { SignedInUser } from './sessions.ts';

/**
 * Confirms the session of a signed-in user with the password and, if set up, the second factor. For ten minutes, no
 * page asks for both again.
 *
 * @throws ValidationError for a wrong password or code
 * @throws DomainError INVALID_STATE if the session has ended meanwhile
 * @throws HttpRefusal TOO_MANY_REQUESTS, with the limits of a login
 */
export async function confirmAgain(
  deps: AccountDeps,
  user: SignedInUser,
  given: GivenAgain,
  client: Client,
): Promise<void> {
  const { sql } = deps;
  const { factor } = await requireBoth(deps, user, given, client);
  const details = { sessionId: user.sessionId, secondFactor: factor };
  const confirmed = await sql`
    WITH confirmed AS (
      UPDATE dashboard_sessions SET confirmed_at = service_now()
      WHERE session_id = ${user.sessionId} AND user_id = ${user.userId} RETURNING user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${auditNameOf(sql)}, ${client.address}, 'session.confirm', u.merchant_id, u.user_id,
        ${sql.json(details)}
      FROM confirmed JOIN users u USING (user_id)
    )
    SELECT FROM confirmed`;
  if (confirmed.length === 0) {
    throw new DomainError('INVALID_STATE', 'Your session has ended: log in again');
  }
  if (factor === 'recovery_code') {
    await deps.sendMail(noticeMail(deps, user.email, 'recovery_codes.use'));
  }
}
