import { expect } from 'vitest';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { open, post, textOf } from './buyer.ts';
import type { Stage } from './states.ts';
import { stageOf, WAYS } from './states.ts';

const REASON = 'It never arrived, after three weeks.';

const test = serviceTest({
  time: 'real',
  settings: { BUYER_RATE_LIMIT_PER_SECOND: '100000' },
  // An order that does not answer is known as one before the form's own deadline.
  answerWithinMs: 4_500,
});

const dispute = ({ order }: Stage, reason: string, init: RequestInit = {}) =>
  post(`${order.payment_url}/dispute`, { reason }, init);

async function orderOf(merchant: Merchant, { order }: Stage) {
  const { body } = await merchant.sandbox.get(`/orders/${order.order_number}`);
  return body.data;
}

test.for(['paid', 'delivered'] as const)(
  'the buyer of an order that is %s raises a dispute, and the merchant reads why',
  async (state, { service, merchant }) => {
    const stage = await stageOf(service, merchant, WAYS[state]);
    const { status, url, html } = await dispute(stage, REASON);
    expect([status, url]).toEqual([200, stage.order.payment_url]);
    expect(textOf(html)).toContain('You raised a dispute');
    expect(textOf(html)).toContain(`What you wrote ${REASON}`);
    const order = await orderOf(merchant, stage);
    expect([order.status, order.dispute_count, order.dispute?.reason]).toEqual([
      'DISPUTE_OPEN',
      1,
      REASON,
    ]);
  },
);

test('the form answers 303, so that a reload sends nothing again', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  const { status, headers } = await dispute(stage, REASON, { redirect: 'manual' });
  const { pathname } = new URL(stage.order.payment_url);
  expect([status, headers.get('location')]).toEqual([303, pathname]);
});

test.for([
  ['', 'too short'],
  ['Too short', '9 characters'],
  [' '.repeat(50), 'blank'],
  ['x'.repeat(2001), 'too long'],
] as const)(
  'a reason that breaks the rule comes back with it, the text kept: %j (%s)',
  async ([reason], { service, merchant }) => {
    const stage = await stageOf(service, merchant, WAYS.paid);
    const { status, html } = await dispute(stage, reason);
    expect(status).toBe(400);
    const [, kept] = /<textarea [^>]*aria-invalid="true"[^>]*>([^<]*)</.exec(html) ?? [];
    expect(kept).toBe(reason);
    expect(html).toContain('<details open>');

    // The merchant's sandbox helper speaks for the contract: the same rule, in the same words.
    const { status: apiStatus, body } = await merchant.sandbox.help(stage.order, 'dispute', {
      reason,
    });
    expect(apiStatus).toBe(400);
    expect(textOf(html)).toContain(`Your reason ${body.validationErrors?.['reason']}.`);
    expect((await orderOf(merchant, stage)).status).toBe('PAID');
  },
);

test.for([['ten chars.'], ['👗'.repeat(10)], ['x'.repeat(2000)], ['₹'.repeat(2000)]] as const)(
  'lengths count characters, from 10 to 2000: %s',
  async ([reason], { service, merchant }) => {
    const stage = await stageOf(service, merchant, WAYS.paid);
    expect((await dispute(stage, reason)).status).toBe(200);
    expect((await orderOf(merchant, stage)).dispute?.reason).toBe(reason);
  },
);

test('a line break counts once, as it was typed, and not as a browser sends it', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  await dispute(stage, `${'x'.repeat(1000)}\r\n${'y'.repeat(999)}`);
  expect((await orderOf(merchant, stage)).dispute?.reason).toBe(
    `${'x'.repeat(1000)}\n${'y'.repeat(999)}`,
  );
});

test('what the buyer types is text and never markup, in the form and on the page', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  const markup = '</textarea><script>alert(1)</script>';
  const tooLong = await dispute(stage, markup.repeat(60));
  expect([tooLong.status, tooLong.html.includes('<script>')]).toEqual([400, false]);
  expect((await dispute(stage, markup)).html).not.toContain('<script>');
});

test.for(['payable', 'releasing', 'refunding', 'completed', 'cancelled'] as const)(
  'an order that is %s takes no dispute: the contract says why, and the text is not lost',
  async (state, { service, merchant }) => {
    const stage = await stageOf(service, merchant, WAYS[state]);
    const { status, html } = await dispute(stage, REASON);
    expect(status).toBe(400);
    expect(textOf(html)).toContain(
      'Cannot raise dispute; order must be in PAID or DELIVERED status',
    );
    expect(textOf(html)).toContain(`Your text was not sent ${REASON}`);
  },
);

test('an impatient finger raises one dispute', async ({ service, merchant }) => {
  const stage = await stageOf(service, merchant, WAYS.delivered);
  const pages = await Promise.all([dispute(stage, REASON), dispute(stage, REASON)]);
  pages.push(await dispute(stage, REASON));
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await orderOf(merchant, stage)).dispute_count).toBe(1);
});

test('another text while a dispute runs is refused, and kept to be read', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  await dispute(stage, REASON);
  const { status, html } = await dispute(stage, 'And the second one is broken.');
  expect(status).toBe(400);
  expect(textOf(html)).toContain('Your text was not sent And the second one is broken.');
  expect(textOf(html)).toContain(`What you wrote ${REASON}`);
  expect((await orderOf(merchant, stage)).dispute?.reason).toBe(REASON);
});

test('after a resolved dispute there may be another one, also with the same words', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.delivered);
  await dispute(stage, REASON);
  const resolve = `/orders/${stage.order.order_number}/dispute/resolve`;
  await merchant.sandbox.post(resolve, { resolution: 'Sent again' });
  expect(textOf((await open(stage.order.payment_url)).html)).toContain('Dispute resolved');
  expect((await dispute(stage, REASON)).status).toBe(200);
  expect(await orderOf(merchant, stage)).toMatchObject({
    status: 'DISPUTE_OPEN',
    dispute_count: 2,
  });
});

test('only a form of our own page raises a dispute', async ({ service, merchant }) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  const headers = { 'Sec-Fetch-Site': 'cross-site' };
  const { status, html } = await dispute(stage, REASON, { headers });
  expect([status, textOf(html).includes('This form came from another site')]).toEqual([403, true]);
  expect((await orderOf(merchant, stage)).status).toBe('PAID');
});

test('a body that is no form, or too long for one, is a page with a way on', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.paid);
  const json = await dispute(stage, '', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ reason: REASON }),
  });
  expect([json.status, textOf(json.html).includes('Open your payment link again')]).toEqual([
    400,
    true,
  ]);
  const huge = await dispute(stage, 'x'.repeat(33_000));
  expect([huge.status, textOf(huge.html).includes('That is too long')]).toEqual([413, true]);
});

test('a dispute that its order did not answer keeps its text, and can be sent once more', async ({
  service,
  worker,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.delivered);
  await worker.stop();
  const lost = await dispute(stage, REASON);
  expect(lost.status).toBe(500);
  expect(textOf(lost.html)).toContain('We could not confirm your dispute.');
  expect(lost.html).toContain(`>${REASON}</textarea>`);
  await worker.start();
  // Temporal may need some seconds to see that another worker is there.
  await until(async () => (await dispute(stage, REASON)).status === 200);
  expect(await orderOf(merchant, stage)).toMatchObject({
    status: 'DISPUTE_OPEN',
    dispute_count: 1,
  });
});
