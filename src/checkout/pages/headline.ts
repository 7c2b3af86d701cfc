import type { Sentence, Tone } from '../../domain/index.ts';
import { phaseOf, WAITING } from '../../domain/index.ts';
import { rupeesText, timeText } from '../../pages/format.ts';
import type { Checkout } from '../queries.ts';
import type { CheckoutState, PaymentState } from '../state.ts';

/** The main message of the page. */
export interface Headline {
  tone: Tone;
  title: string;
  text: string;
}

type HeadlineBuilder = (checkout: Checkout) => Headline;

/** The order waits for its payment, and the page says how that is going. */
const OF_PAYMENT: Record<PaymentState, HeadlineBuilder> &
  Partial<Record<CheckoutState, HeadlineBuilder>> = {
  waiting: () => ({
    tone: 'wait',
    title: 'Waiting for your payment',
    text: 'Pay in your UPI app, then come back to this page.',
  }),
  session_expired: () => ({
    tone: 'bad',
    title: 'This payment session has expired',
    text:
      'No payment arrived in time. Your order is still open: start again for a new QR code. ' +
      'If you have just paid, check again in a minute before you pay a second time.',
  }),
  confirming: () => ({
    tone: 'wait',
    title: 'Payment received',
    text: 'We are confirming your order. This takes a few seconds.',
  }),
  link_expired: ({ merchantName }) => ({
    tone: 'bad',
    title: 'This payment link has expired',
    text: `Ask ${merchantName} for a new one.`,
  }),
  merchant_unavailable: ({ merchantName }) => ({
    tone: 'bad',
    title: 'Payment is not possible at the moment',
    text:
      `${merchantName} cannot take payments now. ` +
      'If you have already paid, this page will show it.',
  }),
};

/** The main message of the page in a state. */
export function headlineOf(state: CheckoutState, checkout: Checkout): Headline {
  return (OF_PAYMENT[state] ?? headlineOfOrder)(checkout);
}

function headlineOfOrder({ order, merchantName, surplus }: Checkout): Headline {
  const circumstances = { merchantName, hasSurplus: surplus.length > 0 };
  const { tone, title, text } = WAITING[phaseOf(order)].buyer(order, circumstances);
  return { tone, title: textOf(title), text: textOf(text) };
}

function textOf(sentence: Sentence): string {
  const texts = sentence.map((part) => {
    if (typeof part === 'string') return part;
    return 'at' in part ? timeText(part.at) : rupeesText(part.amountPaise);
  });
  return texts.join('');
}
