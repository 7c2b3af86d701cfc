import { everyPageOn } from './accessibility.ts';
import { OTHER_SCREENS } from './screens.ts';

everyPageOn(OTHER_SCREENS);
