import { h } from 'preact';
import { rupeesText, shorten, timeText } from '../../pages/format.ts';
import type { Reference } from '../../pages/reference.ts';
import type { Checkout, CheckoutSurplus } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import type { Texts } from '../texts/en.ts';
import { pollingOf, stateOf, versionOf } from '../state.ts';
import type { DisputeDraft } from './dispute.ts';
import { disputeSection } from './dispute.ts';
import type { Headline } from './headline.ts';
import { headlineOf } from './headline.ts';
import type { Files } from './layout.ts';
import { glyph, notice, referenceLine, renderPage } from './layout.ts';
import { logo } from './logo.ts';
import { paymentSection } from './payment.ts';
import { progressSection } from './progress.ts';

/** A description may be 32 KiB long; the page shows this many characters of it. */
const MAX_DESCRIPTION = 400;

export interface CheckoutLinks {
  /** The path without the query of the language. */
  readonly path: string;
  readonly page: string;
  readonly sessions: string;
  readonly dispute: string;
  readonly status: string;
}

/** Why the form that the buyer just submitted was not accepted. */
export interface FormFeedback {
  readonly problem?: keyof Texts['problems'];
  readonly reference?: Reference | undefined;
  readonly draft?: DisputeDraft;
}

export function checkoutPage(
  checkout: Checkout,
  links: CheckoutLinks,
  files: Files,
  texts: Texts,
  feedback: FormFeedback = {},
): string {
  const state = stateOf(checkout);
  const headline = headlineOf(state, checkout, texts);
  const title = `${headline.title} · ${checkout.merchantName}`;
  const isSandbox = checkout.order.environment === 'sandbox';
  const island = islandOf(state, checkout, links);
  return renderPage({ title, files, texts, isSandbox, path: links.path, island }, [
    feedback.problem && notice('bad', texts.problems[feedback.problem], 'alert'),
    feedback.reference && referenceLine(feedback.reference, texts),
    orderHeader(checkout),
    stateSection(headline),
    ...checkout.surplus.map((surplus) => surplusNotice(surplus, texts)),
    checkout.unapplied === 'looked_at' && state !== 'looked_at' && notice('wait', texts.lookedAt),
    paymentSection(state, checkout, links.sessions, texts),
    progressSection(state, checkout, texts),
    disputeSection(checkout, links.dispute, feedback.draft, texts),
    settlementSection(checkout, texts),
    island && checkAgain(state, links, texts),
    wayBack(checkout, texts),
    contact(checkout, texts),
  ]);
}

/** The data attributes for the script: what it polls, how often, and which page it reloads. */
function islandOf(state: CheckoutState, checkout: Checkout, links: CheckoutLinks) {
  const polling = pollingOf(state, checkout);
  if (polling === undefined) return undefined;
  return {
    'data-page': links.page,
    'data-status': links.status,
    'data-version': versionOf(checkout),
    'data-first-seconds': String(polling.firstSeconds),
    'data-most-seconds': String(polling.mostSeconds),
  };
}

function orderHeader({ order, merchantName }: Checkout) {
  return h(
    'header',
    null,
    h(
      'p',
      { class: 'merchant' },
      logo(order.merchantId, merchantName),
      h('bdi', null, merchantName),
    ),
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

function surplusNotice(
  { amountPaise, reason, processedAt }: CheckoutSurplus,
  { surplus, language }: Texts,
) {
  const payment = surplus.reasons[reason](rupeesText(amountPaise));
  return processedAt === null
    ? notice('wait', payment + surplus.underWay)
    : notice('good', payment + surplus.refunded(timeText(new Date(processedAt), language)));
}

function settlementSection({ settlement, order }: Checkout, { settlement: texts }: Texts) {
  if (settlement === null) return null;
  const { reference } = settlement;
  const receiver = order.status === 'REFUNDED' ? 'paidBuyer' : 'paidMerchant';
  return h(
    'section',
    { 'aria-labelledby': 'settlement' },
    h('h2', { id: 'settlement' }, texts.titles[reference === null ? 'recorded' : receiver]),
    h('blockquote', { dir: 'auto' }, settlement.reason),
    reference && h('p', null, texts.reference, h('bdi', null, reference)),
  );
}

/** The page also has a button for checking again in these states: they last for seconds, or a payment may arrive. */
const URGENT: readonly CheckoutState[] = ['waiting', 'session_expired', 'confirming', 'closing'];

/**
 * A link that loads the page again, and the place for the script's message. The script reloads the page by itself,
 * but not while the buyer types.
 */
function checkAgain(state: CheckoutState, { page }: CheckoutLinks, texts: Texts) {
  const isUrgent = URGENT.includes(state);
  return h(
    'p',
    { class: 'check' },
    h('a', { class: isUrgent ? 'button plain' : undefined, href: page }, texts.checkAgain),
    h('span', { role: 'status', 'data-changed': texts.changed }),
  );
}

/**
 * A link to the merchant's own page. The page never redirects there: the buyer should see where it leads, and the
 * merchant must not take it for a proof of payment.
 */
function wayBack({ order }: Checkout, texts: Texts) {
  const url = order.returnUrl === null ? null : URL.parse(order.returnUrl);
  if (url === null) return null;
  const { orderNumber, status } = order;
  // The query is appended as text, because a URL parser would rewrite the merchant's own query.
  url.search += `${url.search === '' ? '?' : '&'}order_number=${orderNumber}&status=${status}`;
  return h(
    'p',
    { class: 'back' },
    h('a', { href: url.href }, texts.backTo(h('bdi', null, url.host))),
  );
}

/** Where to ask about the order, and the ids to quote. It contains no personal data of the buyer. */
function contact({ order, merchantEmail }: Checkout, texts: Texts) {
  const { orderNumber, merchantOrderId } = order;
  const address = merchantEmail.split('@').map(encodeURIComponent).join('@');
  const href = `mailto:${address}?subject=${merchantOrderId ?? orderNumber}`;
  return h(
    'footer',
    null,
    h('p', null, texts.questions, h('a', { href }, h('bdi', null, merchantEmail))),
    merchantOrderId !== null &&
      h('p', null, texts.merchantReference, h('bdi', null, merchantOrderId)),
    h('p', null, texts.order + orderNumber),
  );
}
