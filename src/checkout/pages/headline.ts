import { rupeesText, timeText } from '../../pages/format.ts';
import type { Checkout } from '../queries.ts';
import type { CheckoutState } from '../state.ts';

/** The look of a message: an action, a wait, a success or a problem. */
export type Tone = 'act' | 'wait' | 'good' | 'bad';

/** The main message of the page. */
export interface Headline {
  tone: Tone;
  title: string;
  text: string;
}

type HeadlineBuilder = (checkout: Checkout) => Headline;

const BEFORE_PAYMENT = {
  payable: ({ order }) => ({
    tone: 'act',
    title: `Pay ${rupeesText(order.amountPaise)} by UPI`,
    text:
      'Your money is held until your order is delivered. ' +
      `This link is open until ${timeText(order.paymentLinkExpiresAt)}.`,
  }),
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
  closing: () => ({
    tone: 'wait',
    title: 'This order is being cancelled',
    text: 'Please do not pay any more. If you have already paid, this page will show it.',
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
} as const satisfies Partial<Record<CheckoutState, HeadlineBuilder>>;

const AFTER_PAYMENT = {
  paid: ({ order, merchantName }) => ({
    tone: 'good',
    title: 'Payment successful',
    text:
      `${rupeesText(order.amountPaise)} is paid and held for you: ` +
      `${merchantName} gets it after delivery.`,
  }),
  delivered: ({ order, merchantName }) => ({
    tone: 'good',
    title: 'Delivered',
    text:
      `${merchantName} has marked your order as delivered. If something is wrong, say so ` +
      `${order.completesAt ? `before ${timeText(order.completesAt)}` : 'now'}: ` +
      'until then your money is held.',
  }),
  releasing: ({ merchantName }) => ({
    tone: 'good',
    title: 'Delivered',
    text: `The time to report a problem is over. The money is on its way to ${merchantName}.`,
  }),
  disputed: disputeHeadline,
  refunding: ({ order }) => ({
    tone: 'wait',
    title: 'Your refund is on its way',
    text: `${rupeesText(order.amountPaise)} is being sent back to the account you paid from.`,
  }),
  completed: ({ merchantName }) => ({
    tone: 'good',
    title: 'Order completed',
    text: `Your order was delivered, and ${merchantName} has the money.`,
  }),
  refunded: ({ order }) => ({
    tone: 'good',
    title: 'Refunded',
    text:
      `${rupeesText(order.refundAmountPaise ?? order.amountPaise)} was sent back to the ` +
      'account you paid from. Your bank may take a few days to show it.',
  }),
  cancelled: cancelHeadline,
} as const satisfies Partial<Record<CheckoutState, HeadlineBuilder>>;

const HEADLINES = { ...BEFORE_PAYMENT, ...AFTER_PAYMENT } as const satisfies Record<
  CheckoutState,
  HeadlineBuilder
>;

/** The main message of the page in a state. */
export function headlineOf(state: CheckoutState, checkout: Checkout): Headline {
  return HEADLINES[state](checkout);
}

function disputeHeadline({ order, merchantName }: Checkout): Headline {
  const until = order.disputeRespondBy ? ` until ${timeText(order.disputeRespondBy)}` : '';
  const answered = order.status === 'DISPUTE_UNDER_REVIEW';
  const now = answered
    ? `${merchantName} has answered, and your case is under review${until}.`
    : `${merchantName} has time to answer${until}.`;
  return {
    tone: 'wait',
    title: answered ? 'Your dispute is under review' : 'You raised a dispute',
    text: `${now} If it is not resolved by then, you get your money back.`,
  };
}

function cancelHeadline({ order, merchantName, surplus }: Checkout): Headline {
  const expired = order.cancelledBy === 'expiry';
  const charged = surplus.length === 0 ? ' Nothing was charged.' : '';
  return expired
    ? {
        tone: 'bad',
        title: 'This payment link has expired',
        text: `The order was not paid in time and is cancelled.${charged} Ask ${merchantName} for a new link.`,
      }
    : {
        tone: 'bad',
        title: 'This order was cancelled',
        text: `${merchantName} has cancelled it.${charged}`,
      };
}
