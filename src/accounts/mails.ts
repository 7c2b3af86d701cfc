import type { Mail } from '../mail/public.ts';
import { timeText } from '../pages/format.ts';
import type { AccountDeps } from './context.ts';

type MailDeps = Pick<AccountDeps, 'publicBaseUrl'>;

/** No mail contains a text that its requester typed, because that may be a stranger. */
function mail(to: string, subject: string, ...paragraphs: Mail['paragraphs']): Mail {
  return { to, subject, paragraphs };
}

/** The link that confirms the address of a sign-up. */
export function confirmationMail({ publicBaseUrl }: MailDeps, to: string, token: string): Mail {
  return mail(
    to,
    'Confirm your e-mail address',
    'Open this link within 24 hours, and enter the password that you chose:',
    { label: 'Confirm the address', url: `${publicBaseUrl}/dashboard/confirm-email/${token}` },
    'If you did not sign up, ignore this mail: without the link no account is created.',
  );
}

/** Mailed when someone signs up with the address of an existing account. */
export function accountExistsMail({ publicBaseUrl }: MailDeps, to: string): Mail {
  return mail(
    to,
    'You already have an account',
    'This address was used to sign up, but it already has an account. Log in here:',
    { label: 'Log in', url: `${publicBaseUrl}/dashboard/login` },
    'If you have forgotten the password, set a new one here:',
    { label: 'Set a new password', url: `${publicBaseUrl}/dashboard/forgot-password` },
    'If you did not sign up, ignore this mail: nothing has changed.',
  );
}

export function resetMail({ publicBaseUrl }: MailDeps, to: string, token: string): Mail {
  return mail(
    to,
    'Set a new password',
    'Open this link within 30 minutes to set a new password. It works once:',
    { label: 'Set a new password', url: `${publicBaseUrl}/dashboard/reset-password/${token}` },
    'If you did not ask for it, ignore this mail: your password stays as it is.',
  );
}

/** Mailed when someone asks for a new password of an address that has no account. */
export function noAccountMail({ publicBaseUrl }: MailDeps, to: string): Mail {
  return mail(
    to,
    'There is no account with this address',
    'A new password was requested for this address, but it has no account. You may have signed up with another address, or not yet:',
    { label: 'Sign up', url: `${publicBaseUrl}/dashboard/sign-up` },
    'If you did not ask for it, ignore this mail.',
  );
}

/** The link with which an invited operator sets a password. */
export function invitationMail(to: string, link: string): Mail {
  return mail(
    to,
    'You are invited as an operator',
    'Open this link within 24 hours to set your password. It works once:',
    { label: 'Set your password', url: link },
    'The second factor is set up after it. If you were an operator before, your old password and second factor no longer work.',
  );
}

const CHANGES = {
  'password.change': 'Your password was changed. All other sessions have ended.',
  'password.reset': 'A new password was set by a link from this mailbox. All sessions have ended.',
  'two_factor.enable': 'Two-factor authentication was switched on. All other sessions have ended.',
  'two_factor.disable': 'Two-factor authentication was switched off.',
  'two_factor.reset':
    'An operator switched off two-factor authentication of your account. All sessions have ended.',
  'session.end': 'A session of your account was ended on its page.',
  'recovery_codes.create': 'New recovery codes were made. The old ones no longer work.',
  'recovery_codes.use':
    'A recovery code was used instead of a two-factor code. It does not work again.',
} as const;

export type AccountChange = keyof typeof CHANGES;

/**
 * Reports a log-in with a browser that the user has not used before. The mail quotes nothing that the browser sent,
 * such as its User-Agent.
 */
export function newDeviceMail(
  { publicBaseUrl }: MailDeps,
  to: string,
  { address, at }: { address: string; at: Date },
): Mail {
  return mail(
    to,
    'A log-in from a new device',
    'Somebody has logged in to your account with a browser that it was not used with before.',
    {
      facts: [
        ['When', timeText(at)],
        ['Address', address],
      ],
    },
    'If it was you, there is nothing to do. If not, set a new password now, which ends all sessions:',
    { label: 'Set a new password', url: `${publicBaseUrl}/dashboard/forgot-password` },
  );
}

export function noticeMail({ publicBaseUrl }: MailDeps, to: string, change: AccountChange): Mail {
  return mail(
    to,
    'Your account was changed',
    CHANGES[change],
    'If it was not you, set a new password now:',
    { label: 'Set a new password', url: `${publicBaseUrl}/dashboard/forgot-password` },
  );
}
