import { timeText } from '../pages/format.ts';

/** What the mail about a merchant's account says. */
export interface AccountMail {
  subject: string;
  text: string;
}

/** A change of the account that a merchant is paid out to in production. */
export interface AccountNotice {
  merchantName: string;
  gateway: string;
  /** The account that is set. */
  linkedAccountId: string;
  activeId: string | null;
  /** The account that was to become active. */
  waitingId: string | null;
  /** When the account that is set becomes active. */
  activeFrom: Date;
}

/** Enough to recognise an account, and nothing to a stranger who reads the mail. */
const lastFour = (linkedAccountId: string) => `•••• ${linkedAccountId.slice(-4)}`;

function firstAccount({ gateway, linkedAccountId }: AccountNotice): AccountMail {
  return {
    subject: 'The account that you are paid out to is set',
    text: `The money of your orders in production goes to your account ${lastFour(linkedAccountId)} at ${gateway}.`,
  };
}

function changedAccount(notice: AccountNotice, activeId: string): AccountMail {
  const { gateway, linkedAccountId, activeFrom } = notice;
  const at = timeText(activeFrom);
  return {
    subject: 'The account that you are paid out to changes',
    text:
      `Your account at ${gateway} changes from ${lastFour(activeId)} to ${lastFour(linkedAccountId)} on ${at}. ` +
      `What buyers pay in production until then goes to ${lastFour(activeId)}, also if it is released later.`,
  };
}

function withdrawnChange(notice: AccountNotice, waitingId: string): AccountMail {
  const { gateway, linkedAccountId } = notice;
  return {
    subject: 'The account that you are paid out to does not change',
    text: `The change to the account ${lastFour(waitingId)} at ${gateway} is withdrawn. The money of your orders in production goes to ${lastFour(linkedAccountId)}, as before.`,
  };
}

function contentOf(notice: AccountNotice): AccountMail | null {
  const { linkedAccountId, activeId, waitingId } = notice;
  if (activeId === null) return firstAccount(notice);
  if (linkedAccountId === waitingId) return null;
  if (linkedAccountId !== activeId) return changedAccount(notice, activeId);
  return waitingId === null ? null : withdrawnChange(notice, waitingId);
}

/**
 * The mail to a merchant about the account that it is paid out to.
 *
 * @param publicBaseUrl where the merchant reaches its dashboard
 * @returns null if nothing changes
 */
export function accountMail(notice: AccountNotice, publicBaseUrl: string): AccountMail | null {
  const content = contentOf(notice);
  if (content === null) return null;
  const text = [
    `Hello ${notice.merchantName},`,
    content.text,
    'If you have not agreed to this with us, contact us at once, as you usually do and not by ' +
      'an address of a mail: a change that is not active yet can be withdrawn.',
    `${publicBaseUrl}/dashboard`,
  ];
  return { subject: content.subject, text: `${text.join('\n\n')}\n` };
}
