import { randomBytes } from 'node:crypto';
import { forgetAttempts, linkLimits } from '../../src/accounts/log-in/attempts.ts';
import { acceptInvitation } from '../../src/accounts/people/links.ts';
import type { AccountDeps, Client } from '../../src/accounts/context.ts';
import { createOperator, inviteMerchant } from '../../src/accounts/people/invitations.ts';
import type { UserAdminDeps } from '../../src/accounts/people/operators.ts';
import { resetTwoFactor } from '../../src/accounts/people/operators.ts';
import { hashPassword, verifyPassword } from '../../src/accounts/passwords/passwords.ts';
import { openTotpSecret, totpOf } from '../../src/accounts/two-factor/second-factor.ts';
import type { SignedInUser } from '../../src/accounts/log-in/sessions.ts';
import { createSession, endSession, readSession } from '../../src/accounts/log-in/sessions.ts';
import {
  confirmTwoFactor,
  readTwoFactorSetUp,
  startTwoFactor,
} from '../../src/accounts/two-factor/two-factor.ts';
import { openMail } from '../../src/mail/content.ts';
import { letterText } from '../../src/mail/public.ts';
import { findUserByEmail } from '../../src/accounts/people/users.ts';
import { SealError } from '../../src/secret-box.ts';
import type { DemoOperator, DemoUser } from '../dev-facts.ts';

/** What the demo users are made with: the accounts' own, and no mail server. */
export type DemoUserDeps = Omit<AccountDeps, 'sendMail'> & UserAdminDeps;

/** The e-mail addresses of the demo operators, so that one can approve what the other one proposes. */
export const OPERATOR_EMAILS = ['operator@example.com', 'operator-2@example.com'] as const;

const CLIENT: Client = { address: '127.0.0.1', userAgent: 'npm start' };
const CODE_PERIOD_MS = 30_000;

const newPassword = () => randomBytes(12).toString('base64url');

const tokenIn = (text: string) => /\/dashboard\/[\w-]+\/([\w-]+)/.exec(text)?.[1] ?? '';

/** Accepts an invitation with a new password. */
async function accept(deps: DemoUserDeps, link: string): Promise<string> {
  const password = newPassword();
  const token = await acceptInvitation(withoutMails(deps), tokenIn(link), password, CLIENT);
  await endSessionOf(deps, token);
  // Starts do not count as attempts: with many of them, the next one would have to wait.
  await forgetAttempts(deps.sql, linkLimits(CLIENT.address));
  return password;
}

/** The owner of the mails of demo users is this machine: nothing has to be sent. */
const withoutMails = (deps: DemoUserDeps): AccountDeps & UserAdminDeps => ({
  ...deps,
  sendMail: async () => {},
});

async function endSessionOf(deps: DemoUserDeps, token: string): Promise<void> {
  const { userId, sessionId } = await requireSession(deps, token);
  await endSession(deps, userId, sessionId, CLIENT.address);
}

async function requireSession(deps: DemoUserDeps, token: string): Promise<SignedInUser> {
  const user = await readSession(deps, token);
  if (!user) throw new Error('The session of a demo user has ended');
  return user;
}

/** Sets a new password of a user whose one is no longer known. */
async function renewPassword({ sql }: DemoUserDeps, email: string): Promise<string> {
  const password = newPassword();
  const passwordHash = await hashPassword(password);
  await sql`UPDATE users SET password_hash = ${passwordHash} WHERE email = ${email}`;
  return password;
}

/**
 * The password of a user: the one from before if it is still valid, or a new one.
 *
 * @param invite invites a user who does not exist, or has no password yet
 */
async function passwordOf(
  deps: DemoUserDeps,
  { email, known }: { email: string; known: DemoUser | undefined },
  invite: () => Promise<{ link: string }>,
): Promise<string> {
  const user = await findUserByEmail(deps.sql, email);
  if (!user?.passwordHash) return accept(deps, (await invite()).link);
  const isValid =
    known?.email === email && (await verifyPassword(known.password, user.passwordHash));
  return isValid ? known.password : renewPassword(deps, email);
}

