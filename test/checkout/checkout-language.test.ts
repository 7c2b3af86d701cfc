import { describe, expect } from 'vitest';
import { languageOf, TEXTS } from '../../src/checkout/language.ts';
import { LANGUAGES } from '../../src/pages/language.ts';
import { untilBlocked } from '../support/locks.ts';
import { open, post, textOf } from './buyer.ts';
import { checkoutTest } from './checkout-test.ts';
import type { Checkout } from './states.ts';

const test = checkoutTest();

/** Stands for everything that a text names. */
const NAMED = '₹';
const FACTS = {
  merchant: NAMED,
  amount: NAMED,
  refund: NAMED,
  payBy: NAMED,
  disputeBy: NAMED,
  answerBy: NAMED,
  hasSurplus: false,
};

/** Every text of a module, by its path; those that name something are called with it. */
function textsIn(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const named: unknown = value(path.startsWith('.headlines') ? FACTS : NAMED);
    return textsIn(named, `${path}()`);
  }
  return Object.entries(value as object).flatMap(([key, inner]) =>
    textsIn(inner, `${path}.${key}`),
  );
}

describe('the texts', () => {
  test.for(LANGUAGES)('none is empty, or names what is not there: %s', (language) => {
    const texts = textsIn(TEXTS[language]);
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter(([, text]) => !/\S/.test(text) || /undefined|object/.test(text))).toEqual(
      [],
    );
  });

  test('the Hindi ones have no English word', () => {
    const notShown = ['.language', '.htmlLang', '.other.language', '.other.name'];
    const english = textsIn(TEXTS.hi)
      .filter(([path]) => !notShown.includes(path))
      .filter(([, text]) => /[A-Za-z]/.test(text.replaceAll(/\b(?:UPI|QR|ID)\b/g, '')));
    expect(english).toEqual([]);
  });
});

describe('the language of the page', () => {
  const chosen = (query: object, accepted?: string) => {
    const headers = { 'Accept-Language': accepted };
    return languageOf({ query, headers }).texts.language;
  };

  test.for([
    [undefined, 'en'],
    ['hi-IN,hi;q=0.9,en-IN;q=0.8,en;q=0.7', 'hi'],
    ['en-IN,en;q=0.9,hi;q=0.8', 'en'],
    ['mr-IN,hi;q=0.8,en;q=0.5', 'hi'],
    ['ta-IN', 'en'],
    ['*', 'en'],
    [';;,=', 'en'],
  ] as const)('is the one that the browser asks for: %s → %s', ([accepted, language]) => {
    expect(chosen({}, accepted)).toBe(language);
  });

  test.for([
    [{ language: 'hi' }, 'en-IN', 'hi'],
    [{ language: 'en' }, 'hi-IN', 'en'],
    [{ language: 'fr' }, 'hi-IN', 'hi'],
    [{ language: ['hi', 'en'] }, 'en-IN', 'en'],
  ] as const)(
    'is the one of the switch, if there is such a one: %j',
    ([query, accepted, language]) => {
      expect(chosen(query, accepted)).toBe(language);
    },
  );

  test('is named in the page, which links to the other one', async ({ checkouts }) => {
    const { order } = await checkouts.in();
    const { pathname } = new URL(order.payment_url);
    const english = await open(order.payment_url);
    expect(english.html).toContain('<html lang="en-IN">');
    expect(english.html).toContain(
      `<a href="${pathname}?language=hi" lang="hi" hreflang="hi">हिन्दी</a>`,
    );
    const hindi = await open(`${order.payment_url}?language=hi`);
    expect(hindi.html).toContain('<html lang="hi-IN">');
    expect(hindi.html).toContain(
      `<a href="${pathname}?language=en" lang="en" hreflang="en">English</a>`,
    );
    expect(textOf(hindi.html)).toContain('UPI से ₹499.50 का भुगतान करें');
    const asked = await fetch(order.payment_url, { headers: { 'Accept-Language': 'hi-IN' } });
    expect(await asked.text()).toContain('<html lang="hi-IN">');
  });

  test('stays when it was chosen: in every link, form and redirect', async ({ checkouts }) => {
    const { order } = await checkouts.in('waiting');
    const { html } = await open(`${order.payment_url}?language=hi`);
    const { pathname } = new URL(order.payment_url);
    const own = [...html.matchAll(/(?:href|action|data-page)="([^"]+)"/g)]
      .map(([, url = '']) => url)
      .filter((url) => url.startsWith(pathname));
    expect(own.length).toBeGreaterThan(2);
    expect(own.filter((url) => !url.endsWith('?language=hi'))).toEqual([`${pathname}?language=en`]);
    for (const form of ['sessions', 'dispute']) {
      const back = await open(`${order.payment_url}/${form}?language=hi`);
      expect(back.url).toBe(`${order.payment_url}?language=hi`);
    }
  });

  test('is that of refusals, too', async ({ service, checkouts }) => {
    const unknown = await open(`${service.origin}/pay/nobody?language=hi`);
    expect([unknown.status, unknown.html.includes('<html lang="hi-IN">')]).toEqual([404, true]);
    expect(textOf(unknown.html)).toContain('भुगतान पेज नहीं मिला');
    expect(unknown.html).toContain('<a href="?language=en"');
    const { order } = await checkouts.in('paid');
    const headers = { 'Accept-Language': 'hi', 'Sec-Fetch-Site': 'cross-site' };
    const foreign = await post(`${order.payment_url}/dispute`, {}, { headers });
    expect(textOf(foreign.html)).toContain('यह फ़ॉर्म किसी दूसरी साइट से आया है');
  });

  test('is that of what the domain says about a dispute', async ({ checkouts }) => {
    const disputeOf = async (checkout: Checkout, reason: string) => {
      const url = `${checkout.order.payment_url}/dispute?language=hi`;
      return textOf((await post(url, { reason })).html);
    };
    const refusals = TEXTS.hi.problems;
    const reason = 'कुर्ते में छेद है।';
    expect(await disputeOf(await checkouts.in('payable'), reason)).toContain(
      refusals.dispute_refused,
    );
    expect(await disputeOf(await checkouts.in('decided_for_merchant'), reason)).toContain(
      refusals.dispute_decided,
    );
    const paid = await checkouts.in('paid');
    expect(await disputeOf(paid, 'छेद')).toContain(TEXTS.hi.disputeForm.violation);
    expect(await disputeOf(paid, reason)).toContain(`आपने विवाद दर्ज किया है`);
  });
});

