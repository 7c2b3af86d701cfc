import type { BrowserContextOptions } from 'playwright-core';
import { expect } from 'vitest';
import { launchBrowser, phonesOf, violationsOf } from '../checkout/browser.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import { merchantUser } from '../support/users.ts';

const test = serviceTest({ time: 'real' })
  .extend('browser', { scope: 'file' }, ({ service: _service }, { onCleanup }) =>
    stoppedAtEnd(launchBrowser(), onCleanup),
  )
  .extend('cookie', { scope: 'file' }, async ({ service, merchant }) => {
    const { cookie } = await merchantUser(service.sql, merchant.merchantId);
    const [name = '', value = ''] = cookie.split('=');
    // Browsers take an address of the machine itself for a secure origin.
    return { name, value, domain: '127.0.0.1', path: '/', secure: true };
  })
  .extend('newPhone', ({ browser, cookie }, { onCleanup }) => {
    const newPhone = phonesOf(browser, onCleanup);
    return async (options?: BrowserContextOptions) => {
      const phone = await newPhone(options);
      await phone.context.addCookies([cookie]);
      return phone;
    };
  });

const WIDTHS = [360, 1440];
const SCHEMES = ['light', 'dark'] as const;

test('home, orders, an order with its forms open, and disputes: accessible in both schemes, no wider than the screen', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create({ merchantOrderId: 'SHOP-1' });
  await merchant.sandbox.help(order, 'pay');
  await merchant.sandbox.help(order, 'dispute', { reason: 'It never arrived at all' });
  await merchant.sandbox.create({ description: 'x'.repeat(500) });
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const viewport = { width, height: 900 };
      const { page, complaints } = await newPhone({ viewport, colorScheme });
      for (const below of ['', '/orders', `/orders/${order.order_number}`, '/disputes']) {
        await page.goto(`${service.origin}/dashboard/sandbox${below}`);
        await page.evaluate(
          'document.querySelectorAll("details").forEach((one) => (one.open = true))',
        );
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        const found = { below, overflow, violations: await violationsOf(page) };
        expect(found).toEqual({ below, overflow: 0, violations: [] });
      }
      expect(complaints).toEqual([]);
    }
  }
});

test('the page of an order shows a change of the order without being touched', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  const { page } = await newPhone();
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${order.order_number}`);
  await page.getByText('Waiting for the buyer to pay').waitFor();
  await merchant.sandbox.help(order, 'pay');
  await page.getByText('Waiting for you to mark the order delivered').waitFor();
});

test('without JavaScript an order is marked as delivered by the keyboard alone', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { page } = await newPhone({ javaScriptEnabled: false });
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${order.order_number}`);
  await page.locator('summary', { hasText: 'Mark as delivered' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('TRK-9');
  await page.keyboard.press('Enter');
  await page.getByText('Done: Mark as delivered.').waitFor();
  await page.getByText('TRK-9').waitFor();
});
