import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.ts';

/** After this the page may have reloaded itself, which closes the menu. */
const CLICK_TIMEOUT_MS = 5000;

/** Shows the pages that a narrow screen has behind a button. */
async function openMenu(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: 'More' });
  if (await more.isVisible()) await more.click();
}

/** Clicks what a narrow screen has behind the button. */
export async function clickInMenu(page: Page, target: Locator): Promise<void> {
  await until(async () => {
    if (!(await target.isVisible())) await openMenu(page);
    return target.click({ timeout: CLICK_TIMEOUT_MS }).then(
      () => true,
      () => false,
    );
  });
}
