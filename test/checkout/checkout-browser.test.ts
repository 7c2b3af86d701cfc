import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import { launchBrowser, violationsOf } from './browser.ts';
import type { Stage } from './states.ts';
import { advance, stageOf, untilStatus, VARIANTS, WAYS } from './states.ts';

const test = serviceTest({
  time: 'real',
  settings: { BUYER_RATE_LIMIT_PER_SECOND: '100000' },
}).extend('browser', { scope: 'file' }, ({ service: _service }, { onCleanup }) =>
  stoppedAtEnd(launchBrowser(), onCleanup),
);

const titled = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const buttonOf = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** The buyer goes through the page to the simulator's UPI app, and pays there. */
async function payThrough(page: Page, context: BrowserContext, { order }: Stage): Promise<void> {
  await page.goto(order.payment_url);
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
  test('a buyer pays, follows the order and raises a dispute', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page, complaints } = await browser.newPhone({ javaScriptEnabled: false });
    const stage = await stageOf(service, merchant);
    await payThrough(page, context, stage);
    await untilStatus(stage, 'PAID');
    await page.getByRole('link', { name: 'Check again' }).click();
    await titled(page, 'Payment successful').waitFor();

    await merchant.sandbox.post(`/orders/${stage.order.order_number}/deliver`);
    await page.getByRole('link', { name: 'Check again' }).click();
    await titled(page, 'Delivered').waitFor();

    await page.getByText('Something is wrong with my order').click();
    await page.getByLabel('What is wrong?').fill(' '.repeat(12));
    await buttonOf(page, 'Raise a dispute').click();
    const problem = page.getByRole('alert');
    await expect.poll(() => problem.textContent()).toContain('must be 10 to 2000 characters');
    expect(await page.getByLabel('What is wrong?').inputValue()).toBe(' '.repeat(12));

    await page.getByLabel('What is wrong?').fill('The kurta has a hole.\nA big one.');
    await buttonOf(page, 'Raise a dispute').click();
    await titled(page, 'You raised a dispute').waitFor();
    expect(page.url()).toBe(stage.order.payment_url);
    const { body } = await merchant.sandbox.get(`/orders/${stage.order.order_number}`);
    expect(body.data.dispute?.reason).toBe('The kurta has a hole.\nA big one.');
    // The one complaint is of the form that came back with 400.
    expect(complaints.filter((complaint) => !complaint.includes('status of 400'))).toEqual([]);
    await context.close();
  });

  test('an expired session says so, and the buyer starts again', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone({ javaScriptEnabled: false });
    const stage = await stageOf(service, merchant, WAYS.waiting);
    await page.goto(stage.order.payment_url);
    await advance(stage, 900);
    await page.getByRole('link', { name: 'Check again' }).click();
    await titled(page, 'This payment session has expired').waitFor();
    await buttonOf(page, 'Try again').click();
    await titled(page, 'Waiting for your payment').waitFor();
    await context.close();
  });
});

