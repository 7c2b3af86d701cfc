import { ulid } from 'ulid';
import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { checkPart } from '../../http/input/validation.ts';
import { newMerchantSchema } from '../../merchants/public.ts';
import {
  admitAttempt,
  admitMail,
  forgetAttempts,
  linkLimits,
  mailLimits,
} from '../log-in/attempts.ts';
import type { AccountDeps, Client } from '../context.ts';
import { accountExistsMail, confirmationMail } from '../mails.ts';
import { refusalOfPassword } from '../passwords/password-rules.ts';
import { hashPassword, verifyPassword } from '../passwords/passwords.ts';
import { createSession } from '../log-in/sessions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { emailKeyOf } from './users.ts';

const LINK_VALID_FOR = '24 hours';

export interface SignUp {
  email: string;
  password: string;
  /** The name that buyers see. */
  businessName: string;
}

const signUpSchema = z.object({
  email: z
    .string('Enter your e-mail address')
    .transform(emailKeyOf)
    .pipe(newMerchantSchema.shape.email),
  businessName: newMerchantSchema.shape.name,
  password: z.string('Choose a password'),
});

/** @throws ValidationError */
function parseSignUp(given: SignUp): SignUp {
  const violations = new Map<string, string>();
  const parsed = checkPart(signUpSchema, given, violations) as SignUp | undefined;
  const names = [given.email, given.businessName];
  const refusal = refusalOfPassword(given.password, names);
  if (refusal !== undefined && !violations.has('password')) violations.set('password', refusal);
  if (!parsed || violations.size > 0) throw new ValidationError(Object.fromEntries(violations));
  return parsed;
}

/**
 * Signs a merchant up: sends a link that confirms the e-mail address. An address that has an account gets another
 * mail; answer and work are the same, so that they do not show which addresses have accounts.
 *
 * @throws ValidationError for what is wrong with the form
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function signUp(deps: AccountDeps, given: SignUp, client: Client): Promise<void> {
  const { sql } = deps;
  const { email, password, businessName } = parseSignUp(given);
  await admitAttempt(sql, linkLimits(client.address));
  const token = newToken();
  const passwordHash = await hashPassword(password);
  const [row] = await sql<[{ hasAccount: boolean }]>`
    WITH expired AS (
      DELETE FROM sign_ups WHERE expires_at <= (SELECT service_now())
    ), created AS (
      INSERT INTO sign_ups (token_hash, email, business_name, password_hash, expires_at)
      VALUES (${hashOfToken(token)}, ${email}, ${businessName}, ${passwordHash},
        service_now() + ${LINK_VALID_FOR}::interval)
    )
    SELECT EXISTS (SELECT FROM users WHERE email = ${email}) AS has_account`;
  // For an address that has an account, the link is not sent.
  const mail = row.hasAccount
    ? accountExistsMail(deps, email)
    : confirmationMail(deps, email, token);
  if (await admitMail(sql, mailLimits('sign_up', email, client.address))) await deps.sendMail(mail);
}

export interface WaitingSignUp {
  email: string;
  businessName: string;
}

interface SignUpRow extends WaitingSignUp {
  passwordHash: string;
}

/** Finds the sign-up of a link. @throws DomainError NOT_FOUND */
async function requireSignUp(sql: Sql, token: string): Promise<SignUpRow> {
  const [row] = await sql<SignUpRow[]>`
    SELECT email, business_name, password_hash FROM sign_ups
    WHERE token_hash = ${hashOfToken(token)} AND expires_at > service_now()`;
  if (row) return row;
  const message = 'This link has expired or was already used: log in, or sign up again';
  throw new DomainError('NOT_FOUND', message);
}

/**
 * Finds the sign-up that a link confirms. It does not use the link up, because mail scanners open links.
 *
 * @throws DomainError NOT_FOUND
 */
export async function findSignUp({ sql }: AccountDeps, token: string): Promise<WaitingSignUp> {
  const { email, businessName } = await requireSignUp(sql, token);
  return { email, businessName };
}

/**
 * Confirms the e-mail address of a sign-up, creates the merchant with its user, and signs the user in. It requires
 * the password: otherwise the owner of an address could confirm, by mistake, an account whose password a stranger
 * has chosen.
 *
 * @returns the token for the session's cookie
 * @throws DomainError NOT_FOUND, INVALID_STATE when the address has got an account meanwhile
 * @throws ValidationError for a wrong password
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function confirmSignUp(
  deps: AccountDeps,
  token: string,
  password: string,
  client: Client,
): Promise<string> {
  const { sql } = deps;
  const limits = linkLimits(client.address);
  await admitAttempt(sql, limits);
  const waiting = await requireSignUp(sql, token);
  if (!(await verifyPassword(password, waiting.passwordHash))) {
    throw new ValidationError({ password: 'This is not the password that you signed up with' });
  }
  const userId = await createMerchantUser(sql, token, client);
  await forgetAttempts(sql, limits);
  return createSession(deps, userId, client, { hasPassword: true });
}

/**
 * Creates the merchant and its user and uses up the link, in one statement. Other sign-ups of the same address stay
 * until they expire, and are refused: deleting them here could deadlock with their own confirmation.
 */
async function createMerchantUser(sql: Sql, token: string, client: Client): Promise<string> {
  const merchantId = `mer_${ulid()}`;
  const userId = `usr_${ulid()}`;
  const created = await sql`
    WITH confirmed AS (
      DELETE FROM sign_ups WHERE token_hash = ${hashOfToken(token)} AND expires_at > service_now()
      RETURNING *
    ), created AS (
      INSERT INTO users (user_id, email, merchant_id, password_hash)
      SELECT ${userId}, email, ${merchantId}, password_hash FROM confirmed
      ON CONFLICT (email) DO NOTHING
      RETURNING user_id, merchant_id, email
    ), merchant AS (
      INSERT INTO merchants (merchant_id, name, email)
      SELECT merchant_id, business_name, email FROM created JOIN confirmed USING (email)
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT 'merchant:' || email, ${client.address}, action, merchant_id, user_id
      FROM created, unnest(ARRAY['merchant.create', 'user.create']) AS action
    )
    SELECT FROM created`;
  if (created.length > 0) return userId;
  throw new DomainError('INVALID_STATE', 'This e-mail address already has an account: log in');
}
