import { describe, expect } from 'vitest';
import {
  decideDispute,
  raiseDisputeForBuyer,
} from '../../src/orders/commands/operator-commands.ts';
import { operatorOf } from '../support/operator-of.ts';
import { until } from '../support/until.ts';
import { open, post, textOf } from './buyer.ts';
import { checkoutTest } from './checkout-test.ts';
import type { Checkout } from './states.ts';
import { advance, untilStatus } from './states.ts';

const REASON = 'It never arrived, after three weeks.';

const test = checkoutTest();
/** An order that does not respond is noticed before the form's deadline. */
const withShortTimeOut = checkoutTest({ responseTimeoutMs: 5_000 });

const dispute = ({ order }: Checkout, reason: string, init: RequestInit = {}) =>
  post(`${order.payment_url}/dispute`, { reason }, init);

const orderOf = ({ merchant, order }: Checkout) => merchant.sandbox.read(order);

test.for(['paid', 'delivered'] as const)(
  'the buyer of an order that is %s raises a dispute, and the merchant gets the reason',
  async (state, { checkouts }) => {
    const checkout = await checkouts.in(state);
    const { status, url, html } = await dispute(checkout, REASON);
    expect([status, url]).toEqual([200, checkout.order.payment_url]);
    expect(textOf(html)).toContain('You raised a dispute');
    expect(textOf(html)).toContain(`What you wrote ${REASON}`);
    const order = await orderOf(checkout);
    expect([order.status, order.dispute_count, order.dispute?.reason]).toEqual([
      'DISPUTE_OPEN',
      1,
      REASON,
    ]);
  },
);

test('the form responds 303, so that a reload does not send it again', async ({ checkouts }) => {
  const checkout = await checkouts.in('paid');
  const { status, headers } = await dispute(checkout, REASON, { redirect: 'manual' });
  const { pathname } = new URL(checkout.order.payment_url);
  expect([status, headers.get('location')]).toEqual([303, pathname]);
});

test.for([
  ['', 'too short'],
  ['Too short', '9 characters'],
  [' '.repeat(50), 'blank'],
  ['x'.repeat(2001), 'too long'],
] as const)(
  'an invalid reason is returned with the rule, and its text is kept: %j (%s)',
  async ([reason], { merchant, checkouts }) => {
    const checkout = await checkouts.in('paid');
    const { status, html } = await dispute(checkout, reason);
    expect(status).toBe(400);
    const [, kept] = /<textarea [^>]*aria-invalid="true"[^>]*>([^<]*)</.exec(html) ?? [];
    expect(kept).toBe(reason);
    expect(html).toContain('<details open>');

    // The sandbox helper has the same rule with the same message, as the contract says.
    const { status: apiStatus, body } = await merchant.sandbox.help(checkout.order, 'dispute', {
      reason,
    });
    expect(apiStatus).toBe(400);
    expect(textOf(html)).toContain(`Your reason ${body.validationErrors?.['reason']}.`);
    expect((await orderOf(checkout)).status).toBe('PAID');
  },
);

test.for([['ten chars.'], ['👗'.repeat(10)], ['x'.repeat(2000)], ['₹'.repeat(2000)]] as const)(
  'lengths count characters, from 10 to 2000: %s',
  async ([reason], { checkouts }) => {
    const checkout = await checkouts.in('paid');
    expect((await dispute(checkout, reason)).status).toBe(200);
    expect((await orderOf(checkout)).dispute?.reason).toBe(reason);
  },
);

test('a line break counts as one character, as it was typed, not as a browser sends it', async ({
  checkouts,
}) => {
  const checkout = await checkouts.in('paid');
  await dispute(checkout, `${'x'.repeat(1000)}\r\n${'y'.repeat(999)}`);
  expect((await orderOf(checkout)).dispute?.reason).toBe(`${'x'.repeat(1000)}\n${'y'.repeat(999)}`);
});

test('the buyer’s input is text and never markup, in the form and on the page', async ({
  checkouts,
}) => {
  const checkout = await checkouts.in('paid');
  const markup = '</textarea><script>alert(1)</script>';
  const tooLong = await dispute(checkout, markup.repeat(60));
  expect([tooLong.status, tooLong.html.includes('<script>')]).toEqual([400, false]);
  expect((await dispute(checkout, markup)).html).not.toContain('<script>');
});

