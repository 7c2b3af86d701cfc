import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { LANGUAGES } from '../../src/pages/language.ts';
import { violationsOf } from '../support/browser.ts';
import { open, textOf } from './buyer.ts';
import type { checkoutBrowserTest } from './checkout-browser.ts';
import { isTooWide } from './checkout-browser.ts';
import type { Checkout, PageState } from './states.ts';
import { checkoutIn, PAGE_STATES } from './states.ts';

/** What the buyer reads in each state and variant of it, in English and in Hindi. */
const SAYS: Record<PageState, readonly [english: string, hindi: string]> = {
  payable: ['Pay ₹499.50 by UPI Your money is held until', 'UPI से ₹499.50 का भुगतान करें'],
  waiting: ['Waiting for your payment Pay in your UPI app', 'आपके भुगतान का इंतज़ार है'],
  failed_attempt: ['Your last payment did not go through.', 'आपका पिछला भुगतान नहीं हो पाया।'],
  session_expired: ['This payment session has expired', 'भुगतान का समय समाप्त हो गया'],
  confirming: ['Payment received We are confirming your order', 'भुगतान मिल गया'],
  reported: [
    'Your payment of ₹499.50 was reported to us, and we are confirming it. Please do not pay again',
    'आपके ₹499.50 के भुगतान की सूचना हमें मिल गई है',
  ],
  looked_at: [
    'Your payment is being looked at We have your payment',
    'आपके भुगतान की जाँच की जा रही है',
  ],
  looked_at_and_cancelled: [
    'Asha Textiles has cancelled it. Another payment of yours for this order is being looked at.',
    'इस ऑर्डर के लिए आपके एक और भुगतान की जाँच की जा रही है।',
  ],
  closing: ['This order is being cancelled Please do not pay', 'यह ऑर्डर रद्द किया जा रहा है'],
  link_expired: [
    'This payment link has expired Ask Asha Textiles for a new one',
    'नए लिंक के लिए Asha Textiles से संपर्क करें।',
  ],
  merchant_unavailable: [
    'Asha Textiles cannot take payments now',
    'Asha Textiles को अभी भुगतान नहीं किया जा सकता।',
  ],
  paid: ['Payment successful ₹499.50 is paid and held for you', 'भुगतान सफल रहा'],
  paid_twice: [
    'A payment of ₹499.50 came although this order was already paid. It was sent back',
    '₹499.50 का एक भुगतान तब मिला, जब इस ऑर्डर का भुगतान हो चुका था।',
  ],
  wrong_amount: [
    'A payment of ₹499.50 is not the amount of this order. It is being sent back to you in full.',
    'इसे पूरा का पूरा आपको वापस भेजा जा रहा है।',
  ],
  delivered: ['Asha Textiles has marked your order as delivered', 'डिलीवर हो गया'],
  disputed: ['You raised a dispute Asha Textiles has time to answer until', 'आपने विवाद दर्ज किया है'],
  disputed_before_delivery: ['You raised a dispute', 'आपने विवाद दर्ज किया है'],
  disputed_by_operator: ['We raised a dispute for you', 'हमने आपके लिए विवाद दर्ज किया है'],
  disputed_twice: ['Earlier disputes Your dispute 1', 'पहले के विवाद आपका विवाद 1'],
  disputed_five_times: [
    'You can raise no other one: Asha Textiles gets the money after',
    'अब आप कोई और विवाद दर्ज नहीं कर सकते',
  ],
  under_review: ['Your dispute is under review', 'आपके विवाद की जाँच चल रही है'],
  resolved_before_delivery: [
    'Dispute resolved by the merchant Asha Textiles says',
    'व्यापारी ने विवाद सुलझाया',
  ],
  decided_for_merchant: [
    'Dispute decided for the merchant We have looked at your dispute',
    'विवाद का फ़ैसला व्यापारी के पक्ष में हुआ',
  ],
  decided_for_buyer: ['Decided for you, because', 'फ़ैसला आपके पक्ष में, क्योंकि'],
  not_resolved_in_time: [
    'It was not resolved in time: you get your money back.',
    'यह समय पर नहीं सुलझा: आपके पैसे वापस मिलेंगे।',
  ],
  refunding: ['Your refund is on its way ₹499.50 is being sent', 'आपका रिफ़ंड भेजा जा रहा है'],
  refunded: ['Refunded ₹499.50 was sent back to the account you paid from', 'रिफ़ंड हो गया'],
  refunded_by_merchant: ['The merchant pays you back', 'व्यापारी आपके पैसे लौटा रहा है'],
  refund_returned: [
    'Your bank has returned the refund of ₹499.50: it is being sent again.',
    'आपके बैंक ने ₹499.50 का रिफ़ंड लौटा दिया है',
  ],
  settled_as_refunded: [
    'You were paid back by bank transfer, because The account was closed Its reference: UTR-',
    'आपको बैंक ट्रांसफ़र से पैसे लौटाए गए, क्योंकि',
  ],
  releasing: ['The time to report a problem is over', 'पैसे Asha Textiles को भेजे जा रहे हैं।'],
  completed: ['Order completed', 'ऑर्डर पूरा हुआ'],
  settled_as_released: [
    'The merchant was paid by bank transfer, because',
    'व्यापारी को बैंक ट्रांसफ़र से पैसे दिए गए, क्योंकि',
  ],
  cancelled: ['Asha Textiles has cancelled it. Nothing was charged', 'यह ऑर्डर रद्द हो गया है'],
  link_expired_and_cancelled: [
    'The order was not paid in time and is cancelled. Nothing was charged.',
    'समय पर भुगतान न होने से ऑर्डर रद्द हो गया है। आपसे कोई पैसा नहीं लिया गया।',
  ],
  late_payment: [
    'Asha Textiles has cancelled it. A payment of ₹499.50 came after this order was cancelled. It was',
    'इसे Asha Textiles ने रद्द किया है। ₹499.50 का एक भुगतान इस ऑर्डर के रद्द होने के बाद मिला।',
  ],
};

