import { onboardingOn, onboardingTest } from './onboarding-browser.ts';
import { OTHER_SCREENS } from './screens.ts';

onboardingOn(onboardingTest(), OTHER_SCREENS);