test.for(['payable', 'releasing', 'refunding', 'completed', 'cancelled'] as const)(
  'an order that is %s accepts no dispute: the page shows the contract’s reason and keeps the text',
  async (state, { checkouts }) => {
    const checkout = await checkouts.in(state);
    const { status, html } = await dispute(checkout, REASON);
    expect(status).toBe(400);
    expect(textOf(html)).toContain(
      'Cannot raise dispute; order must be in PAID or DELIVERED status',
    );
    expect(textOf(html)).toContain(`Your text was not sent ${REASON}`);
  },
);

test('pressing the button several times raises one dispute', async ({ checkouts }) => {
  const checkout = await checkouts.in('delivered');
  const pages = await Promise.all([dispute(checkout, REASON), dispute(checkout, REASON)]);
  pages.push(await dispute(checkout, REASON));
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await orderOf(checkout)).dispute_count).toBe(1);
});

test('another text during a dispute is refused and stays readable', async ({ checkouts }) => {
  const checkout = await checkouts.in('paid');
  await dispute(checkout, REASON);
  const { status, html } = await dispute(checkout, 'And the second one is broken.');
  expect(status).toBe(400);
  expect(textOf(html)).toContain('Your text was not sent And the second one is broken.');
  expect(textOf(html)).toContain(`What you wrote ${REASON}`);
  expect((await orderOf(checkout)).dispute?.reason).toBe(REASON);
});

test('after a resolved dispute another one can be raised, also with the same text', async ({
  merchant,
  checkouts,
}) => {
  const checkout = await checkouts.in('delivered');
  await dispute(checkout, REASON);
  const resolve = `/orders/${checkout.order.order_number}/dispute/resolve`;
  await merchant.sandbox.post(resolve, { resolution: 'Sent again' });
  expect(textOf((await open(checkout.order.payment_url)).html)).toContain('Dispute resolved');
  expect((await dispute(checkout, REASON)).status).toBe(200);
  expect(await orderOf(checkout)).toMatchObject({
    status: 'DISPUTE_OPEN',
    dispute_count: 2,
  });
});

test('only a form of the service’s own page raises a dispute', async ({ checkouts }) => {
  const checkout = await checkouts.in('paid');
  const headers = { 'Sec-Fetch-Site': 'cross-site' };
  const { status, html } = await dispute(checkout, REASON, { headers });
  expect([status, textOf(html).includes('This form came from another site')]).toEqual([403, true]);
  expect((await orderOf(checkout)).status).toBe('PAID');
});

test('a body that is not a form, or too long, gets a page with a link to continue', async ({
  checkouts,
}) => {
  const checkout = await checkouts.in('paid');
  const json = await dispute(checkout, '', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ reason: REASON }),
  });
  expect([json.status, textOf(json.html).includes('Open your payment link again')]).toEqual([
    400,
    true,
  ]);
  const huge = await dispute(checkout, 'x'.repeat(33_000));
  expect([huge.status, textOf(huge.html).includes('That is too long')]).toEqual([413, true]);
});

withShortTimeOut(
  'a dispute to which its order did not respond keeps its text and can be sent again',
  async ({ worker, checkouts }) => {
    const checkout = await checkouts.in('delivered');
    await worker.stop();
    const lost = await dispute(checkout, REASON);
    expect(lost.status).toBe(500);
    expect(textOf(lost.html)).toContain('We could not confirm your dispute.');
    expect(lost.html).toContain(`>${REASON}</textarea>`);
    await worker.start();
    // Temporal may need some seconds to use the other worker.
    await until(async () => (await dispute(checkout, REASON)).status === 200);
    expect(await orderOf(checkout)).toMatchObject({
      status: 'DISPUTE_OPEN',
      dispute_count: 1,
    });
  },
);

test('a buyer can raise five disputes on an order', async ({ checkouts }) => {
  const checkout = await checkouts.in('paid');
  const { sandbox } = checkout.merchant;
  for (let number = 1; number <= 5; number += 1) {
    expect((await dispute(checkout, `${REASON} ${number}`)).status).toBe(200);
    const ended =
      number < 5
        ? await sandbox.command(checkout.order, 'dispute/resolve', { resolution: 'Sent' })
        : await sandbox.help(checkout.order, 'decide', { for: 'merchant' });
    expect(ended.status).toBe(200);
  }
  const refused = await dispute(checkout, `${REASON} 6`);
  expect(refused.status).toBe(400);
  expect(textOf(refused.html)).toContain('the order has had 5 disputes');
  expect(refused.html).not.toContain('Raise a dispute');
  const byHelper = await sandbox.help(checkout.order, 'dispute', { reason: REASON });
  expect([byHelper.status, byHelper.body.message]).toEqual([
    400,
    'Cannot raise dispute; the order has had 5 disputes',
  ]);
});

