import type { OnboardingDeps, ReviewDeps } from '../../../onboarding/public.ts';
import type { ProposalDeps } from '../../../proposals/public.ts';

/** What the pages of the review of merchants call. */
export type MerchantReviewDeps = Omit<OnboardingDeps & ReviewDeps, 'actor'> & ProposalDeps;

/** The path of a merchant's page, or of something below it. */
export function merchantPath(merchantId: string, below = ''): string {
  return `/operator/merchants/${encodeURIComponent(merchantId)}${below}`;
}
