import type { NoticeDeps } from '../../merchants/public.ts';
import type { OnboardingDeps } from '../../onboarding/public.ts';
import type { MerchantViewer } from '../viewer.ts';

/** What the pages of a merchant's application call. */
export interface OnboardingPageDeps extends Omit<OnboardingDeps, 'actor' | 'alongside'> {
  /** Of mails to the merchant about its bank account. */
  notices: NoticeDeps;
}

/** The path of a page of the application, in the environment that the merchant looks at. */
export function pathOf({ environment }: Pick<MerchantViewer, 'environment'>, below = ''): string {
  return `/dashboard/${environment}/onboarding${below}`;
}
