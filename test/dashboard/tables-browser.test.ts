import { expect } from 'vitest';
import { stopClock } from '../support/browser.ts';
import { ordersTest } from './orders-browser.ts';

const test = ordersTest();

/** The words of cells that take more than one line, as a browser lays them out. */
const BROKEN_WORDS = `
  [...document.querySelectorAll('.table td')].flatMap((cell) => {
    const words = [];
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      for (const { index, 0: word } of text.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) words.push(word);
      }
    }
    return words;
  })`;

test.for([320, 390, 720, 1024, 1440])(
  'no word in a cell is broken, and no table makes the page wider: %i pixels',
  async (width, { service, merchant, newPhone }) => {
    await merchant.sandbox.create({
      merchantOrderId: `SHOP-${'7'.repeat(45)}-${width}`,
      description: `Incomprehensibilities ${'x'.repeat(200)}`,
      buyerEmail: `somebody.with.a.rather.long.name@${'department.'.repeat(5)}example.com`,
    });
    await merchant.sandbox.create();
    const { page } = await newPhone({ viewport: { width, height: 900 } });
    for (const below of ['orders', 'deliveries', 'statements']) {
      await page.goto(`${service.origin}/dashboard/sandbox/${below}`);
      const broken = await page.evaluate(BROKEN_WORDS);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect({ below, broken, overflow }).toEqual({ below, broken: [], overflow: 0 });
    }
  },
);

test('the table scrolls by the keyboard when it is wider than its place', async ({
  service,
  merchant,
  newPhone,
}) => {
  await merchant.sandbox.create();
  const { page } = await newPhone({ viewport: { width: 800, height: 900 } });
  await page.goto(`${service.origin}/dashboard/sandbox/orders`);
  await page.evaluate('document.querySelector(".table").style.width = "10rem"');
  await page.getByRole('group', { name: 'Orders, newest first' }).focus();
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(() => page.evaluate('document.querySelector(".table").scrollLeft'))
    .toBeGreaterThan(0);
});

test('an id is shortened, has its whole text as title, and is copied by its button', async ({
  service,
  merchant,
  newPhone,
}) => {
  const { order_number: number } = await merchant.sandbox.create();
  const { context, page } = await newPhone();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await stopClock(page);
  await page.goto(`${service.origin}/dashboard/sandbox/orders?q=${number}`);
  const id = page.getByTitle(number);
  expect(await id.textContent()).toBe(`${number.slice(0, 4)}…${number.slice(-6)}`);
  await page.getByRole('button', { name: 'Copy order number' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(number);
  await page.clock.runFor(3000);
  await page.getByRole('button', { name: 'Copy order number' }).waitFor();
});

test('one box selects all webhooks of a page', async ({ service, merchant, newPhone }) => {
  await merchant.sandbox.create();
  const { page } = await newPhone({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${service.origin}/dashboard/sandbox/deliveries`);
  const boxes = page.locator('tbody input[type=checkbox]');
  const all = await boxes.count();
  expect(all).toBeGreaterThan(0);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  expect(await page.locator('tbody input:checked').count()).toBe(all);
});

test('without JavaScript there is no button to copy, and the id leads to its page', async ({
  service,
  merchant,
  newPhone,
}) => {
  const { order_number: number } = await merchant.sandbox.create();
  const { page } = await newPhone({ javaScriptEnabled: false });
  await page.goto(`${service.origin}/dashboard/sandbox/orders?q=${number}`);
  expect(await page.getByRole('button', { name: 'Copy order number' }).count()).toBe(0);
  await page.getByTitle(number).click();
  await page.waitForURL(`**/orders/${number}`);
});
