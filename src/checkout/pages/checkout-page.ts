import { h } from 'preact';
import { rupeesText, shorten, timeText } from '../../pages/format.ts';
import type { Reference } from '../../pages/reference.ts';
import type { Checkout, CheckoutSurplus } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import { pollSecondsOf, stateOf, versionOf } from '../state.ts';
import type { DisputeDraft } from './dispute.ts';
import { disputeSection } from './dispute.ts';
import type { Headline } from './headline.ts';
import { headlineOf } from './headline.ts';
import type { Files } from './layout.ts';
import { glyph, notice, referenceLine, renderPage } from './layout.ts';
import { paymentSection } from './payment.ts';
import { progressSection } from './progress.ts';

/** A description may be 32 KiB long; the page must stay small. */
const MAX_DESCRIPTION = 400;

/** The paths of one order's page, its forms and its status. */
export interface CheckoutLinks {
  readonly page: string;
  readonly sessions: string;
  readonly dispute: string;
  readonly status: string;
}

/** The result of the form that the buyer just submitted, when it was not accepted. */
export interface FormFeedback {
  readonly problem?: string;
  /** Of the request that failed. */
  readonly reference?: Reference | undefined;
  readonly draft?: DisputeDraft;
}

/** Renders the buyer's page of one order as an HTML document. */
export function checkoutPage(
  checkout: Checkout,
  links: CheckoutLinks,
  files: Files,
  feedback: FormFeedback = {},
): string {
  const state = stateOf(checkout);
  const headline = headlineOf(state, checkout);
  const title = `${headline.title} · ${checkout.merchantName}`;
  const isSandbox = checkout.order.environment === 'sandbox';
  const island = islandOf(state, checkout, links);
  return renderPage({ title, files, isSandbox, island }, [
    feedback.problem && notice('bad', feedback.problem, 'alert'),
    feedback.reference && referenceLine(feedback.reference),
    orderHeader(checkout),
    stateSection(headline),
    ...checkout.surplus.map(surplusNotice),
    paymentSection(state, checkout, links.sessions),
    progressSection(state, checkout),
    disputeSection(state, checkout, links.dispute, feedback.draft),
    settlementSection(checkout),
    island && checkAgain(state, links),
    wayBack(checkout),
    references(checkout),
  ]);
}

/** The data attributes of the script: what it polls, how often, and which page it reloads. */
function islandOf(state: CheckoutState, checkout: Checkout, links: CheckoutLinks) {
  const pollSeconds = pollSecondsOf(state, checkout);
  if (pollSeconds === undefined) return undefined;
  return {
    'data-page': links.page,
    'data-status': links.status,
    'data-version': versionOf(checkout),
    'data-poll-seconds': String(pollSeconds),
  };
}

function orderHeader({ order, merchantName }: Checkout) {
  return h(
    'header',
    null,
    h('p', { class: 'merchant', dir: 'auto' }, merchantName),
    h('p', { class: 'amount' }, rupeesText(order.amountPaise)),
    h('p', { class: 'description', dir: 'auto' }, shorten(order.description, MAX_DESCRIPTION)),
  );
}

function stateSection({ tone, title, text }: Headline) {
  return h(
    'section',
    { class: 'state', 'aria-labelledby': 'state' },
    glyph(tone),
    h('h1', { id: 'state' }, title),
    h('p', null, text),
  );
}

const SURPLUS_REASONS = {
  wrong_amount: 'is not the amount of this order',
  late_payment: 'came after this order was cancelled',
  already_paid: 'came although this order was already paid',
} as const satisfies Record<CheckoutSurplus['reason'], string>;

function surplusNotice({ amountPaise, reason, processedAt }: CheckoutSurplus) {
  const payment = `A payment of ${rupeesText(amountPaise)} ${SURPLUS_REASONS[reason]}. `;
  return processedAt === null
    ? notice('wait', `${payment}It is being sent back to you in full.`)
    : notice('good', `${payment}It was sent back to you on ${timeText(new Date(processedAt))}.`);
}

const TITLE_OF_TRANSFER = 'Paid by bank transfer, because';
const TITLE_OF_SETTLED = 'Settled by us, because';

/** Shows the operator's explanation of a settlement outside the gateway. */
function settlementSection({ settlement }: Checkout) {
  if (settlement === null) return null;
  const { reference } = settlement;
  return h(
    'section',
    { 'aria-labelledby': 'settlement' },
    h('h2', { id: 'settlement' }, reference === null ? TITLE_OF_SETTLED : TITLE_OF_TRANSFER),
    h('blockquote', { dir: 'auto' }, settlement.reason),
    reference && h('p', null, 'Its reference: ', h('bdi', null, reference)),
  );
}

/** States that last for seconds, or in which a payment may arrive. */
const URGENT: readonly CheckoutState[] = ['waiting', 'session_expired', 'confirming', 'closing'];

/**
 * The script reloads the page by itself; while the buyer types, it shows a message here instead.
 */
function checkAgain(state: CheckoutState, { page }: CheckoutLinks) {
  if (state === 'payable') return null;
  const isUrgent = URGENT.includes(state);
  return h(
    'p',
    { class: 'check' },
    h('a', { class: isUrgent ? 'button plain' : undefined, href: page }, 'Check again'),
    h('span', { role: 'status', 'data-changed': 'This order has changed: check again.' }),
  );
}

/**
 * A link to the merchant's own page. It is never followed by itself: the buyer reads where it leads, and
 * the merchant must not take it for a proof of the payment.
 */
function wayBack({ order }: Checkout) {
  const url = order.returnUrl === null ? null : URL.parse(order.returnUrl);
  if (url === null) return null;
  const { orderNumber, status } = order;
  // Appended, because a parser would write the merchant's own query in another way.
  url.search += `${url.search === '' ? '?' : '&'}order_number=${orderNumber}&status=${status}`;
  return h(
    'p',
    { class: 'back' },
    h('a', { href: url.href }, 'Back to ', h('bdi', null, url.host)),
  );
}

/** The ids to quote to the merchant; contains no personal data. */
function references({ order }: Checkout) {
  const { orderNumber, merchantOrderId } = order;
  return h(
    'footer',
    null,
    merchantOrderId !== null && h('p', null, 'Reference ', h('bdi', null, merchantOrderId)),
    h('p', null, `Order ${orderNumber}`),
  );
}
