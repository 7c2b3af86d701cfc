import type { Application, Step } from '../../onboarding/public.ts';
import { missingOf } from '../../onboarding/public.ts';
import { stepper } from '../view/parts.ts';
import { link } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { pathOf } from './deps.ts';

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
  business: '/business',
  bank: '/bank',
  documents: '/documents',
  review: '',
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
