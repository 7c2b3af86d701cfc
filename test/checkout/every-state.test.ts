import { checkoutBrowserTest } from './checkout-browser.ts';
import { readableIn, trueInEveryState } from './every-state.ts';

const test = checkoutBrowserTest();
trueInEveryState(test);
/** One with a form, one with a QR code, and the longest one; the long suite has all. */
readableIn(['payable', 'waiting', 'disputed_twice'], test);