/** Creates the user of the demo merchant unless there is one. */
export async function ensureMerchantUser(
  deps: DemoUserDeps,
  merchant: { merchantId: string; email: string },
  known: DemoUser | undefined,
): Promise<DemoUser> {
  const { merchantId, email } = merchant;
  const invite = () => inviteMerchant(deps, merchantId);
  return { email, password: await passwordOf(deps, { email, known }, invite) };
}

/** Creates a demo operator unless there is one, with two-factor set up. */
export async function ensureOperator(
  deps: DemoUserDeps,
  email: (typeof OPERATOR_EMAILS)[number],
  known: DemoOperator | undefined,
): Promise<DemoOperator> {
  const invite = () => inviteOperator(deps, email);
  const password = await passwordOf(deps, { email, known }, invite);
  return { email, password, totpSecret: await totpSecretOf(deps, { email, password }) };
}

/** Invites a demo operator, and takes the link out of the mail, if it is mailed. */
async function inviteOperator(deps: DemoUserDeps, email: string): Promise<{ link: string }> {
  const { sql, dataBox: mailBox } = deps;
  const { link, mail } = await createOperator({ ...deps, mailBox }, { email, role: 'admin' });
  if (mail === null) return { link: link ?? '' };
  await sql`DELETE FROM mails WHERE mail_id = ${mail.mailId}`;
  return { link: letterText(openMail(mailBox, mail.mailId, mail.sealed)) };
}

/** The secret of the operator's two-factor codes, which are set up unless they are. */
async function totpSecretOf(deps: DemoUserDeps, { email, password }: DemoUser): Promise<string> {
  const user = await findUserByEmail(deps.sql, email);
  if (!user) throw new Error(`There is no user ${email}`);
  const { userId, totpSecretSealed, totpConfirmedAt } = user;
  if (totpSecretSealed === null || totpConfirmedAt === null) {
    return setUpTwoFactor(deps, userId, password);
  }
  try {
    return openTotpSecret(withoutMails(deps), userId, totpSecretSealed);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const { mailId } = await resetTwoFactor({ ...deps, mailBox: deps.dataBox }, email);
    await deps.sql`DELETE FROM mails WHERE mail_id = ${mailId}`;
    return setUpTwoFactor(deps, userId, password);
  }
}

async function setUpTwoFactor(
  demo: DemoUserDeps,
  userId: string,
  password: string,
): Promise<string> {
  // One moment for the code and its check.
  const nowMs = demo.nowMs();
  const deps = { ...withoutMails(demo), nowMs: () => nowMs };
  const user = await requireSession(demo, await createSession(deps, userId, CLIENT));
  await startTwoFactor(deps, user);
  const { secret = '' } = (await readTwoFactorSetUp(deps, user)) ?? {};
  // The code before the current one, which stays valid for the first login.
  const code = codeOf({ email: user.email, totpSecret: secret }, nowMs - CODE_PERIOD_MS);
  const { sessionToken } = await confirmTwoFactor(deps, user, { password, code }, CLIENT);
  await endSessionOf(demo, sessionToken);
  return secret;
}

/** The six-digit code of an operator at a time. */
function codeOf(
  { email, totpSecret }: Pick<DemoOperator, 'email' | 'totpSecret'>,
  timestampMs: number,
): string {
  return totpOf(totpSecret, email).generate({ timestamp: timestampMs });
}

/** The current six-digit code of an operator. */
export function currentCode(operator: Pick<DemoOperator, 'email' | 'totpSecret'>) {
  const nowMs = Date.now();
  return {
    email: operator.email,
    code: codeOf(operator, nowMs),
    validForSeconds: Math.ceil((CODE_PERIOD_MS - (nowMs % CODE_PERIOD_MS)) / 1000),
  };
}
