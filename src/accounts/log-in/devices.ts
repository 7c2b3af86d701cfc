import type { AccountDeps, Client } from '../context.ts';
import { newDeviceMail } from '../mails.ts';
import { hashOfToken } from '../tokens.ts';
import type { UserRow } from '../people/users.ts';

/** Identifies a browser that has logged in before. It replaces no password. */
export const DEVICE_COOKIE = '__Host-device';

/** The longest time for which browsers keep a cookie. */
export const DEVICE_COOKIE_DAYS = 400;

/**
 * Mails a user about a log-in from a browser that the user has not logged in with before, and remembers the browser.
 * The first browser of a user is not mailed. Call it before the session is made: if the process dies between the
 * two, the user has a mail about a log-in that did not happen, but never a log-in without a mail.
 */
export async function noticeDevice(
  deps: AccountDeps,
  { userId, email }: Pick<UserRow, 'userId' | 'email'>,
  { deviceToken, address }: Client,
): Promise<void> {
  const { sql } = deps;
  const hash = deviceToken === undefined ? null : hashOfToken(deviceToken);
  const [found] = await sql<[{ isKnown: boolean; isFirst: boolean; now: Date }]>`
    SELECT count(*) FILTER (WHERE token_hash = ${hash}) > 0 AS is_known, count(*) = 0 AS is_first,
      service_now() AS now
    FROM known_devices WHERE user_id = ${userId}`;
  if (!found.isKnown && !found.isFirst) {
    await deps.sendMail(newDeviceMail(deps, email, { address, at: found.now }));
  }
  if (hash === null) return;
  await sql`
    INSERT INTO known_devices (user_id, token_hash) VALUES (${userId}, ${hash})
    ON CONFLICT (user_id, token_hash) DO UPDATE SET last_used_at = excluded.last_used_at`;
}
