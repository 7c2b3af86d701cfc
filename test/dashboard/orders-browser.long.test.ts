import { ordersOn, ordersTest } from './orders-browser.ts';
import { OTHER_SCREENS } from './screens.ts';

ordersOn(ordersTest(), OTHER_SCREENS);
