import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestBrowser } from '../checkout/browser.ts';
import { launchBrowser } from '../checkout/browser.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

let service: TestService;
let browser: TestBrowser;
beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService({ time: 'real' }), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

test('/docs shows every operation and webhook under its own Content-Security-Policy, without a complaint', async () => {
  const { context, page, complaints } = await browser.newPhone();
  const answer = await page.goto(`${service.origin}/docs`);
  expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");
  const document = await (await fetch(`${service.origin}/openapi.json`)).json();
  const operations = Object.values<object>({ ...document.paths, ...document.webhooks }).flatMap(
    (path) => Object.keys(path).filter((key) => ['get', 'post'].includes(key)),
  );
  await page.locator('.opblock').first().waitFor();
  await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length);
  await page.locator('.opblock-summary').first().click();
  await page.locator('.opblock-body').waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
