import type { Sql } from '../../db/client.ts';
import { networksOf } from '../../http/limits/client-ip.ts';

/** The client that tries a password or a code, and how it relates to the account. */
export interface Attempter {
  address: string;
  /**
   * `known`: the account was logged in to from the same IPv4 address or IPv6 /64 within 30 days. `operator`: the
   * same, for an operator's account. `unknown`: any other address, also for an account that does not exist, so that
   * the answers to a flood of guesses do not show which accounts exist or are operators'.
   */
  standing: 'unknown' | 'known' | 'operator';
}

const KNOWN_FOR = '30 days';

/**
 * Finds how the client at an address relates to the account of an e-mail address.
 *
 * @param email as it is stored: see `emailKeyOf`
 */
export async function readAttempter(sql: Sql, email: string, address: string): Promise<Attempter> {
  const logins = await sql<{ address: string; isOperator: boolean }[]>`
    SELECT DISTINCT a.address, u.operator_role IS NOT NULL AS is_operator
    FROM users u JOIN audit_log a ON a.subject = u.user_id
    WHERE u.email = ${email} AND u.disabled_at IS NULL
      AND a.action = 'session.create' AND a.at > service_now() - ${KNOWN_FOR}::interval
      AND a.address IS NOT NULL`;
  const [{ key }] = networksOf(address);
  const known = logins.find((login) => networksOf(login.address)[0].key === key);
  if (!known) return { address, standing: 'unknown' };
  return { address, standing: known.isOperator ? 'operator' : 'known' };
}
