import { accountOn, accountTest } from './account-browser.ts';
import { OTHER_SCREENS } from './screens.ts';

accountOn(accountTest(), OTHER_SCREENS);
