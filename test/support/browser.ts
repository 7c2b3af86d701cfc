import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import chromium from '@sparticuz/chromium';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { chromium as playwright } from 'playwright-core';
import { waitForLock } from '../../dev/files/file-lock.ts';
import type { OnCleanup } from './fixtures.ts';
import { UNTIL_MS } from './time-limits.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The screen and speed of a cheap phone. */
const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true };

let running: Promise<Browser> | undefined;

/** A headless Chromium that also runs as root, one for all files of this process. */
function theBrowser(): Promise<Browser> {
  return (running ??= launch().catch((error: unknown) => {
    running = undefined;
    throw error;
  }));
}

/** The package writes the program into a shared folder, and takes one that another process has not finished yet. */
async function executablePath(): Promise<string> {
  const lock = await waitForLock(join(tmpdir(), 'merchant-orders-chromium.lock'), undefined);
  try {
    return await chromium.executablePath();
  } finally {
    lock.release();
  }
}

async function launch(): Promise<Browser> {
  const browser = await playwright.launch({
    executablePath: await executablePath(),
    // Not the package's default list: it disables web security, and the browser ends with its first context.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    headless: true,
    timeout: UNTIL_MS,
    // Playwright's handler closes the browser, and the process does not end.
    handleSIGTERM: false,
  });
  browser.once('disconnected', () => (running = undefined));
  // The signal with which vitest ends this process after its last file.
  process.once('SIGTERM', () => void browser.close().finally(() => process.exit()));
  return browser;
}

/** A phone without cookies or cache, with the errors on its console. */
async function newPhone(options: BrowserContextOptions) {
  const context = await (await theBrowser()).newContext({ ...PHONE, ...options });
  context.setDefaultTimeout(UNTIL_MS);
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(String(error.error())));
  return { context, page: await context.newPage(), complaints };
}

/** New phones for one test, closed after it. */
export function phonesOf(onCleanup: OnCleanup) {
  const contexts: BrowserContext[] = [];
  onCleanup(async () => {
    for (const context of contexts) await context.close();
  });
  return async (options: BrowserContextOptions = {}) => {
    const phone = await newPhone(options);
    contexts.push(phone.context);
    return phone;
  };
}

/** Stops the clock of a page that is not open yet: from then on only `page.clock.runFor` moves it. */
export async function stopClock(page: Page): Promise<void> {
  const startsAt = new Date('2026-11-22T09:00:00Z');
  await page.clock.install({ time: startsAt });
  await page.clock.pauseAt(startsAt.getTime() + 24 * 3_600_000);
}

/** axe-core's findings on a page, in short. */
export async function violationsOf(page: Page): Promise<string[]> {
  // Not page.evaluate, which takes twice as long for a script of this size.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  await session.detach();
  // Only the violations: axe-core's whole answer takes longer to send than to find.
  const violations = await page.evaluate<AxeResults['violations']>(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}
