import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { phonesOf, violationsOf } from '../support/browser.ts';
import { checkoutTest } from './checkout-test.ts';
import { checkoutIn, PAGE_STATES } from './states.ts';

/** The `test` of a file that opens the buyer's page with phones. */
export const checkoutBrowserTest = () =>
  checkoutTest().extend('newPhone', ({ service: _service }, { onCleanup }) => phonesOf(onCleanup));

/** True if the page is wider than the screen, so that the buyer must scroll sideways. */
const isTooWide = (page: Page) =>
  page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );

/** A test of the page in each of its states. */
export function statesAreAccessible(
  test: ReturnType<typeof checkoutBrowserTest>,
  colorScheme: 'light' | 'dark',
): void {
  test.for(PAGE_STATES.map((state) => [colorScheme, state] as const))(
    'the page is accessible, fits a small phone and breaks no rule of its Content-Security-Policy: %s, %s',
    async ([, state], { service, merchant, newPhone }) => {
      const { page, complaints } = await newPhone({
        colorScheme,
        viewport: { width: 320, height: 568 },
      });
      const own = state === 'merchant_unavailable' ? await service.newMerchant() : merchant;
      const description = `Kurta ${'x'.repeat(200)}`;
      const checkout = await checkoutIn(service, own, state, {
        description,
        merchantOrderId: 'S-1',
      });
      await page.goto(checkout.order.payment_url);
      for (const details of await page.locator('summary').all()) await details.click();
      expect(await violationsOf(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
      expect(complaints.filter((complaint) => !complaint.includes('status of 408'))).toEqual([]);
    },
  );
}
