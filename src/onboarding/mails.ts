import type { Letter } from '../mail/public.ts';
import type { StatusChange } from '../merchants/public.ts';

/** What a mail depends on beside the decision. */
interface Circumstances {
  /** Shown where the merchant has to know it. */
  reason: string;
  /** Whether the merchant can take payments in production. */
  isReady: boolean;
  /** Whether it was approved until now: then a rejection revokes that. */
  wasApproved: boolean;
}

/** What stops for a merchant that was active, and what continues. */
const STOPS =
  'Until it is active again, the API answers 403, buyers cannot start payments, and money ' +
  'of delivered orders is not released to you. Disputes, refunds and webhooks continue.';

/** The sentences of each mail. */
const TEXTS = {
  approve: {
    subject: 'Your business is approved',
    text: ({ isReady }) =>
      isReady
        ? 'Your business is approved. You can create API keys and accept payments in production now.'
        : 'Your business is approved. You can create API keys and use the sandbox now. In production ' +
          'your account cannot take payments yet: we still have to set up the account that you are ' +
          'paid out to. The dashboard shows when it can.',
  },
  reject: {
    subject: 'Your application needs a change',
    text: ({ reason, wasApproved }) =>
      `${wasApproved ? 'Your account is no longer approved' : 'Your application was not approved'}. The reason:\n\n${reason}\n\n` +
      (wasApproved ? `${STOPS} Answer disputes in the dashboard. ` : '') +
      'You can change your application in the dashboard and submit it again.',
  },
  suspend: {
    subject: 'Your account is suspended',
    text: ({ reason }) => `Your account is suspended. The reason:\n\n${reason}\n\n${STOPS}`,
  },
  activate: {
    subject: 'Your account is active again',
    text: () =>
      'The suspension of your account has ended. The API works again, and money that waits is ' +
      'released within the hour.',
  },
} as const satisfies Record<StatusChange, { subject: string; text: (of: Circumstances) => string }>;

/**
 * The mail to a merchant about an operator's decision.
 *
 * @param publicBaseUrl where the merchant reaches its dashboard
 */
export function decisionMail(
  { change, ...circumstances }: Circumstances & { change: StatusChange },
  merchantName: string,
  publicBaseUrl: string,
): Letter {
  const { subject, text } = TEXTS[change];
  const link = { label: 'Your dashboard', url: `${publicBaseUrl}/dashboard` };
  return { subject, paragraphs: [`Hello ${merchantName},`, text(circumstances), link] };
}
