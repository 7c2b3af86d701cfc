import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { stopClock, violationsOf } from '../support/browser.ts';
import { checkoutBrowserTest } from './checkout-browser.ts';
import type { PageState } from './states.ts';
import { advance } from './states.ts';

/** Options of a phone that opens the page of a new order. */
interface Visit extends BrowserContextOptions {
  /** Only the test moves the time on the phone. */
  testClock?: boolean;
}

const test = checkoutBrowserTest().extend(
  'visit',
  ({ newPhone, checkouts }) =>
    async (state?: PageState, how: Visit = {}) => {
      const { testClock = false, ...options } = how;
      const phone = await newPhone(options);
      if (testClock) await stopClock(phone.page);
      const checkout = await checkouts.in(state);
      await phone.page.goto(checkout.order.payment_url);
      return { ...phone, checkout };
    },
);

const titled = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const buttonOf = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** The buyer follows the page to the simulator's UPI app and pays there. */
async function payThrough(page: Page, context: BrowserContext): Promise<void> {
  await buttonOf(page, 'Pay now').click();
  await titled(page, 'Waiting for your payment').waitFor();
  const opening = context.waitForEvent('page');
  await page.getByRole('link', { name: 'Pay in the sandbox UPI app' }).click();
  const upiApp = await opening;
  await buttonOf(upiApp, 'Pay').click();
  await upiApp.getByText('Paid', { exact: true }).waitFor();
  await upiApp.close();
}

describe('without JavaScript', () => {
  const WITHOUT_JAVASCRIPT = { javaScriptEnabled: false };

  test('the page of an expired session says so, and the buyer starts again', async ({ visit }) => {
    const { page, checkout } = await visit('waiting', WITHOUT_JAVASCRIPT);
    await advance(checkout, 900);
    await page.getByRole('link', { name: 'Check again' }).click();
    await titled(page, 'This payment session has expired').waitFor();
    await buttonOf(page, 'Try again').click();
    await titled(page, 'Waiting for your payment').waitFor();
  });
});