describe('with JavaScript', () => {
  test('the page shows by itself that the buyer has paid', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page, complaints } = await browser.newPhone();
    const stage = await stageOf(service, merchant);
    await payThrough(page, context, stage);
    await titled(page, 'Payment successful').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the seconds run, and the page shows by itself that they are over', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.clock.install();
    const stage = await stageOf(service, merchant, WAYS.waiting);
    await page.goto(stage.order.payment_url);
    const left = page.locator('[data-seconds-left]');
    const before = await left.textContent();
    await page.clock.runFor(2000);
    expect(await left.textContent()).not.toBe(before);
    await advance(stage, 900);
    await page.clock.runFor(3000);
    await titled(page, 'This payment session has expired').waitFor();
    await context.close();
  });

  test('a page that was left for the UPI app looks at once when the buyer comes back', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.clock.install();
    const stage = await stageOf(service, merchant, WAYS.waiting);
    await page.goto(stage.order.payment_url);
    await merchant.sandbox.help(stage.order, 'pay');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await titled(page, 'Payment successful').waitFor();
    await context.close();
  });

  test('what the buyer is typing is not taken away by news of the order', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.clock.install();
    const stage = await stageOf(service, merchant, WAYS.paid);
    await page.goto(stage.order.payment_url);
    await page.getByText('Something is wrong with my order').click();
    await page.getByLabel('What is wrong?').fill('It never arr');
    await merchant.sandbox.post(`/orders/${stage.order.order_number}/deliver`);
    await page.clock.runFor(61_000);
    await page.getByText('This order has changed: check again.').waitFor();
    expect(await page.getByLabel('What is wrong?').inputValue()).toBe('It never arr');
    await context.close();
  });

  test('a status that cannot be had is asked for again, ever more slowly', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.clock.install();
    const stage = await stageOf(service, merchant, WAYS.waiting);
    let asked = 0;
    await context.route('**/status', async (route) => {
      asked += 1;
      await route.abort();
    });
    await page.goto(stage.order.payment_url);
    const afterSeconds = async (seconds: number, count: number) => {
      await page.clock.runFor(seconds * 1000);
      await expect.poll(() => asked).toBe(count);
    };
    await afterSeconds(3, 1);
    await afterSeconds(6, 2);
    await afterSeconds(11, 2);
    await afterSeconds(1, 3);
    await context.unroute('**/status');
    await merchant.sandbox.help(stage.order, 'pay');
    await page.clock.runFor(24_000);
    await titled(page, 'Payment successful').waitFor();
    await context.close();
  });

  test('a page that came as the answer to a form is not sent again by the island', async ({
    service,
    merchant,
    gateway,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.clock.install();
    const stage = await stageOf(service, merchant);
    await page.goto(stage.order.payment_url);
    await gateway.addFault({ kind: 'error', method: 'POST' });
    await buttonOf(page, 'Pay now').click();
    await page.getByRole('alert').waitFor();
    await gateway.mend();
    await merchant.sandbox.help(stage.order, 'pay');
    await page.clock.runFor(15_000);
    await titled(page, 'Payment successful').waitFor();
    expect(page.url()).toBe(stage.order.payment_url);
    await context.close();
  });
});

describe('for every buyer', () => {
  /** Wider than the screen: the buyer would have to scroll sideways. */
  const isTooWide = (page: Page) =>
    page.evaluate<boolean>(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    );

  test.for(Object.entries({ ...WAYS, ...VARIANTS }))(
    'the page is accessible, fits a small phone and breaks no rule of its own: %s',
    async ([name, way], { service, merchant, browser }) => {
      const { context, page, complaints } = await browser.newPhone();
      const own = name === 'merchant_unavailable' ? await service.newMerchant() : merchant;
      const description = `Kurta ${'x'.repeat(200)}`;
      const stage = await stageOf(service, own, way, { description, merchantOrderId: 'S-1' });
      await page.setViewportSize({ width: 320, height: 568 });
      await page.goto(stage.order.payment_url);
      for (const details of await page.locator('summary').all()) await details.click();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violationsOf(page)).toEqual([]);
      }
      expect(await isTooWide(page)).toBe(false);
      expect(complaints.filter((complaint) => !complaint.includes('status of 408'))).toEqual([]);
      await context.close();
    },
  );

  test('a form that comes back leads to what is wrong with it, also for a screen reader', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    const { order } = await stageOf(service, merchant, WAYS.paid);
    await page.goto(order.payment_url);
    await page.getByText('Something is wrong with my order').click();
    await page.getByLabel('What is wrong?').fill(' '.repeat(12));
    await buttonOf(page, 'Raise a dispute').click();
    await page.getByRole('alert').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const focused = page.locator('textarea:focus');
    await expect.poll(() => focused.getAttribute('aria-describedby')).toBe('hint violation');
    await context.close();
  });

  test('the page of a link that nobody was given is accessible too', async ({
    service,
    browser,
  }) => {
    const { context, page } = await browser.newPhone();
    await page.goto(`${service.origin}/pay/nobody`);
    await titled(page, 'Payment page not found').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await context.close();
  });

  test('the policy of the page stops what somebody might smuggle in', async ({
    service,
    merchant,
    browser,
  }) => {
    const { context, page, complaints } = await browser.newPhone();
    const { order } = await stageOf(service, merchant);
    await page.goto(order.payment_url);
    await page.evaluate(`
      const script = document.createElement('script');
      script.textContent = 'document.title = "smuggled"';
      document.body.append(script);
      document.body.setAttribute('style', 'color: red');
    `);
    expect(await page.title()).toBe('Pay ₹499.50 by UPI · Asha Textiles');
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toHaveLength(2);
    await context.close();
  });
});
