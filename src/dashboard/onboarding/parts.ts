import type { NoticeDeps } from '../../merchants/public.ts';
import type { Application, OnboardingDeps, Step } from '../../onboarding/public.ts';
import { missingOf } from '../../onboarding/public.ts';
import { pagesOf } from '../page.ts';
import { stepper } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';

export const onboardingPage = pagesOf<OnboardingPageDeps, 'merchant'>('merchant');

/** The steps in the order in which a merchant sees them. */
const TITLES = {
  business: 'Business',
  bank: 'Bank account',
  documents: 'Documents',
  review: 'Review and submit',
} as const satisfies Record<Step | 'review', string>;

export type ShownStep = keyof typeof TITLES;

const STEP_PATHS = {
  business: '/onboarding/business',
  bank: '/onboarding/bank',
  documents: '/onboarding/documents',
  review: '/onboarding',
} as const satisfies Record<ShownStep, string>;

export function stepPath(viewer: MerchantViewer, step: ShownStep): string {
  return pathOf(viewer, STEP_PATHS[step]);
}

export function applicationSteps(
  viewer: MerchantViewer,
  application: Application,
  current: ShownStep,
) {
  const missing: Partial<Record<ShownStep, readonly string[]>> = missingOf(application);
  const stateOf = (step: ShownStep) => {
    if (step === current) return 'current';
    return missing[step]?.length === 0 ? 'done' : 'open';
  };
  return stepper(
    'Application',
    (Object.keys(TITLES) as ShownStep[]).map((step) => ({
      title: TITLES[step],
      state: stateOf(step),
      to: link(stepPath(viewer, step), TITLES[step]),
    })),
  );
}

export interface OnboardingPageDeps extends Omit<OnboardingDeps, 'actor' | 'alongside'> {
  /** For mails to the merchant about its bank account. */
  notices: NoticeDeps;
}
