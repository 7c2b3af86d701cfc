import type { StatusChange } from '../merchants/public.ts';

/** What the mail about a decision says. */
export interface DecisionMail {
  subject: string;
  text: string;
}

/** The sentences of each mail; the reason is shown where the merchant has to know it. */
const TEXTS = {
  approve: {
    subject: 'Your business is approved',
    text: () =>
      'Your business is approved. You can create API keys and accept payments in production now.',
  },
  reject: {
    subject: 'Your application needs a change',
    text: (reason: string) =>
      `Your application was not approved. The reason:\n\n${reason}\n\n` +
      'You can change your application in the dashboard and submit it again.',
  },
  suspend: {
    subject: 'Your account is suspended',
    text: (reason: string) =>
      `Your account is suspended. The reason:\n\n${reason}\n\n` +
      'Until it is active again, the API answers 403, buyers cannot start payments, and money ' +
      'of delivered orders is not released to you. Disputes, refunds and webhooks continue.',
  },
  activate: {
    subject: 'Your account is active again',
    text: () =>
      'The suspension of your account has ended. The API works again, and money that waits is ' +
      'released within the hour.',
  },
} as const satisfies Record<StatusChange, { subject: string; text: (reason: string) => string }>;

/**
 * The mail to a merchant about an operator's decision.
 *
 * @param publicBaseUrl where the merchant reaches its dashboard
 */
export function decisionMail(
  { change, reason }: { change: StatusChange; reason: string },
  merchantName: string,
  publicBaseUrl: string,
): DecisionMail {
  const { subject, text } = TEXTS[change];
  const link = `${publicBaseUrl}/dashboard`;
  return { subject, text: `Hello ${merchantName},\n\n${text(reason)}\n\n${link}\n` };
}
