import type { Letter } from '../mail/public.ts';
import { rupeesText, timeText } from '../pages/format.ts';

interface Change {
  subject: string;
  text: string;
}

export interface AccountNotice {
  merchantName: string;
  gateway: string;
  linkedAccountId: string;
  activeId: string | null;
  /** The account that was waiting to become active. */
  waitingId: string | null;
  activeFrom: Date;
}

/** The last four characters are enough to recognise an account, and of no use to a stranger. */
const lastFour = (linkedAccountId: string) => `•••• ${linkedAccountId.slice(-4)}`;

function firstAccount({ gateway, linkedAccountId }: AccountNotice): Change {
  return {
    subject: 'The account that you are paid out to is set',
    text: `The money of your orders in production goes to your account ${lastFour(linkedAccountId)} at ${gateway}.`,
  };
}

function changedAccount(notice: AccountNotice, activeId: string): Change {
  const { gateway, linkedAccountId, activeFrom } = notice;
  const at = timeText(activeFrom);
  return {
    subject: 'The account that you are paid out to changes',
    text:
      `Your account at ${gateway} changes from ${lastFour(activeId)} to ${lastFour(linkedAccountId)} on ${at}. ` +
      `What buyers pay in production until then goes to ${lastFour(activeId)}, also if it is released later.`,
  };
}

function withdrawnChange(notice: AccountNotice, waitingId: string): Change {
  const { gateway, linkedAccountId } = notice;
  return {
    subject: 'The account that you are paid out to does not change',
    text: `The change to the account ${lastFour(waitingId)} at ${gateway} is withdrawn. The money of your orders in production goes to ${lastFour(linkedAccountId)}, as before.`,
  };
}

function contentOf(notice: AccountNotice): Change | null {
  const { linkedAccountId, activeId, waitingId } = notice;
  if (activeId === null) return firstAccount(notice);
  if (linkedAccountId === waitingId) return null;
  if (linkedAccountId !== activeId) return changedAccount(notice, activeId);
  return waitingId === null ? null : withdrawnChange(notice, waitingId);
}

/**
 * The mail to a merchant about the account that it is paid out to.
 *
 * @param publicBaseUrl the base URL of the dashboard
 * @returns null if nothing changes
 */
export function accountMail(notice: AccountNotice, publicBaseUrl: string): Letter | null {
  const content = contentOf(notice);
  if (content === null) return null;
  const paragraphs = [
    `Hello ${notice.merchantName},`,
    content.text,
    'If you have not agreed to this with us, contact us at once, as you usually do and not by ' +
      'an address of a mail: a change that is not active yet can be withdrawn.',
    { label: 'Your dashboard', url: `${publicBaseUrl}/dashboard` },
  ];
  return { subject: content.subject, paragraphs };
}

/** What a merchant's user did on the dashboard and the merchant is mailed about. */
export type MerchantAct =
  | { kind: 'key.create' | 'key.rotate' | 'domains.set' }
  | { kind: 'webhook.remove' | 'webhook.rotate_secret' }
  | { kind: 'application.bank' | 'mails.choose' }
  | { kind: 'webhook.set'; url: string }
  | { kind: 'refund'; orderNumber: string; environment: string; amountPaise: number };

/** The act as the subject of the mail, and as the end of the sentence "… has …". */
function deedOf(act: MerchantAct): { subject: string; did: string } {
  switch (act.kind) {
    case 'key.create':
      return {
        subject: 'Your production API key was generated',
        did: 'generated your API key for production',
      };
    case 'key.rotate':
      return {
        subject: 'The secret of your production API key was replaced',
        did: 'replaced the secret of your API key for production. The old secret no longer works',
      };
    case 'domains.set':
      return {
        subject: 'Your approved domains for production were changed',
        did: 'changed the domains from which browsers may call your API in production. The page of your keys shows them',
      };
    case 'webhook.rotate_secret':
      return {
        subject: 'Your production webhook secret was replaced',
        did: 'replaced the webhook secret for production. Webhooks are no longer signed with the old one',
      };
    case 'application.bank':
      return {
        subject: 'The bank account of your application was saved',
        did: 'saved the bank account of your application, to which your money is to be paid out. The page of your business shows it',
      };
    case 'mails.choose':
      return {
        subject: 'Your choice of mails was changed',
        did: 'changed which mails you get. The page of your account shows them',
      };
    case 'webhook.set':
      return {
        subject: 'Your production webhook URL was changed',
        // The path of a URL may contain a secret, so the mail names the host only.
        did: `changed the webhook URL for production. It is at ${URL.parse(act.url)?.host ?? 'another host'} now`,
      };
    case 'webhook.remove':
      return {
        subject: 'Your production webhook URL was removed',
        did: 'removed the webhook URL for production. No more webhooks are sent',
      };
    case 'refund':
      return {
        subject: `A refund of ${rupeesText(act.amountPaise)} was asked for`,
        did: `asked to return the ${rupeesText(act.amountPaise)} of the order ${act.orderNumber} in ${act.environment} to the buyer. The order's page shows what has come of it`,
      };
  }
}

/**
 * The mail to a merchant about an act of one of its users.
 *
 * @param by the user's e-mail address, the client's address, and when
 */
export function actMail(
  act: MerchantAct,
  by: { merchantName: string; email: string; address: string | null; at: Date },
  publicBaseUrl: string,
): Letter {
  const { subject, did } = deedOf(act);
  const from = by.address === null ? '' : `, from the address ${by.address}`;
  const paragraphs = [
    `Hello ${by.merchantName},`,
    `On ${timeText(by.at)}${from}, ${by.email} has ${did}.`,
    'If this was none of you, set a new password at once, which ends all sessions, and contact us:',
    { label: 'Set a new password', url: `${publicBaseUrl}/dashboard/forgot-password` },
  ];
  return { subject, paragraphs };
}
