import { expect } from 'vitest';
import { finishApplication, typeBusiness } from '../dashboard/application-form.ts';
import { sendCurl } from '../support/curl.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { operatorUser } from '../support/users.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import type { Variant } from './variants.ts';

type Smtp = Awaited<ReturnType<typeof startSmtpReceiver>>;

const PASSWORD = 'twelve blue kurtas on a line';

/** From the first page to the first order, on each of these screens. */
export async function newMerchant(variants: readonly Variant[]): Promise<void> {
  const smtp = await startSmtpReceiver();
  const settings = { SMTP_URL: smtp.url, MAIL_FROM: 'Payments <no-reply@payments.example>' };
  const test = journeyTest({ settings }).extend(
    'receiver',
    async ({ service: _service }, { onCleanup }) => {
      const receiver = await startWebhookReceiver();
      onCleanup(() => receiver.stop());
      return receiver;
    },
  );
  test.afterAll(() => smtp.stop());

  test.for(variants)(
    'a new merchant signs up, applies, is approved by two operators and creates a first order: $title',
    async (variant, { service, newPerson, receiver }) => {
      const email = `asha-${variant.title.replaceAll(/\W+/g, '-')}@shop.example`.toLowerCase();
      const merchant = await newPerson(variant);
      await signUp(smtp, merchant, email);
      await apply(merchant);
      const admins = [0, 1].map(async () =>
        newPerson(variant, await operatorUser(service.sql, 'admin')),
      );
      await approve(await Promise.all(admins), email);
      await smtp.received(email, 2);
      const command = await generateKey(merchant);
      await setWebhookUrl(merchant, receiver.url);

      const created = await sendCurl(command);
      expect(created.status).toBe(201);
      const { data } = (await created.json()) as { data: { order_number: string } };
      await merchant.goTo('Orders');
      await merchant.sees('Orders');
      await merchant.page.getByTitle(data.order_number).click();
      await merchant.sees(`Order ${data.order_number}`);
      await merchant.status('ACCEPTED');
    },
  );
}

async function signUp(smtp: Smtp, merchant: Person, email: string): Promise<void> {
  const { page } = merchant;
  await page.goto('/');
  await merchant.sees('Paid by UPI. Held until it is delivered.');
  await merchant.follow('Create an account');
  await merchant.sees('Sign up');
  await merchant.types({
    'Name of the business': 'Asha Textiles',
    'E-mail': email,
    Password: PASSWORD,
  });
  await merchant.press('Sign up');
  await merchant.reads(`Check your e-mail at ${email}`);
  const [mail] = await smtp.received(email);
  await page.goto(/https?:\/\/\S+/.exec(mail?.text ?? '')?.[0] ?? '');
  await merchant.sees('Confirm your address');
  await merchant.types({ 'The password that you have just chosen': PASSWORD });
  await merchant.press('Confirm the address');
  await merchant.sees('Home');
}

async function apply(merchant: Person): Promise<void> {
  const { page } = merchant;
  await merchant.follow('Have your business approved');
  await merchant.sees('Your business');
  await merchant.follow('Edit the business');
  await page.getByLabel('Kind of business').selectOption('Company');
  await typeBusiness(page);
  await merchant.press('Save and continue');
  await merchant.sees('Your bank account');
  await finishApplication(page);
  await merchant.sees('Your business');
}

/** One admin proposes it, another one approves it. */
async function approve([first, second]: Person[], email: string): Promise<void> {
  if (!first || !second) throw new Error('Two admins are needed');
  await first.page.goto('/operator/merchants');
  await first.sees('Merchants');
  const waiting = first.page.getByRole('region', { name: 'Waiting for a decision' });
  await waiting.getByRole('row').filter({ hasText: email }).getByRole('link').click();
  await first.sees('Asha Textiles');
  await first.types({ Reason: 'All documents fit' });
  await first.press('Propose to approve');
  await first.reads('Another operator has to approve it within 24 hours.');
  await second.page.goto('/operator');
  await second.sees('Work queue');
  await second.follow('Approve a merchant');
  await second.sees('Approve a merchant');
  await second.press('Approve');
  await second.reads('It is approved and carried out.');
}

/** Generates the sandbox's key. @returns the command that creates a first order, with the key */
async function generateKey(merchant: Person): Promise<string> {
  await merchant.goTo('Home');
  await merchant.follow('Generate an API key');
  await merchant.sees('API keys');
  await merchant.press('Generate the sandbox key');
  await merchant.sees('Your sandbox key and its secret');
  return merchant.page.getByLabel('command', { exact: true }).innerText();
}

async function setWebhookUrl(merchant: Person, url: string): Promise<void> {
  await merchant.goTo('Home');
  await merchant.follow('Set a webhook URL');
  await merchant.sees('Webhook endpoint');
  await merchant.types({ 'Webhook URL': url });
  await merchant.press('Save the URL');
  await merchant.reads(/whsec_\w{36}/);
}
