import type { Sql } from '../db/client.ts';
import { DEVICE_COOKIE_DAYS } from './log-in/devices.ts';
import { isLive } from './log-in/sessions.ts';

/** Longer than a limit of attempts lasts: see `admit_attempt`. */
const ATTEMPTS_KEPT_FOR = '2 days';

/**
 * For each kind of access that expires, the function that deletes it. Each deletes at most `most` rows and returns
 * how many. Most of them are also deleted when they are used again.
 */
export const EXPIRED_ACCESS = {
  signUps: (sql: Sql, most: number) => sql`
    DELETE FROM sign_ups WHERE token_hash IN (
      SELECT token_hash FROM sign_ups WHERE expires_at <= (SELECT service_now()) LIMIT ${most})`,
  links: (sql: Sql, most: number) => sql`
    DELETE FROM one_time_links WHERE token_hash IN (
      SELECT token_hash FROM one_time_links WHERE expires_at <= (SELECT service_now()) LIMIT ${most})`,
  logins: (sql: Sql, most: number) => sql`
    DELETE FROM pending_logins WHERE token_hash IN (
      SELECT token_hash FROM pending_logins WHERE expires_at <= (SELECT service_now()) LIMIT ${most})`,
  sessions: (sql: Sql, most: number) => sql`
    DELETE FROM dashboard_sessions WHERE session_id IN (
      SELECT s.session_id FROM dashboard_sessions s JOIN users u USING (user_id)
      WHERE NOT (${isLive(sql)}) LIMIT ${most})`,
  devices: (sql: Sql, most: number) => sql`
    DELETE FROM known_devices WHERE (user_id, token_hash) IN (
      SELECT user_id, token_hash FROM known_devices
      WHERE last_used_at <= (SELECT service_now()) - ${DEVICE_COOKIE_DAYS} * interval '1 day' LIMIT ${most})`,
  forms: (sql: Sql, most: number) => sql`
    DELETE FROM kept_forms WHERE (holder, path) IN (
      SELECT holder, path FROM kept_forms WHERE expires_at <= (SELECT service_now()) LIMIT ${most})`,
  attempts: (sql: Sql, most: number) => sql`
    DELETE FROM account_attempts WHERE (purpose, subject, address) IN (
      SELECT purpose, subject, address FROM account_attempts
      WHERE last_at <= (SELECT service_now()) - ${ATTEMPTS_KEPT_FOR}::interval LIMIT ${most})`,
} as const;
