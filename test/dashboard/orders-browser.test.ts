import { stopClock } from '../support/browser.ts';
import { ordersOn, ordersTest } from './orders-browser.ts';
import { ONE_SCREEN } from './screens.ts';

const test = ordersTest();

ordersOn(test, [ONE_SCREEN]);

test('the page of an order shows a change of the order without being touched', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  const { page } = await newPhone();
  await stopClock(page);
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${order.order_number}`);
  await page.getByText('Waiting for the buyer to pay').waitFor();
  await merchant.sandbox.help(order, 'pay');
  await page.clock.runFor(60_000);
  await page.getByText('Waiting for you to mark the order delivered').waitFor();
});

test('the page of an order does not reload while a form is open', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { page } = await newPhone();
  await stopClock(page);
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${order.order_number}`);
  const form = page.locator('summary', { hasText: 'Mark as delivered' });
  await form.click();
  await merchant.sandbox.post(`/orders/${order.order_number}/deliver`);
  await page.clock.runFor(60_000);
  await page.getByText('This page has changed.').waitFor();
  await form.click();
  await page.clock.runFor(60_000);
  await page.locator('h1 .tag[title=DELIVERED]').waitFor();
});

test('the page of an order does not reload while the page of a link is on its way', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  const { page } = await newPhone();
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${order.order_number}`);
  const { promise: isChecked, resolve } = Promise.withResolvers<void>();
  await page.route('**/sandbox/disputes', async (route) => {
    await isChecked;
    await route.continue();
  });
  await page.getByRole('link', { name: 'Disputes', exact: true }).click({ noWaitAfter: true });
  await merchant.sandbox.help(order, 'pay');
  const check = await page.waitForRequest('**/version');
  await (await check.response())?.finished();
  resolve();
  await page.getByRole('heading', { level: 1, name: 'Disputes' }).waitFor();
});

test('a form whose question is not asked shows its refusal, or the page that asks for the password', async ({
  service,
  merchant,
  newPhone,
}) => {
  const order = await merchant.sandbox.create();
  const number = order.order_number;
  await merchant.sandbox.help(order, 'pay');
  const { page } = await newPhone();
  await page.goto(`${service.origin}/dashboard/sandbox/orders/${number}`);
  await page.locator('summary', { hasText: 'Refund the buyer' }).click();
  const send = async (reason: string) => {
    await page.locator('textarea[name$=refundOrder-reason]').fill(reason);
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  await send(' ');
  await page.getByRole('alert').waitFor();
  await service.sql`UPDATE orders SET amount_paise = 500001 WHERE order_number = ${number}`;
  await service.sql`UPDATE dashboard_sessions SET confirmed_at = NULL`;
  await send('It is sold out');
  await page.getByText('Nothing was done yet').waitFor();
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
