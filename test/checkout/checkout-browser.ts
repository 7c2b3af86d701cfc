import type { Page } from 'playwright-core';
import { phonesOf } from '../support/browser.ts';
import { checkoutTest } from './checkout-test.ts';

export const checkoutBrowserTest = () =>
  checkoutTest().extend('newPhone', ({ service: _service }, { onCleanup }) => phonesOf(onCleanup));

/** True if the page is wider than the screen, so that the buyer must scroll sideways. */
export const isTooWide = (page: Page) =>
  page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );
