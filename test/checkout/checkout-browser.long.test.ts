import { checkoutBrowserTest, statesAreAccessible } from './checkout-browser.ts';

statesAreAccessible(checkoutBrowserTest(), 'light');
