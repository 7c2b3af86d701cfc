import { journeyTest } from './journey-test.ts';
import type { Person } from './person.ts';
import type { Variant } from './variants.ts';

/** From the payment link to the refund, on each of these screens. */
export function buyer(variants: readonly Variant[]): void {
  const test = journeyTest({ settings: { BUYER_RATE_LIMIT_PER_SECOND: '100000' } });

  test.for(variants)(
    'a buyer reads the page in Hindi, pays, disputes the delivered order and reads the decision and the refund: $title',
    async (variant, { merchant, newPerson }) => {
      const order = await merchant.sandbox.create();
      const person = await newPerson(variant);
      const { page } = person;
      await page.goto(order.payment_url);
      await person.sees('Pay ₹499.50 by UPI');
      await person.follow('हिन्दी');
      await person.sees('UPI से ₹499.50 का भुगतान करें');
      await person.follow('English');
      await pay(person);
      await merchant.sandbox.untilStatus(order, 'PAID');
      await seesNow(person, 'Payment successful');

      await merchant.sandbox.command(order, 'deliver', { trackingId: 'SPEEDPOST-4711' });
      await seesNow(person, 'Delivered');
      await page.getByText('SPEEDPOST-4711').waitFor();
      await page.getByText('Something is wrong with my order').click();
      await person.types({ 'What is wrong?': 'The kurta has a hole.' });
      await person.press('Raise a dispute');
      await person.sees('You raised a dispute');

      const text = 'It left our shop without a hole.';
      await merchant.sandbox.command(order, 'dispute/evidence', { text });
      await seesNow(person, 'Your dispute is under review');
      await page.getByText(text).waitFor();
      await merchant.sandbox.help(order, 'decide', { for: 'buyer' });
      await merchant.sandbox.untilStatus(order, 'REFUNDED');
      await seesNow(person, 'Refunded');
      await page.getByText('Decided for you, because').waitFor();
      await page.getByText('₹499.50 was sent back to the account you paid from').waitFor();
    },
  );
}

/** Pays in the sandbox's UPI app, which is a page of its own. */
async function pay(person: Person): Promise<void> {
  const { page, context } = person;
  await person.press('Pay now');
  await person.sees('Waiting for your payment');
  const opening = context.waitForEvent('page');
  await person.follow('Pay in the sandbox UPI app');
  const app = await opening;
  await person.press('Pay', app);
  await app.getByText('Paid', { exact: true }).waitFor();
  await app.close();
  await page.bringToFront();
}

/**
 * Opens the page again. The script, which asks for changes seldom where none is expected at once, does so
 * by itself when the buyer comes back: while it does, nothing else can open the page.
 */
async function seesNow(person: Person, heading: string): Promise<void> {
  const { page, variant } = person;
  if (variant.javaScriptEnabled) {
    const comeBack = "document.dispatchEvent(new Event('visibilitychange'))";
    // It fails if the page is being replaced already.
    await page.evaluate(comeBack).catch(() => undefined);
  } else await page.reload();
  await person.sees(heading);
}