test('after a decision for the merchant only an operator can raise another dispute', async ({
  service,
  checkouts,
}) => {
  const checkout = await checkouts.in('paid');
  const { order, merchant } = checkout;
  await dispute(checkout, REASON);
  await merchant.sandbox.command(order, 'dispute/evidence', { text: 'A photograph of the parcel' });
  const operator = operatorOf(service);
  await decideDispute(operator, order.order_number, { winner: 'merchant', reason: 'It was sent' });
  const refused = await dispute(checkout, `${REASON} Again.`);
  expect(refused.status).toBe(400);
  expect(textOf(refused.html)).toContain('an operator has decided for the merchant');
  await raiseDisputeForBuyer(operator, order.order_number, 'The buyer sent new evidence');
  expect((await orderOf(checkout)).status).toBe('DISPUTE_OPEN');
});

describe('what became of a dispute', () => {
  const read = async ({ order }: Checkout) => textOf((await open(order.payment_url)).html);

  test('an order that was disputed before it was delivered is never shown as delivered', async ({
    checkouts,
  }) => {
    const disputed = await read(await checkouts.in('disputed_before_delivery'));
    expect(disputed).toMatch(/Paid \d\d? \w+, [\d:]+ [ap]m IST Dispute raised \d.* IST Decision/);
    const checkout = await checkouts.in('resolved_before_delivery');
    expect((await orderOf(checkout)).status).toBe('DELIVERED');
    const text = await read(checkout);
    expect(text).toContain('Asha Textiles says that your dispute is resolved.');
    expect(text).toMatch(
      /Dispute raised \d[^T]* IST Dispute resolved by the merchant \d.* IST Completion/,
    );
    expect(text).toContain('How the merchant resolved it A neighbour has your parcel.');
    expect(text).not.toMatch(/Delivered|marked your order/);
    await advance(checkout, 24 * 3600);
    await untilStatus(checkout, 'COMPLETED');
    expect(await read(checkout)).not.toMatch(/[Dd]elivered/);
  });

  test('a decision for the merchant is shown with its reason, and offers no other dispute', async ({
    service,
    checkouts,
  }) => {
    const checkout = await checkouts.in('decided_for_merchant');
    await service.sql`UPDATE disputes SET decided_by = 'operator:ravi@ops.example'
      WHERE order_number = ${checkout.order.order_number}`;
    const { html } = await open(checkout.order.payment_url);
    const text = textOf(html);
    expect(text).toContain('Dispute decided for the merchant We have looked at your dispute');
    expect(text).toContain('Answer from the merchant It was signed for.');
    expect(text).toContain('Decided for the merchant, because');
    expect(text).not.toMatch(/say so before|Something is wrong/);
    expect(html).not.toContain('ravi');
  });

  test.for([
    ['decided_for_buyer', 'Decided for you, because', 'The dispute was decided for you'],
    ['refunded', 'The merchant accepted it: you get your money back.', 'accepted the dispute'],
    ['not_resolved_in_time', 'It was not resolved in time: you', 'not resolved in time Refunded'],
  ] as const)('a refund says why: %s', async ([state, inDispute, inProgress], { checkouts }) => {
    const text = await read(await checkouts.in(state));
    expect(text).toContain(inDispute);
    expect(text).toContain(inProgress);
  });

  test('earlier disputes stay readable, the latest comes first', async ({ checkouts }) => {
    const text = await read(await checkouts.in('disputed_twice'));
    expect(text).toContain('Your dispute 2 What you wrote The neighbour has no parcel.');
    expect(text).toContain(
      'Earlier disputes Your dispute 1 What you wrote It never arrived. How the merchant resolved it',
    );
  });

  test('a dispute that an operator raised is not called one of the buyer, and names no operator', async ({
    checkouts,
  }) => {
    const { order } = await checkouts.in('disputed_by_operator');
    const { html } = await open(order.payment_url);
    expect(textOf(html)).toContain('We raised a dispute for you Asha Textiles has time to answer');
    expect(textOf(html)).toContain('We raised it for you, because The kurta has a hole.');
    expect(html).not.toContain('ravi');
  });
});
