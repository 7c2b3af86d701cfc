import type { Actor } from '../../db/actor.ts';
import { DomainError } from '../../domain/index.ts';
import type { AccountDeps } from '../context.ts';
import type { Attempter } from '../log-in/attempter.ts';
import { admitAttempt, codeLimits, forgetAttempts, passwordLimits } from '../log-in/attempts.ts';
import { verifyPassword } from '../passwords/passwords.ts';
import { acceptSecondFactor } from '../two-factor/second-factor.ts';
import type { OperatorRole } from './permissions.ts';
import { emailKeyOf, findUserByEmail } from './users.ts';

/** All attempts on the command line share the limits of one address that operators log in from. */
const COMMAND_LINE: Attempter = { address: 'command line', standing: 'operator' };

export interface ProvenOperator {
  userId: string;
  email: string;
  role: OperatorRole;
}

/**
 * Checks the password and the second factor of an operator who acts on the command line. A refusal is recorded in
 * the audit log.
 *
 * @param actor the person at the command line, as the audit log names them
 * @throws DomainError `BAD_REQUEST` if address, password or code is wrong
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function proveOperator(
  deps: Pick<AccountDeps, 'sql' | 'dataBox' | 'nowMs'>,
  given: { email: string; password: string; code: string },
  actor: Actor,
): Promise<ProvenOperator> {
  const { sql } = deps;
  const email = emailKeyOf(given.email);
  const ofPassword = passwordLimits(email, COMMAND_LINE);
  await admitAttempt(sql, ofPassword);
  const user = await findUserByEmail(sql, email);
  const isRight = await verifyPassword(given.password, user?.passwordHash ?? null, COMMAND_LINE);
  const role = user?.operatorRole ?? null;
  if (!user || !isRight || role === null || user.totpConfirmedAt === null) {
    return refuse(deps, user?.userId, actor);
  }
  const ofCode = codeLimits(user.userId, COMMAND_LINE);
  await admitAttempt(sql, ofCode);
  if (!(await acceptSecondFactor(deps, user, given.code))) return refuse(deps, user.userId, actor);
  await forgetAttempts(sql, [...ofPassword, ...ofCode]);
  return { userId: user.userId, email, role };
}

async function refuse(
  { sql }: Pick<AccountDeps, 'sql'>,
  userId: string | undefined,
  { name, address }: Actor,
): Promise<never> {
  await sql`
    INSERT INTO audit_log (actor, address, action, subject)
    VALUES (${name}, ${address}, 'break-glass.refuse', ${userId ?? null})`;
  const message = 'The e-mail address, the password or the code is wrong, or it is no operator';
  throw new DomainError('BAD_REQUEST', message);
}
