import type { Page } from 'playwright-core';

/** Shows the pages that a narrow screen has behind a button. */
export async function openMenu(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: 'More' });
  if (await more.isVisible()) await more.click();
}
