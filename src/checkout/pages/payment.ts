import { h } from 'preact';
import { timeLeftText, timeText } from '../../pages/format.ts';
import { qrCode } from '../../pages/qr-code.ts';
import type { Checkout, CheckoutSession } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import { notice } from './layout.ts';

/** The section for paying: opens a session or shows the open one; null in other states. */
export function paymentSection(state: CheckoutState, checkout: Checkout, sessionsPath: string) {
  const failed = checkout.lastStep === 'PAYMENT_FAILED';
  switch (state) {
    case 'payable':
    case 'session_expired':
      return h(
        'section',
        { 'aria-label': 'Payment' },
        failed && state === 'payable' && failedNotice(),
        h(
          'form',
          { method: 'post', action: sessionsPath },
          h('button', { class: 'button' }, failed || state !== 'payable' ? 'Try again' : 'Pay now'),
        ),
      );
    case 'waiting':
      return checkout.session && openSession(checkout, checkout.session, failed);
    default:
      return null;
  }
}

function failedNotice() {
  return notice('bad', 'Your last payment did not go through. You can try again.', 'status');
}

const SANDBOX_HINT = 'A real UPI app reads this code, but cannot pay in the sandbox';

function openSession(checkout: Checkout, session: CheckoutSession, failed: boolean) {
  const isSandbox = checkout.order.environment === 'sandbox';
  const upiUrl = linkTo(session.upiIntent, 'upi:');
  const appUrl = isSandbox && linkTo(session.pageUrl, 'http:', 'https:');
  return h(
    'section',
    { 'aria-label': 'Payment' },
    failed && failedNotice(),
    timeLeft(checkout, session),
    appUrl &&
      h(
        'a',
        { class: 'button', href: appUrl, target: '_blank', rel: 'noopener noreferrer' },
        'Pay in the sandbox UPI app',
      ),
    upiUrl &&
      h('a', { class: appUrl ? 'button second' : 'button', href: upiUrl }, 'Open my UPI app'),
    upiUrl &&
      h(
        'figure',
        null,
        qrCode({ text: upiUrl, label: 'QR code to pay with any UPI app' }),
        h(
          'figcaption',
          null,
          isSandbox ? SANDBOX_HINT : 'Or scan with the UPI app on another phone',
        ),
      ),
  );
}

/** The gateway's URL if it has one of these schemes, else null: `javascript:` would be unsafe. */
function linkTo(url: string | null, ...schemes: readonly string[]): string | null {
  return url !== null && URL.canParse(url) && schemes.includes(new URL(url).protocol) ? url : null;
}

/** Shows the expiry time; the script counts the remaining seconds down. */
function timeLeft({ now }: Checkout, session: CheckoutSession) {
  const expiresAt = new Date(session.expiresAt);
  const leftSeconds = Math.max(0, Math.round((expiresAt.getTime() - now.getTime()) / 1000));
  return h(
    'p',
    { class: 'timer' },
    'Time left ',
    h('strong', { 'data-seconds-left': leftSeconds }, timeLeftText(leftSeconds)),
    h(
      'span',
      { class: 'until' },
      'until ',
      h('time', { datetime: session.expiresAt }, timeText(expiresAt)),
    ),
  );
}
