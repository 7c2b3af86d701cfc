import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { chromium as playwright } from 'playwright-core';
import type { OnCleanup } from '../support/fixtures.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The screen and speed of a cheap phone. */
const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true };

/** A headless Chromium that also runs as root. */
export async function launchBrowser() {
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    // Not the package's default list: it disables web security, and the browser ends with its first context.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    headless: true,
  });
  return {
    /** A phone without cookies or cache, with the errors on its console. */
    async newPhone(options: BrowserContextOptions = {}) {
      const context = await browser.newContext({ ...PHONE, ...options });
      const complaints: string[] = [];
      context.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      context.on('weberror', (error) => complaints.push(String(error.error())));
      return { context, page: await context.newPage(), complaints };
    },
    stop: () => browser.close(),
  };
}
/** A running Chromium. */
export type TestBrowser = Awaited<ReturnType<typeof launchBrowser>>;

/** New phones for one test, closed after it. */
export function phonesOf(browser: TestBrowser, onCleanup: OnCleanup) {
  const contexts: BrowserContext[] = [];
  onCleanup(async () => {
    for (const context of contexts) await context.close();
  });
  return async (options?: BrowserContextOptions) => {
    const phone = await browser.newPhone(options);
    contexts.push(phone.context);
    return phone;
  };
}

/** axe-core's findings on a page, in short. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const results = await page.evaluate<AxeResults>('axe.run()');
  return results.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`,
  );
}
