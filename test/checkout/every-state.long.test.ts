import { checkoutBrowserTest } from './checkout-browser.ts';
import { readableIn } from './every-state.ts';
import { PAGE_STATES } from './states.ts';

readableIn(PAGE_STATES, checkoutBrowserTest());
