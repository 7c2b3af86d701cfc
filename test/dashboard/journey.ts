import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { phonesOf } from '../support/browser.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { operatorUser } from '../support/users.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { finishApplication, typeBusiness } from './application-form.ts';
import { dashboardTest } from './dashboard-test.ts';

type Smtp = Awaited<ReturnType<typeof startSmtpReceiver>>;

const PASSWORD = 'twelve blue kurtas on a line';
const SCREEN = { viewport: { width: 1280, height: 900 }, deviceScaleFactor: 1 };

function journeyTest(smtp: Smtp) {
  const test = dashboardTest({
    time: 'real',
    settings: {
      SMTP_URL: smtp.url,
      MAIL_FROM: 'Payments <no-reply@payments.example>',
    },
  })
    .extend('newPhone', ({ service: _service }, { onCleanup }) => phonesOf(onCleanup))
    .extend('receiver', async ({ service: _service }, { onCleanup }) => {
      const receiver = await startWebhookReceiver();
      onCleanup(() => receiver.stop());
      return receiver;
    });
  test.afterAll(() => smtp.stop());
  return test;
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click();

/** The link in the latest mail to an address. */
async function linkInMail(smtp: Smtp, to: string): Promise<string> {
  const mails = await smtp.received(to);
  return /https?:\/\/\S+/.exec(mails.at(-1)!.text)![0];
}

async function signUp(smtp: Smtp, page: Page, email: string): Promise<void> {
  await page.goto('/dashboard');
  await follow(page, 'Sign up');
  await page.getByLabel('Name of the business').fill('Asha Textiles');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Sign up');
  await page.getByText('Check your e-mail at').waitFor();
  await page.goto(await linkInMail(smtp, email));
  await page.getByLabel('The password that you have just chosen').fill(PASSWORD);
  await press(page, 'Confirm the address');
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
}

async function apply(page: Page): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: 'Business' })
    .click();
  await follow(page, 'Edit the business');
  await page.getByLabel('Kind of business').selectOption('Company');
  await typeBusiness(page);
  await press(page, 'Save and continue');
  await finishApplication(page);
}

/** One admin proposes it, another one approves it. */
async function approve(operator: Page, second: Page): Promise<void> {
  await operator.goto('/operator/merchants');
  const waiting = operator.getByRole('region', { name: 'Waiting for a decision' });
  await waiting.getByRole('link').last().click();
  await operator.getByLabel('Reason').fill('All documents fit');
  await press(operator, 'Propose to approve');
  await operator.getByText('Another operator has to approve it within 24 hours.').waitFor();
  await second.goto('/operator');
  await follow(second, 'Approve a merchant');
  await press(second, 'Approve');
  await second.getByText('It is approved and carried out.').waitFor();
}

/** Generates the sandbox's key. @returns the credentials as they are shown, once */
async function generateKey(page: Page): Promise<Record<string, string>> {
  await page.goto('/dashboard/sandbox');
  await follow(page, 'Generate an API key');
  await press(page, 'Generate the sandbox key');
  const shown = (label: string) => page.getByLabel(label, { exact: true }).innerText();
  const apiSecret = await shown('API secret');
  await page.getByText(`-H 'X-API-Secret: ${apiSecret}'`).waitFor();
  return { 'X-API-Key': await shown('API key'), 'X-API-Secret': apiSecret };
}

async function setWebhookUrl(page: Page, url: string): Promise<string> {
  await page.goto('/dashboard/sandbox/webhooks');
  await page.getByLabel('Webhook URL').fill('http://169.254.169.254/latest');
  await press(page, 'Save the URL');
  await page.getByText('The webhook URL').first().waitFor();
  await page.getByLabel('Webhook URL').fill(url);
  await press(page, 'Save the URL');
  return page
    .getByText(/whsec_\w+/)
    .first()
    .innerText();
}

/** Opens an action of the order's page, fills in its fields and carries it out. */
async function act(page: Page, label: string, fields: Record<string, string> = {}): Promise<void> {
  await page.locator('summary', { hasText: label }).first().click();
  const form = page.getByRole('form', { name: label });
  for (const [name, value] of Object.entries(fields)) await form.getByLabel(name).fill(value);
  await form.getByRole('button', { name: label }).click();
}

