import type { Route } from '../http/define-route.ts';
import type { OrderActionId } from './orders/actions.ts';
import type { AccessRule } from './viewer.ts';

/**
 * When an act asks again for password and second factor, or when a mail reports it.
 *
 * - `production`: on a page of production
 * - `large`: for an order whose amount is above PROPOSAL_ABOVE_PAISE
 */
type When = 'never' | 'production' | 'large' | 'always';

interface ActRule {
  /** What it does, for docs/security/who-may-do-what.md. */
  readonly does: string;
  /** `in_form`: its form always takes what proves the person. */
  readonly asksAgain: When | 'in_form';
  /** `new_device`: when the browser is one that the user has not used before. */
  readonly mail: When | 'new_device';
}

const IN_PRODUCTION = { asksAgain: 'production', mail: 'production' } as const;
const ALWAYS = { asksAgain: 'always', mail: 'always' } as const;
const REFUND = { asksAgain: 'large', mail: 'always' } as const;
const IN_FORM = { asksAgain: 'in_form', mail: 'always' } as const;
const MAILED = { asksAgain: 'never', mail: 'always' } as const;
const FREE = { asksAgain: 'never', mail: 'never' } as const;
const LOG_IN = { asksAgain: 'in_form', mail: 'new_device' } as const;

/**
 * The acts of a merchant's users: every form that they can send, by its path below the pages of an environment or
 * below `/dashboard`. Pages have no rule of their own: the dashboard does not start with a form that is not here, and
 * `definePage` asks again by this table, and tells the handler whether a mail reports the act.
 *
 * A person with a stolen session knows neither the password nor the second factor. So what production depends on, what
 * protects the account and where money goes ask again, and the owner gets a mail. What only protects, such as to
 * end a session, asks for nothing: it must not wait.
 */
export const MERCHANT_ACTS = {
  '/sign-up': { does: 'Sign up', ...MAILED },
  '/confirm-email/{token}': {
    does: 'Confirm the address of a sign-up',
    asksAgain: 'in_form',
    mail: 'never',
  },
  '/login': { does: 'Log in with the password', ...LOG_IN },
  '/login/code': { does: 'Log in with the second factor', ...LOG_IN },
  '/logout': { does: 'Log out', ...FREE },
  '/confirm': {
    does: 'Give password and second factor again',
    asksAgain: 'in_form',
    mail: 'never',
  },
  '/forgot-password': { does: 'Ask for a link that sets a new password', ...MAILED },
  '/reset-password/{token}': {
    does: 'Set a new password by the link; all sessions end',
    ...MAILED,
  },
  '/invitation/{token}': { does: 'Accept an invitation by its link', ...FREE },
  '/account/password': { does: 'Change the password; all other sessions end', ...IN_FORM },
  '/account/two-factor/start': {
    does: 'Show the secret of a second factor, which is not in force yet',
    ...FREE,
  },
  '/account/two-factor/confirm': { does: 'Switch two-factor on', ...IN_FORM },
  '/account/two-factor/recovery-codes': { does: 'Make new recovery codes', ...IN_FORM },
  '/account/two-factor/off': { does: 'Switch two-factor off', ...IN_FORM },
  '/account/sessions/end': { does: 'End another session', ...MAILED },
  '/account/sessions/end-others': { does: 'End all other sessions', ...MAILED },
  '/account/mails': { does: 'Choose which mails are sent', ...ALWAYS },
  '/keys/generate': { does: 'Generate the API key', ...IN_PRODUCTION },
  '/keys/rotate': { does: 'Replace the secret of the API key', ...IN_PRODUCTION },
  '/keys/domains': { does: 'Set the approved domains', ...IN_PRODUCTION },
  '/webhooks': { does: 'Save the webhook URL', ...IN_PRODUCTION },
  '/webhooks/rotate-secret': { does: 'Replace the webhook secret', ...IN_PRODUCTION },
  '/webhooks/remove': { does: 'Remove the webhook URL', ...IN_PRODUCTION },
  '/webhooks/test': { does: 'Send a test event', ...FREE },
  '/deliveries/{id}/resend': { does: 'Send a webhook again', ...FREE },
  '/deliveries/resend': { does: 'Send chosen webhooks again', ...FREE },
  '/deliveries/resend-since': { does: 'Send all webhooks since a time again', ...FREE },
  '/onboarding/business': { does: 'Save the business of an application', ...FREE },
  '/onboarding/bank': { does: 'Save the bank account of an application', ...ALWAYS },
  '/onboarding/documents': { does: 'Upload a document of an application', ...FREE },
  '/onboarding/documents/{document}/remove': {
    does: 'Remove a document of an application',
    ...FREE,
  },
  '/onboarding/submit': { does: 'Submit an application for review', ...FREE },
  '/orders/{id}/deliverOrder': { does: 'Mark an order as delivered', ...FREE },
  '/orders/{id}/submitEvidence': { does: 'Submit evidence in a dispute', ...FREE },
  '/orders/{id}/resolveDispute': { does: 'Resolve a dispute', ...FREE },
  '/orders/{id}/acceptDispute': { does: 'Accept a dispute, which refunds the buyer', ...REFUND },
  '/orders/{id}/refundOrder': { does: 'Refund an order', ...REFUND },
  '/orders/{id}/cancelOrder': { does: 'Cancel an unpaid order', ...FREE },
  '/orders/{id}/testPay': { does: 'Pay as the buyer, in the sandbox', ...FREE },
  '/orders/{id}/testFailPayment': { does: "Fail the buyer's payment, in the sandbox", ...FREE },
  '/orders/{id}/testDispute': { does: 'Raise a dispute as the buyer, in the sandbox', ...FREE },
  '/orders/{id}/testAdvance': { does: 'Move the clock of an order, in the sandbox', ...FREE },
} as const satisfies Record<string, ActRule> & Record<`/orders/{id}/${OrderActionId}`, ActRule>;

