import { expect } from 'vitest';
import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import type { Variant } from './variants.ts';

const test = journeyTest({ settings: { BUYER_RATE_LIMIT_PER_SECOND: '100000' } });

const PHONE = {
  title: 'a phone',
  javaScriptEnabled: true,
  colorScheme: 'light',
  viewport: { width: 390, height: 900 },
} as const satisfies Variant;
/** The UPI address of the gateway simulator. */
const ADDRESS = 'sandbox.razorpay@simulator';

const WORDS = {
  en: {
    pay: 'Pay now',
    waiting: 'Waiting for your payment',
    address: `UPI address ${ADDRESS}`,
    amount: 'Amount ₹499.50',
    open: 'Open my UPI app',
    nothingOpened: /^No UPI app has opened\. Copy the UPI address below/,
    copy: 'Copy the UPI address',
    copied: 'Copied',
  },
  hi: {
    pay: 'अभी भुगतान करें',
    waiting: 'आपके भुगतान का इंतज़ार है',
    address: `UPI पता ${ADDRESS}`,
    amount: 'रक़म ₹499.50',
    open: 'मेरा UPI ऐप खोलें',
    nothingOpened: /^कोई UPI ऐप नहीं खुला। नीचे दिया UPI पता कॉपी करके/,
    copy: 'UPI पता कॉपी करें',
    copied: 'कॉपी हो गया',
  },
} as const;
const LANGUAGES = ['en', 'hi'] as const;
type Words = (typeof WORDS)[keyof typeof WORDS];

/** Follows the payment link, and reads the address and the amount of the open session. */
async function begin({ page, ...person }: Person, url: string, words: Words): Promise<void> {
  await page.goto(url);
  await person.press(words.pay);
  await person.sees(words.waiting);
  await page.getByText(words.address).waitFor();
  await page.getByText(words.amount).waitFor();
}

test.for(LANGUAGES)(
  'a buyer whose browser opens no UPI app reads so, and copies the UPI address: %s',
  async (language, { merchant, newPerson }) => {
    const words = WORDS[language];
    const order = await merchant.sandbox.create();
    const person = await newPerson(PHONE);
    const { page, context } = person;
    await begin(person, `${order.payment_url}?language=${language}`, words);
    // Nothing on this machine opens `upi:`, as in the browser inside another app.
    const message = page.getByText(words.nothingOpened);
    expect(await message.count()).toBe(0);
    await person.follow(words.open);
    await message.waitFor();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await person.press(words.copy);
    await page.getByText(words.copied, { exact: true }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(ADDRESS);
  },
);

test('a buyer whose UPI app has opened reads nothing of the kind', async ({
  merchant,
  newPerson,
}) => {
  const order = await merchant.sandbox.create();
  const person = await newPerson(PHONE);
  const { page } = person;
  await page.clock.install();
  await begin(person, order.payment_url, WORDS.en);
  // From here on the test says when two seconds have passed.
  await page.clock.pauseAt(Number(await page.evaluate('Date.now()')) + 60_000);
  await person.follow(WORDS.en.open);
  // The app in front of the browser takes the focus.
  await page.evaluate("dispatchEvent(new Event('blur'))");
  await page.clock.runFor(2500);
  expect(await page.getByText(WORDS.en.nothingOpened).count()).toBe(0);
  await person.follow(WORDS.en.open);
  await page.clock.runFor(2500);
  expect(await page.getByText(WORDS.en.nothingOpened).count()).toBe(1);
});

test('without JavaScript the UPI address is there as text, with what to do', async ({
  merchant,
  newPerson,
}) => {
  for (const language of LANGUAGES) {
    const words = WORDS[language];
    const order = await merchant.sandbox.create();
    const person = await newPerson({ ...PHONE, javaScriptEnabled: false });
    await begin(person, `${order.payment_url}?language=${language}`, words);
    expect(await person.page.getByRole('button', { name: words.copy }).count()).toBe(0);
  }
});