/** @param word of the API, which the status has as its title */
const status = (page: Page, word: string) => page.locator(`.tag[title=${word}]`).first().waitFor();

/** A merchant's journey through all pages, in browsers with these options. */
export async function journeyWith(
  name: string,
  { javaScriptEnabled }: { javaScriptEnabled: boolean },
): Promise<void> {
  const smtp = await startSmtpReceiver();
  const test = journeyTest(smtp);
  test(`${name}, a merchant signs up, is approved, takes a payment, gets its webhooks and answers a dispute`, async ({
    service,
    newPhone,
    receiver,
  }) => {
    const email = `asha-${String(javaScriptEnabled)}@shop.example`;
    const options = { ...SCREEN, javaScriptEnabled, baseURL: service.origin };
    const { page } = await newPhone(options);
    const url = service.origin.replace('http:', 'https:');
    const operatorPage = async () => {
      const { page: of, context } = await newPhone(options);
      const { cookie } = await operatorUser(service.sql, 'admin');
      const value = cookie.slice(SESSION_COOKIE.length + 1);
      await context.addCookies([{ name: SESSION_COOKIE, value, url, sameSite: 'Strict' }]);
      return of;
    };
    const operator = await operatorPage();

    await signUp(smtp, page, email);
    await apply(page);
    await approve(operator, await operatorPage());
    await smtp.received(email, 2);

    const credentials = await generateKey(page);
    expect(await setWebhookUrl(page, receiver.url)).toMatch(/whsec_\w{36}/);

    receiver.answerWith(({ event }) => (event === 'DELIVERY_CONFIRMED' ? 500 : 200));
    const created = await fetch(`${service.origin}/sandbox/api/merchant/v1/orders`, {
      method: 'POST',
      headers: { ...credentials, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        amount: 499.5,
        buyerEmail: 'buyer@example.com',
        buyerPhone: '+919876543210',
        description: 'Blue kurta, size M',
      }),
    });
    expect(created.status).toBe(201);
    const { data } = (await created.json()) as { data: { order_number: string } };
    await page.goto('/dashboard/sandbox/orders');
    await page.getByTitle(data.order_number).click();
    await act(page, 'Pay as the buyer');
    await status(page, 'PAID');
    await act(page, 'Mark as delivered', { 'Tracking ID': 'TRK-1' });
    await status(page, 'DELIVERED');

    await receiver.until(1, ({ event }) => event === 'DELIVERY_CONFIRMED');
    receiver.answerWith(() => 200);
    await page.goto('/dashboard/sandbox/deliveries?event=DELIVERY_CONFIRMED');
    await page.getByRole('table').getByRole('link', { name: 'DELIVERY_CONFIRMED' }).click();
    await press(page, 'Send it again in the sandbox');
    await status(page, 'DELIVERED');
    await receiver.until(2, ({ event }) => event === 'DELIVERY_CONFIRMED');

    await page.goto(`/dashboard/sandbox/orders/${data.order_number}`);
    await act(page, 'Raise a dispute as the buyer', {
      "The buyer's reason": 'It never came to me',
    });
    await status(page, 'DISPUTE_OPEN');
    await page.goto('/dashboard/sandbox/disputes');
    await act(page, 'Submit evidence', { 'Your evidence': 'Signed for on Monday' });
    await page.goto(`/dashboard/sandbox/orders/${data.order_number}`);
    await status(page, 'DISPUTE_UNDER_REVIEW');

    await operator.goto(`/operator/disputes/${data.order_number}`);
    await operator.getByText('It never came to me').first().waitFor();
    await operator.getByText('Signed for on Monday').first().waitFor();
    await operator.getByLabel('Decide for').selectOption('merchant');
    await operator.getByLabel('Reason').fill('The courier has a signature');
    await press(operator, 'Continue');
    await press(operator, 'Decide');
    await page.reload();
    await status(page, 'DELIVERED');
    await page.getByText('The courier has a signature').first().waitFor();
    await receiver.until(1, ({ event }) => event === 'DISPUTE_RESOLVED');
  });
}