export type MerchantActPath = keyof typeof MERCHANT_ACTS;

const actRuleOf = (path: string): ActRule | undefined =>
  Object.hasOwn(MERCHANT_ACTS, path) ? MERCHANT_ACTS[path as MerchantActPath] : undefined;

/** The rule of a form of merchants' users, or of a page that asks as its form does; other pages are free. */
export function actRuleOfPage(
  { audience, method }: AccessRule,
  path: string,
  asksFirst = false,
): Omit<ActRule, 'does'> {
  const isOfMerchants = audience === 'merchant' || audience === 'anyone';
  const rule = isOfMerchants && (method === 'POST' || asksFirst) && actRuleOf(path);
  return rule || FREE;
}

/** The path by which {@link MERCHANT_ACTS} has a form. @param path of its route */
export const actPathOf = (path: string): string =>
  path.replace(/^\/dashboard(\/(sandbox|production)(?=\/))?/, '');

/** @throws Error for a form of merchants' users without a rule */
export function assertActsHaveRules(routes: readonly Pick<Route, 'method' | 'path'>[]): void {
  const forms = routes.filter(
    ({ method, path }) => method === 'POST' && !path.startsWith('/operator/'),
  );
  const missing = forms.find(({ path }) => actRuleOf(actPathOf(path)) === undefined);
  if (missing) throw new Error(`MERCHANT_ACTS has no rule for the form ${missing.path}`);
}

/** Whether the rule applies to one request. @param of the request; `isLarge` is called only if it decides */
export async function applies(
  when: ActRule['asksAgain' | 'mail'],
  of: { environment: string | undefined; isLarge(): Promise<boolean> },
): Promise<boolean> {
  switch (when) {
    case 'always':
      return true;
    case 'production':
      return of.environment === 'production';
    case 'large':
      return of.isLarge();
    default:
      return false;
  }
}
