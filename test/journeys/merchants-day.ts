import { expect } from 'vitest';
import { todayInIndia } from '../../src/dashboard/money/period.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { merchantUser, PASSWORD } from '../support/users.ts';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import type { Variant } from './variants.ts';

const BUYER = 'meera@buyers.example';

export function merchantsDay(variants: readonly Variant[]): void {
  // All five attempts fail within a moment.
  const test = journeyTest({ settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '0.1,0.1,0.1,0.1' } });

  test.for(variants)(
    'a merchant finds and refunds an order, answers a dispute, sends a webhook again and saves the statement: $title',
    async (variant, { service, newPerson }) => {
      const merchant = await service.newMerchant();
      const { paid, disputed } = await ordersOfTheDay(merchant);
      const { email } = await merchantUser(service.sql, merchant.merchantId);
      const person = await newPerson(variant);
      await logIn(person, email);
      await refund(person, paid);
      await merchant.sandbox.untilStatus(paid, 'REFUNDED');
      await answerDispute(person, disputed);
      await untilGivenUp(service, merchant);
      await sendAgain(person);
      await saveStatement(person, await merchant.sandbox.read(paid));
      await person.goTo('Home');
      await person.sees('Home');
    },
  );
}

/** An order that is paid and one that is disputed; the endpoint refuses what tells of the dispute. */
async function ordersOfTheDay({ sandbox, receiver }: Merchant) {
  receiver.answerWith(({ event }) => (event === 'DISPUTE_RAISED' ? 500 : 200));
  const [paid, disputed] = [
    await sandbox.create({ buyerEmail: BUYER, description: 'Green sari' }),
    await sandbox.create(),
  ];
  for (const order of [paid, disputed]) await sandbox.help(order, 'pay');
  await sandbox.help(disputed, 'dispute', { reason: 'It never came to me' });
  return { paid, disputed };
}

async function logIn(person: Person, email: string): Promise<void> {
  await person.page.goto('/');
  await person.follow('Log in');
  await person.sees('Log in');
  await person.types({ 'E-mail': email, Password: PASSWORD });
  await person.press('Log in');
  await person.sees('Home');
}

/** Finds the order, goes back once from the question, then answers it. */
async function refund(person: Person, order: Order): Promise<void> {
  const { page } = person;
  await person.goTo('Orders');
  await person.sees('Orders');
  await person.types({ 'Search (optional)': BUYER });
  await person.press('Show');
  await page.waitForURL('**/orders?*');
  const statuses = page.getByRole('navigation', { name: 'Status' });
  await statuses.getByRole('link', { name: 'To deliver' }).click();
  await page.waitForURL('**status=PAID*');
  await person.sees('Orders');
  expect(await page.getByRole('table').getByText('Green sari').count()).toBe(1);
  await page.getByTitle(order.order_number).click();
  await person.sees(`Order ${order.order_number}`);
  for (const answer of ['Go back', 'Refund the buyer']) {
    // The dialog leaves the form as it was.
    const isOpen = person.variant.javaScriptEnabled && answer !== 'Go back';
    if (!isOpen) await page.locator('summary', { hasText: 'Refund the buyer' }).click();
    const form = page.getByRole('form', { name: 'Refund the buyer' });
    await form.getByLabel('Why you cannot fulfil the order').fill('It is sold out');
    await person.press('Continue', form);
    await person.answers('Refund the buyer?', ['₹499.50', BUYER], answer);
  }
  await person.reads('Done: Refund the buyer.');
}

async function answerDispute(person: Person, { order_number: number }: Order): Promise<void> {
  const { page } = person;
  await person.goTo('Disputes');
  await person.sees('Disputes');
  await page.getByText('It never came to me').waitFor();
  await page.locator('summary', { hasText: 'Submit evidence' }).click();
  const form = page.getByRole('form', { name: 'Submit evidence' });
  await form.getByLabel('Your evidence').fill('Signed for on Monday');
  await person.press('Submit evidence', form);
  await person.reads('Done: Submit evidence.');
  await person.sees(`Order ${number}`);
  await person.status('DISPUTE_UNDER_REVIEW');
}

/** The list of failed webhooks, once opened, does not change: the fifth attempt must be recorded. */
async function untilGivenUp({ sql }: TestService, { merchantId, receiver }: Merchant) {
  const failed = () => sql`
    SELECT FROM webhook_deliveries WHERE merchant_id = ${merchantId} AND state = 'FAILED'`;
  await until(async () => (await failed()).length === 1);
  receiver.answerWith(() => 200);
}

async function sendAgain(person: Person): Promise<void> {
  const { page } = person;
  await person.goTo('Webhooks');
  await person.sees('Webhook endpoint');
  await person.follow('Sent webhooks');
  await person.sees('Webhooks');
  await person.follow('Failed', page.getByRole('navigation', { name: 'Status' }));
  await page.waitForURL('**state=FAILED*');
  await person.sees('Webhooks');
  await person.follow('DISPUTE_RAISED', page.getByRole('table'));
  await person.sees('Webhook DISPUTE_RAISED');
  await person.press('Send it again in the sandbox');
  // The page waits for the answer for some seconds, and otherwise asks to be loaded again.
  await person.reads(/It (was sent again, and your server has accepted it|is being sent again)\./);
  await until(async () => {
    await page.reload();
    return (await page.locator('h1 .tag[title=DELIVERED]').count()) === 1;
  });
  await person.sees('Webhook DISPUTE_RAISED');
}

/** Saves the statement of the day of the refund, which in India may be over by now. */
async function saveStatement(person: Person, { order_number: number, refund: made }: Order) {
  const { page } = person;
  await person.goTo('Statements');
  await person.sees('Statements');
  const day = todayInIndia(new Date(made?.processed_at ?? ''));
  const statement = new URL(page.url());
  statement.searchParams.set('day', day);
  await page.goto(statement.href);
  await person.sees('Statements');
  await page.getByRole('row').filter({ hasText: 'Refunded' }).first().waitFor();
  const downloading = page.waitForEvent('download');
  await person.follow('Save this day as CSV');
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(`statement-sandbox-${day}.csv`);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString().split('\n');
  expect(lines.some((line) => line.includes('refunded') && line.includes(number))).toBe(true);
}
