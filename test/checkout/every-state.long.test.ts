import { checkoutBrowserTest } from './checkout-browser.ts';
import { everyState } from './every-state.ts';

everyState(checkoutBrowserTest(), 'light');
