import { everyPageOn } from './accessibility.ts';
import { ONE_SCREEN } from './screens.ts';

everyPageOn([ONE_SCREEN]);