describe('with JavaScript', () => {
  test('the page shows the payment without a reload', async ({ visit }) => {
    const { context, page, complaints } = await visit();
    await payThrough(page, context);
    await titled(page, 'Payment successful').waitFor();
    expect(complaints).toEqual([]);
  });

  test('the remaining seconds count down, and the page shows the expiry without a reload', async ({
    visit,
  }) => {
    const { page, checkout } = await visit('waiting', { testClock: true });
    const left = page.locator('[data-seconds-left]');
    const before = await left.textContent();
    await page.clock.runFor(2000);
    expect(await left.textContent()).not.toBe(before);
    await advance(checkout, 900);
    await page.clock.runFor(3000);
    await titled(page, 'This payment session has expired').waitFor();
  });

  test('the page updates when the buyer returns from the UPI app', async ({ visit }) => {
    const { page, checkout } = await visit('waiting', { testClock: true });
    await checkout.merchant.sandbox.help(checkout.order, 'pay');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await titled(page, 'Payment successful').waitFor();
  });

  test('an update of the order does not remove the text that the buyer is typing', async ({
    merchant,
    visit,
  }) => {
    const { page, checkout } = await visit('paid', { testClock: true });
    await page.getByText('Something is wrong with my order').click();
    await page.getByLabel('What is wrong?').fill('It never arr');
    await merchant.sandbox.post(`/orders/${checkout.order.order_number}/deliver`);
    await page.clock.runFor(61_000);
    await page.getByText('This order has changed: check again.').waitFor();
    expect(await page.getByLabel('What is wrong?').inputValue()).toBe('It never arr');
  });

  test('a failed status request is repeated at growing intervals', async ({
    merchant,
    checkouts,
    newPhone,
  }) => {
    const { context, page } = await newPhone();
    await stopClock(page);
    const checkout = await checkouts.in('waiting');
    await context.route('**/status', (route) => route.abort());
    // Counts when the page learns of a failure, after which it waits again.
    await context.addInitScript(`
      globalThis.failed = 0;
      const request = fetch;
      globalThis.fetch = (...all) => request(...all).catch((error) => {
        failed += 1;
        throw error;
      });`);
    await page.goto(checkout.order.payment_url);
    const afterSeconds = async (seconds: number, count: number) => {
      await page.clock.runFor(seconds * 1000);
      await expect.poll(() => page.evaluate('failed')).toBe(count);
    };
    await afterSeconds(3, 1);
    await afterSeconds(6, 2);
    await afterSeconds(11, 2);
    await afterSeconds(1, 3);
    await context.unroute('**/status');
    await merchant.sandbox.help(checkout.order, 'pay');
    await page.clock.runFor(24_000);
    await titled(page, 'Payment successful').waitFor();
  });

  /** Answers each request for the status with no change, and counts them. */
  const COUNTED = `
    globalThis.asked = 0;
    globalThis.fetch = async () => {
      asked += 1;
      const { version } = document.querySelector('main').dataset;
      return { ok: true, json: async () => ({ version }) };
    };`;

  test.for([
    ['waiting', 3, 15 * 60, 70],
    ['paid', 60, 24 * 3600, 120],
    ['cancelled', 60, 24 * 3600, 65],
  ] as const)(
    'a page that stays open asks soon at first and seldom later: %s, after %i s, in %i s at most %i times',
    async ([state, firstSeconds, seconds, most], { checkouts, newPhone }) => {
      const { context, page } = await newPhone();
      await stopClock(page);
      await context.addInitScript(COUNTED);
      await page.goto((await checkouts.in(state)).order.payment_url);
      await page.clock.runFor(firstSeconds * 1000);
      await expect.poll(() => page.evaluate('asked')).toBe(1);
      await page.clock.runFor(seconds * 1000);
      const asked = await page.evaluate<number>('asked');
      expect(asked).toBeGreaterThan(most / 2);
      expect(asked).toBeLessThanOrEqual(most);
    },
  );

  test('a page in the background asks nothing, and at once when it is shown again', async ({
    checkouts,
    newPhone,
  }) => {
    const { context, page } = await newPhone();
    await stopClock(page);
    await context.addInitScript(COUNTED);
    await page.goto((await checkouts.in('confirming')).order.payment_url);
    const show = (isShown: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await show(false);
    await page.clock.runFor(3_600_000);
    expect(await page.evaluate('asked')).toBe(0);
    await show(true);
    await expect.poll(() => page.evaluate('asked')).toBe(1);
    await page.clock.runFor(3500);
    await expect.poll(() => page.evaluate('asked')).toBe(2);
  });

  test('the script does not resubmit a page that is the response to a form', async ({
    merchant,
    gateway,
    visit,
  }) => {
    const { page, checkout } = await visit('payable', { testClock: true });
    await gateway.addFault({ kind: 'error', method: 'POST' });
    await buttonOf(page, 'Pay now').click();
    await page.getByRole('alert').waitFor();
    await gateway.endFaults();
    await merchant.sandbox.help(checkout.order, 'pay');
    await page.clock.runFor(15_000);
    await titled(page, 'Payment successful').waitFor();
    expect(page.url()).toBe(checkout.order.payment_url);
  });
});

describe('for every buyer', () => {
  test('a rejected form leads to its error, also for a screen reader', async ({ visit }) => {
    const { page } = await visit('paid');
    await page.getByText('Something is wrong with my order').click();
    await page.getByLabel('What is wrong?').fill(' '.repeat(12));
    await buttonOf(page, 'Raise a dispute').click();
    await page.getByRole('alert').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const focused = page.locator('textarea:focus');
    await expect.poll(() => focused.getAttribute('aria-describedby')).toBe('hint violation');
  });

  test('the page of an unknown link is accessible too', async ({ service, newPhone }) => {
    const { page } = await newPhone();
    await page.goto(`${service.origin}/pay/nobody`);
    await titled(page, 'Payment page not found').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('the page’s Content-Security-Policy blocks injected content', async ({ visit }) => {
    const { page, complaints } = await visit();
    await page.evaluate(`
      const script = document.createElement('script');
      script.textContent = 'document.title = "smuggled"';
      document.body.append(script);
      document.body.setAttribute('style', 'color: red');
    `);
    expect(await page.title()).toBe('Pay ₹499.50 by UPI · Asha Textiles');
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toHaveLength(2);
  });
});

test('the page does not reload while the page of a link is on its way', async ({
  merchant,
  visit,
}) => {
  const { page, checkout } = await visit('payable');
  const { promise: isChecked, resolve } = Promise.withResolvers<void>();
  await page.route('**/*language=hi', async (route) => {
    await isChecked;
    await route.continue();
  });
  await page.locator('a[hreflang=hi]').click({ noWaitAfter: true });
  await merchant.sandbox.help(checkout.order, 'pay');
  const check = await page.waitForRequest('**/status');
  await (await check.response())?.finished();
  resolve();
  await page.locator('html[lang^=hi]').waitFor();
});
