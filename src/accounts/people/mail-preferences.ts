import type { Alongside } from '../../db/client.ts';
import { alongsideQuery, andAlongside } from '../../db/client.ts';
import type { AccountDeps } from '../context.ts';
import { auditNameOf } from './users.ts';

export async function readMutedMails(
  { sql }: Pick<AccountDeps, 'sql'>,
  userId: string,
): Promise<string[]> {
  const [row] = await sql<{ mutedMails: string[] }[]>`
    SELECT muted_mails FROM users WHERE user_id = ${userId}`;
  return row?.mutedMails ?? [];
}

/**
 * Replaces the kinds of mails that a user has switched off.
 *
 * @param alongside a statement that runs in the same one
 * @param kinds never those about money or security
 */
export async function writeMutedMails(
  { sql, alongside }: Pick<AccountDeps, 'sql'> & { alongside?: Alongside | undefined },
  { userId, address }: { userId: string; address: string },
  kinds: readonly string[],
): Promise<void> {
  await sql`
    WITH changed AS (
      UPDATE users SET muted_mails = ${[...kinds]} WHERE user_id = ${userId} RETURNING *
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${auditNameOf(sql)}, ${address}, 'mails.choose', u.merchant_id, u.user_id,
        ${sql.json({ switchedOff: [...kinds] })}
      FROM changed u
    ) ${alongsideQuery(sql, alongside, 'changed')}
    SELECT FROM changed ${andAlongside(sql, alongside)}`;
}