/** Everything that a page writes itself: not what merchant, buyer or operator wrote, and no name. */
const OWN_TEXTS = `
  const own = (node) => !node.parentElement.closest('bdi, [dir=auto], .logo, [lang=en]');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [document.title];
  while (walker.nextNode()) if (own(walker.currentNode)) texts.push(walker.currentNode.data);
  for (const name of ['aria-label', 'data-changed'])
    for (const element of document.querySelectorAll('[' + name + ']')) texts.push(element.getAttribute(name));
  texts.join(' ')`;

/** What has Latin letters on a Hindi page, too: names, and words that UPI apps do not translate. */
const LATIN = /\b(?:UPI|QR|ID|IST|am|pm|PhonePe|Google Pay|Paytm|Asha Textiles|ORD[0-9A-Z]{26})\b/g;

const englishIn = async (page: Page) =>
  (await page.evaluate<string>(OWN_TEXTS)).replaceAll(LATIN, '').match(/[A-Za-z]+/g) ?? [];

type CheckoutBrowserTest = ReturnType<typeof checkoutBrowserTest>;

/** A new order whose page is in the state, with texts that may be too long for a phone. */
async function orderIn(
  state: PageState,
  { service, merchant }: Pick<Checkout, 'service' | 'merchant'>,
) {
  const own = state === 'merchant_unavailable' ? await service.newMerchant() : merchant;
  const { order } = await checkoutIn(service, own, state, {
    description: `Kurta ${'x'.repeat(200)}`,
    merchantOrderId: 'S-1',
    returnUrl: 'https://shop.example.com/orders/of/last/week',
  });
  return LANGUAGES.map((language, index) => ({
    language,
    url: `${order.payment_url}?language=${language}`,
    says: SAYS[state][index],
  }));
}

/** A test of what the page says in each of its states, all of which is there without the script. */
export function trueInEveryState(test: CheckoutBrowserTest): void {
  test.for(PAGE_STATES)(
    'the page is true, in English and Hindi: %s',
    async (state, { service, merchant }) => {
      for (const { url, says } of await orderIn(state, { service, merchant })) {
        expect(textOf((await open(url)).html)).toContain(says);
      }
    },
  );
}

/** A test that everyone can read the page in these states. */
export function readableIn(states: readonly PageState[], test: CheckoutBrowserTest): void {
  test.for(states)(
    'the page is accessible, fits a small phone and breaks no rule of its Content-Security-Policy, light and dark, in English and Hindi: %s',
    async (state, { service, merchant, newPhone }) => {
      const { page, complaints } = await newPhone({ viewport: { width: 320, height: 568 } });
      for (const { language, url } of await orderIn(state, { service, merchant })) {
        await page.goto(url);
        for (const details of await page.locator('summary').all()) await details.click();
        if (language === 'hi') expect(await englishIn(page)).toEqual([]);
        else expect(await englishIn(page)).toContain('Reference');
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await violationsOf(page)).toEqual([]);
        }
        expect(await isTooWide(page)).toBe(false);
      }
      expect(complaints.filter((complaint) => !complaint.includes('status of 408'))).toEqual([]);
    },
  );
}
