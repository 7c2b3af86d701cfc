import type { NoticeDeps } from '../../merchants/public.ts';
import type { Application, OnboardingDeps, Step } from '../../onboarding/public.ts';
import { missingOf } from '../../onboarding/public.ts';
import { stepper } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from '../viewer.ts';

/** The steps that a merchant sees, in their order. */
const TITLES = {
  business: 'Business',
  bank: 'Bank account',
  documents: 'Documents',
  review: 'Review and submit',
} as const satisfies Record<Step | 'review', string>;

/** A step of the stepper. */
export type ShownStep = keyof typeof TITLES;

const STEP_PATHS = {
  business: '/onboarding/business',
  bank: '/onboarding/bank',
  documents: '/onboarding/documents',
  review: '/onboarding',
} as const satisfies Record<ShownStep, string>;

/** The path of a step's page. */
export function stepPath(viewer: MerchantViewer, step: ShownStep): string {
  return pathOf(viewer, STEP_PATHS[step]);
}

/** The steps of an application, each a link to its page. */
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

/** What the pages of a merchant's application call. */
export interface OnboardingPageDeps extends Omit<OnboardingDeps, 'actor' | 'alongside'> {
  /** Of mails to the merchant about its bank account. */
  notices: NoticeDeps;
}