describe('the language of mails to the buyer', () => {
  const storedOf = async ({ service, order }: Checkout) => {
    const [row] = await service.sql<{ buyerLanguage: string; writes: string }[]>`
      SELECT buyer_language, xmin::text AS writes FROM orders
      WHERE order_number = ${order.order_number}`;
    return row;
  };

  test('is English until the buyer does something', async ({ checkouts }) => {
    const checkout = await checkouts.in();
    await open(`${checkout.order.payment_url}?language=hi`);
    expect((await storedOf(checkout))?.buyerLanguage).toBe('en');
  });

  test.for([
    ['payable', 'sessions'],
    ['paid', 'dispute'],
  ] as const)(
    'is that of the page on which an order that is %s gets a form: %s',
    async ([state, form], { checkouts }) => {
      const checkout = await checkouts.in(state);
      const fields = { reason: 'कुर्ते में छेद है।' };
      await post(`${checkout.order.payment_url}/${form}?language=hi`, fields);
      expect((await storedOf(checkout))?.buyerLanguage).toBe('hi');
    },
  );

  test('is written only when it differs', async ({ checkouts }) => {
    const checkout = await checkouts.in('waiting');
    const url = `${checkout.order.payment_url}/sessions?language=hi`;
    await post(url);
    const first = await storedOf(checkout);
    await post(url);
    expect(await storedOf(checkout)).toEqual(first);
    await post(checkout.order.payment_url + '/sessions?language=en');
    expect((await storedOf(checkout))?.buyerLanguage).toBe('en');
  });

  test('stays when a step is recorded', async ({ merchant, checkouts }) => {
    const checkout = await checkouts.in('waiting');
    await post(`${checkout.order.payment_url}/sessions?language=hi`);
    await merchant.sandbox.help(checkout.order, 'pay');
    expect(await storedOf(checkout)).toMatchObject({ buyerLanguage: 'hi' });
  });

  test('waits for a step that is being recorded, and then both are there', async ({
    service,
    checkouts,
  }) => {
    const checkout = await checkouts.in();
    const { order_number } = checkout.order;
    const pressed = await service.sql.begin(async (sql) => {
      await sql`SELECT FROM orders WHERE order_number = ${order_number} FOR UPDATE`;
      const answer = post(`${checkout.order.payment_url}/sessions?language=hi`);
      await untilBlocked(service, 'SET buyer_language');
      await sql`UPDATE orders SET description = 'Red kurta' WHERE order_number = ${order_number}`;
      return { answer };
    });
    expect(textOf((await pressed.answer).html)).toContain('Red kurta');
    expect((await storedOf(checkout))?.buyerLanguage).toBe('hi');
  });
});
