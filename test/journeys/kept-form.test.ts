import { expect } from 'vitest';
import type { TestService } from '../support/service.ts';
import type { TestUser } from '../support/users.ts';
import { merchantUser, PASSWORD, signIn } from '../support/users.ts';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import { QUICK } from './variants.ts';

const test = journeyTest().extend(
  'user',
  async ({ service }): Promise<TestUser & { merchantId: string }> => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    return { ...(await merchantUser(service.sql, merchantId)), merchantId };
  },
);

const PAGE = '/dashboard/production/webhooks';
const TYPED = 'https://1.1.1.1/hooks-of-asha';
const SAVE = 'Save the URL';
const NOTHING_YET = 'Nothing was done yet. What you typed is in its form again';

/** With JavaScript and without it. */
const VARIANTS = [QUICK.merchantsDay, QUICK.buyer];

async function savedUrl({ sql }: TestService, merchantId: string): Promise<unknown> {
  const [row] = await sql`
    SELECT webhook_url FROM merchant_environments
    WHERE merchant_id = ${merchantId} AND environment = 'production'`;
  return row?.['webhookUrl'] ?? null;
}

async function typeUrl(person: Person): Promise<void> {
  await person.page.goto(PAGE);
  await person.sees('Webhook endpoint');
  await person.types({ 'Webhook URL': TYPED });
}

/** The page has what was typed and says that nothing was done; one press of the button does it, and ends the notice. */
async function saveWhatIsKept(person: Person, isSaved: () => Promise<unknown>): Promise<void> {
  const { page } = person;
  await person.sees('Webhook endpoint');
  await person.reads(NOTHING_YET);
  expect(await page.getByLabel('Webhook URL').inputValue()).toBe(TYPED);
  expect(await isSaved()).toBeNull();
  await person.press(SAVE);
  await person.reads(/whsec_\w{36}/);
  expect(await isSaved()).toBe(TYPED);
  await page.goto(PAGE);
  await person.sees('Webhook endpoint');
  expect(await page.getByText(NOTHING_YET).count()).toBe(0);
  expect(await page.getByLabel('Webhook URL').inputValue()).toBe(TYPED);
}

test.for(VARIANTS)(
  'a URL that was typed is still there after the password was asked for again: $title',
  async (variant, { service, newPerson, user }) => {
    const cookie = await signIn(service.sql, user.userId, { isConfirmed: false });
    const person = await newPerson(variant, { ...user, cookie });
    await typeUrl(person);
    await person.press(SAVE);
    await person.sees('Confirm that it is you');
    await person.reads(/Nothing was done yet.+you are back at its form with what you typed/);
    await person.types({ 'Your password': PASSWORD });
    await person.press('Confirm');
    await saveWhatIsKept(person, () => savedUrl(service, user.merchantId));
  },
);

test('a URL that was typed is still there after a new log-in, because the user has logged out in another tab', async ({
  service,
  newPerson,
  user,
}) => {
  const person = await newPerson(QUICK.buyer, user);
  const { page, context } = person;
  await typeUrl(person);
  const other = await context.newPage();
  await other.goto(PAGE);
  await other.request.post('/dashboard/logout', { headers: { 'Sec-Fetch-Site': 'same-origin' } });
  await other.close();
  await page.bringToFront();
  await person.press(SAVE);
  await person.sees('Log in');
  await person.reads('You were logged out meanwhile, and nothing was done.');
  await person.types({ 'E-mail': user.email, Password: PASSWORD });
  await person.press('Log in');
  await saveWhatIsKept(person, () => savedUrl(service, user.merchantId));
});
