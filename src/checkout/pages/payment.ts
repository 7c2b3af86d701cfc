import { h } from 'preact';
import { rupeesText, timeLeftText, timeText } from '../../pages/format.ts';
import { qrCode } from '../../pages/qr-code.ts';
import type { Checkout, CheckoutSession } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import type { Texts } from '../texts/en.ts';
import { notice } from './layout.ts';

/** The section for paying: a button that opens a session, or the open session. Null in other states. */
export function paymentSection(
  state: CheckoutState,
  checkout: Checkout,
  sessionsPath: string,
  texts: Texts,
) {
  const { payment } = texts;
  const failed = checkout.lastStep === 'PAYMENT_FAILED';
  switch (state) {
    case 'payable':
    case 'session_expired':
      return h(
        'section',
        { 'aria-label': payment.section },
        failed && state === 'payable' && notice('bad', payment.failed, 'status'),
        h(
          'form',
          { method: 'post', action: sessionsPath },
          h(
            'button',
            { class: 'button' },
            failed || state !== 'payable' ? payment.tryAgain : payment.pay,
          ),
        ),
      );
    case 'waiting':
      return checkout.session && openSession(checkout, checkout.session, texts);
    default:
      return null;
  }
}

function openSession(checkout: Checkout, session: CheckoutSession, texts: Texts) {
  const { payment } = texts;
  const isSandbox = checkout.order.environment === 'sandbox';
  const upiUrl = linkTo(session.upiIntent, 'upi:');
  const appUrl = isSandbox && linkTo(session.pageUrl, 'http:', 'https:');
  return h(
    'section',
    { 'aria-label': payment.section },
    checkout.lastStep === 'PAYMENT_FAILED' && notice('bad', payment.failed, 'status'),
    timeLeft(checkout, session, texts),
    appUrl &&
      h(
        'a',
        { class: 'button', href: appUrl, target: '_blank', rel: 'noopener noreferrer' },
        payment.sandboxApp,
      ),
    upiUrl && upiApps(upiUrl, appUrl ? 'button second' : 'button', texts),
    upiUrl && upiAddress(upiUrl, checkout, texts),
    upiUrl &&
      h(
        'figure',
        null,
        qrCode({ text: upiUrl, label: payment.qrCode }),
        h('figcaption', null, isSandbox ? payment.sandboxScan : payment.scan),
      ),
  );
}

const ANY_APP = 'upi://pay?';

/** The URL schemes of well-known apps. They take the same query as {@link ANY_APP}. */
const APPS = [
  ['PhonePe', 'phonepe://pay?'],
  ['Google Pay', 'tez://upi/pay?'],
  ['Paytm', 'paytmmp://pay?'],
] as const;

/** Links that open a UPI app on the buyer's phone. The style sheet hides them on devices without a touch screen. */
function upiApps(upiUrl: string, firstClass: string, { payment }: Texts) {
  return h(
    'div',
    { class: 'apps' },
    h('a', { class: firstClass, href: upiUrl }, payment.upiApp),
    upiUrl.startsWith(ANY_APP) &&
      h(
        'ul',
        { 'aria-label': payment.upiApps },
        ...APPS.map(([name, start]) => {
          const href = upiUrl.replace(ANY_APP, start);
          return h('li', null, h('a', { class: 'button plain', href }, name));
        }),
      ),
    h('p', { class: 'notice wait', role: 'status', 'data-not-opened': payment.notOpened }),
  );
}

/** The address that the link pays to, for browsers that open no app. The script shows the button that copies it. */
function upiAddress(upiUrl: string, { order }: Checkout, { payment }: Texts) {
  const address = new URL(upiUrl).searchParams.get('pa');
  if (address === null) return null;
  return h(
    'div',
    { class: 'address' },
    h('p', { class: 'hint' }, payment.addressHint),
    h('p', null, payment.address, h('bdi', null, h('code', null, address))),
    h('p', null, payment.amount, h('strong', null, rupeesText(order.amountPaise))),
    h(
      'button',
      { type: 'button', class: 'button plain', 'data-copied': payment.copied, hidden: true },
      h('span', { 'aria-live': 'polite' }, payment.copyAddress),
    ),
  );
}

/** Returns the gateway's URL if it has one of these schemes, else null: a `javascript:` URL would be unsafe. */
function linkTo(url: string | null, ...schemes: readonly string[]): string | null {
  return url !== null && URL.canParse(url) && schemes.includes(new URL(url).protocol) ? url : null;
}

/** Shows the expiry time; the script counts the remaining seconds down. */
function timeLeft({ now }: Checkout, session: CheckoutSession, { payment, language }: Texts) {
  const expiresAt = new Date(session.expiresAt);
  const leftSeconds = Math.max(0, Math.round((expiresAt.getTime() - now.getTime()) / 1000));
  return h(
    'p',
    { class: 'timer' },
    payment.timeLeft,
    h('strong', { 'data-seconds-left': leftSeconds }, timeLeftText(leftSeconds)),
    h(
      'span',
      { class: 'until' },
      payment.until(h('time', { datetime: session.expiresAt }, timeText(expiresAt, language))),
    ),
  );
}
