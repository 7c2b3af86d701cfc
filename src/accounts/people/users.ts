import type { Sql } from '../../db/client.ts';
import type { OperatorRole } from './permissions.ts';

/** A user as the accounts themselves read it. */
export interface UserRow {
  userId: string;
  email: string;
  merchantId: string | null;
  operatorRole: OperatorRole | null;
  passwordHash: string | null;
  totpSecretSealed: string | null;
  totpConfirmedAt: Date | null;
}

/**
 * An e-mail address as it is stored and compared. PostgreSQL text cannot contain NUL, and no address
 * has one.
 */
export function emailKeyOf(typed: string): string {
  return typed.trim().toLowerCase().replaceAll('\0', '\uFFFD').toWellFormed();
}

/** The user with this e-mail address, if there is one who may sign in. */
export async function findUserByEmail(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`
    SELECT * FROM users WHERE email = ${emailKeyOf(email)} AND disabled_at IS NULL`;
  return user;
}

/** The user with this id. @throws Error if there is none who may sign in */
export async function requireUser(sql: Sql, userId: string): Promise<UserRow> {
  const [user] = await sql<UserRow[]>`
    SELECT * FROM users WHERE user_id = ${userId} AND disabled_at IS NULL`;
  if (!user) throw new Error(`No user ${userId} may sign in`);
  return user;
}

/** How the audit log names user `u`. */
export const auditNameOf = (sql: Sql) => sql`
  (CASE WHEN u.operator_role IS NULL THEN 'merchant:' ELSE 'operator:' END || u.email)`;
