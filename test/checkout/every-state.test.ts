import { checkoutBrowserTest } from './checkout-browser.ts';
import { readableIn, trueInEveryState } from './every-state.ts';

const test = checkoutBrowserTest();
trueInEveryState(test);
/** A state with a form, one with a QR code, and the longest page; the long suite has all states. */
readableIn(['payable', 'waiting', 'disputed_twice'], test);
