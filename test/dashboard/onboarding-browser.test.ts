import { onboardingOn, onboardingTest } from './onboarding-browser.ts';
import { ONE_SCREEN } from './screens.ts';

onboardingOn(onboardingTest(), [ONE_SCREEN]);
