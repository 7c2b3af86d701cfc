import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import type { OperatorRole } from './permissions.ts';

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
 * Normalises an e-mail address to the form that is stored and compared. It removes NUL, which PostgreSQL's text
 * cannot contain and no address has.
 */
export function emailKeyOf(typed: string): string {
  return typed.trim().toLowerCase().replaceAll('\0', '\uFFFD').toWellFormed();
}

export const isEmailAddress = (text: string): boolean => z.email().max(254).safeParse(text).success;

/** The stored form of an e-mail address. @throws ValidationError for a text that is no address */
export function parseAddress(typed: string): string {
  const email = emailKeyOf(typed);
  if (isEmailAddress(email)) return email;
  throw new ValidationError({ email: 'email must be a valid email address' });
}

/** Finds the user with this e-mail address who may sign in. */
export async function findUserByEmail(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`
    SELECT * FROM users WHERE email = ${emailKeyOf(email)} AND disabled_at IS NULL`;
  return user;
}

/** Finds the user with this id. @throws Error if there is none who may sign in */
export async function requireUser(sql: Sql, userId: string): Promise<UserRow> {
  const [user] = await sql<UserRow[]>`
    SELECT * FROM users WHERE user_id = ${userId} AND disabled_at IS NULL`;
  if (!user) throw new Error(`No user ${userId} may sign in`);
  return user;
}

/** SQL for the name of user `u` in the audit log. */
export const auditNameOf = (sql: Sql) => sql`
  (CASE WHEN u.operator_role IS NULL THEN 'merchant:' ELSE 'operator:' END || u.email)`;

export interface NamedUser {
  userId: string;
  email: string;
  isOperator: boolean;
}

/** Finds the users with these ids, also those who may no longer sign in. */
export async function findNamedUsers(sql: Sql, userIds: readonly string[]): Promise<NamedUser[]> {
  if (userIds.length === 0) return [];
  return sql<NamedUser[]>`
    SELECT user_id, email, operator_role IS NOT NULL AS is_operator FROM users
    WHERE user_id = ANY (${[...userIds]})`;
}

/** The audit log's name for the user with this address. An address without a user is named like an operator. */
export async function auditNameOfEmail(sql: Sql, email: string): Promise<string> {
  const [user] = await sql<{ name: string }[]>`
    SELECT ${auditNameOf(sql)} AS name FROM users u WHERE u.email = ${emailKeyOf(email)}`;
  return user?.name ?? `operator:${emailKeyOf(email)}`;
}
