import type { ComponentChildren } from 'preact';
import { REFUSALS } from '../../domain/index.ts';
import { DISPUTE_LIMITS } from '../../orders/public.ts';
import type { Language } from '../../pages/language.ts';
import { ENGLISH_REFERENCE } from '../../pages/reference.ts';

/** What headlines can name. Amounts and times are formatted as the page shows them. */
export interface HeadlineFacts {
  readonly merchant: string;
  readonly amount: string;
  readonly refund: string;
  readonly payBy: string;
  readonly disputeBy: string;
  readonly answerBy: string;
  /** True if a payment came that the order has not taken. */
  readonly hasOtherPayment: boolean;
}

export interface HeadlineTexts {
  readonly title: string;
  readonly text: string;
}

type Headline = (facts: HeadlineFacts) => HeadlineTexts;

const LINK_EXPIRED = 'This payment link has expired';
const REFUND_ON_ITS_WAY = 'Your refund is on its way';
const OR_REFUNDED = 'If it is not resolved by then, you get your money back.';
const NO_SECOND_PAYMENT = 'Please do not pay again: this page shows when it is done.';
const RESOLVED = 'Dispute resolved by the merchant';

/** The main message of the page, by what the order waits for. */
const HEADLINES = {
  payable: ({ amount, payBy }) => ({
    title: `Pay ${amount} by UPI`,
    text: `Your money is held until your order is delivered. This link is open until ${payBy}.`,
  }),
  waiting: () => ({
    title: 'Waiting for your payment',
    text: 'Pay in your UPI app, then come back to this page.',
  }),
  session_expired: () => ({
    title: 'This payment session has expired',
    text:
      'No payment arrived in time. Your order is still open: start again for a new QR code. ' +
      'If you have just paid, check again in a minute before you pay a second time.',
  }),
  confirming: () => ({
    title: 'Payment received',
    text: `We are confirming your order. ${NO_SECOND_PAYMENT}`,
  }),
  reported: ({ amount }) => ({
    title: 'Your payment is being confirmed',
    text: `Your payment of ${amount} was reported to us, and we are confirming it. ${NO_SECOND_PAYMENT}`,
  }),
  looked_at: ({ merchant }) => ({
    title: 'Your payment is being looked at',
    text: `We have your payment, but this order could not take it: it is in another currency, or a part of it was sent back. We look at it. Please do not pay again: ask ${merchant} if you have questions.`,
  }),
  link_expired: ({ merchant }) => ({
    title: LINK_EXPIRED,
    text: `Ask ${merchant} for a new one.`,
  }),
  merchant_unavailable: ({ merchant }) => ({
    title: 'Payment is not possible at the moment',
    text: `${merchant} cannot take payments now. If you have already paid, this page will show it.`,
  }),
  closing: () => ({
    title: 'This order is being cancelled',
    text: 'Please do not pay any more. If you have already paid, this page will show it.',
  }),
  paid: ({ amount, merchant }) => ({
    title: 'Payment successful',
    text: `${amount} is paid and held for you: ${merchant} gets it after delivery.`,
  }),
  delivered: ({ merchant, disputeBy }) => ({
    title: 'Delivered',
    text: `${merchant} has marked your order as delivered. If something is wrong, say so before ${disputeBy}: until then your money is held.`,
  }),
  resolved: ({ merchant, disputeBy }) => ({
    title: RESOLVED,
    text: `${merchant} says that your dispute is resolved. If something is still wrong, say so before ${disputeBy}: until then your money is held.`,
  }),
  resolved_last: ({ merchant, disputeBy }) => ({
    title: RESOLVED,
    text: `${merchant} says that your dispute is resolved. You can raise no other one: ${merchant} gets the money after ${disputeBy}.`,
  }),
  decided: ({ merchant, disputeBy }) => ({
    title: 'Dispute decided for the merchant',
    text: `We have looked at your dispute and decided for ${merchant}, who gets the money after ${disputeBy}.`,
  }),
  disputed: ({ merchant, answerBy }) => ({
    title: 'You raised a dispute',
    text: `${merchant} has time to answer until ${answerBy}. ${OR_REFUNDED}`,
  }),
  disputed_for_buyer: ({ merchant, answerBy }) => ({
    title: 'We raised a dispute for you',
    text: `${merchant} has time to answer until ${answerBy}. ${OR_REFUNDED}`,
  }),
  reviewed: ({ merchant, answerBy }) => ({
    title: 'We decide your dispute',
    text: `Your case is under review until ${answerBy}. ${merchant} can send evidence until then. ${OR_REFUNDED}`,
  }),
  under_review: ({ merchant, answerBy }) => ({
    title: 'Your dispute is under review',
    text: `${merchant} has answered, and your case is under review until ${answerBy}. ${OR_REFUNDED}`,
  }),
  releasing: ({ merchant }) => ({
    title: 'Your order is being completed',
    text: `The time to report a problem is over. The money is on its way to ${merchant}.`,
  }),
  completed: ({ merchant }) => ({
    title: 'Order completed',
    text: `The time to report a problem is over, and ${merchant} has the money.`,
  }),
  refunding: ({ amount }) => ({
    title: REFUND_ON_ITS_WAY,
    text: `${amount} is being sent back to the account you paid from.`,
  }),
  refunded: ({ refund }) => ({
    title: 'Refunded',
    text: `${refund} was sent back to the account you paid from. Your bank may take a few days to show it.`,
  }),
  refunded_by_transfer: ({ refund }) => ({
    title: 'Refunded',
    text: `${refund} was paid back to you by bank transfer.`,
  }),
  refund_returned: ({ refund }) => ({
    title: REFUND_ON_ITS_WAY,
    text: `Your bank has returned the refund of ${refund}: it is being sent again.`,
  }),
  cancelled: ({ merchant, hasOtherPayment }) => ({
    title: 'This order was cancelled',
    text: `${merchant} has cancelled it.${hasOtherPayment ? '' : ' Nothing was charged.'}`,
  }),
  cancelled_by_expiry: ({ merchant, hasOtherPayment }) => ({
    title: LINK_EXPIRED,
    text: `The order was not paid in time and is cancelled.${hasOtherPayment ? '' : ' Nothing was charged.'} Ask ${merchant} for a new link.`,
  }),
} as const satisfies Record<string, Headline>;

export type HeadlineKind = keyof typeof HEADLINES;

export const EN = {
  language: 'en' as Language,
  htmlLang: 'en-IN',
  languages: 'Language',
  /** The language of the page's switch, named in that language. */
  other: { language: 'hi' as Language, name: 'हिन्दी' },
  sandbox: 'Sandbox',
  sandboxNotice: 'no real money moves here.',
  reference: ENGLISH_REFERENCE,
  headlines: HEADLINES as Record<HeadlineKind, Headline>,

  payment: {
    section: 'Payment',
    pay: 'Pay now',
    tryAgain: 'Try again',
    failed: 'Your last payment did not go through. You can try again.',
    timeLeft: 'Time left ',
    until: (time: ComponentChildren): ComponentChildren => ['until ', time],
    sandboxApp: 'Pay in the sandbox UPI app',
    upiApp: 'Open my UPI app',
    upiApps: 'Open one of these apps',
    notOpened:
      'No UPI app has opened. Copy the UPI address below and pay to it in your UPI app, or open this page in another browser.',
    addressHint:
      'No app opens? The browser inside another app often cannot open one: pay to this address in your UPI app.',
    address: 'UPI address ',
    amount: 'Amount ',
    copyAddress: 'Copy the UPI address',
    copied: 'Copied',
    qrCode: 'QR code to pay with any UPI app',
    scan: 'Scan with any UPI app',
    sandboxScan: 'A real UPI app reads this code, but cannot pay in the sandbox',
  },

  /**
   * For a payment that the order could not take and that is not refunded automatically, when the order waits for no
   * payment.
   */
  lookedAt: 'Another payment of yours for this order is being looked at.',

  /** The state of a payment that the order could not take. */
  surplus: {
    reasons: {
      wrong_amount: (amount: string) => `A payment of ${amount} is not the amount of this order. `,
      late_payment: (amount: string) =>
        `A payment of ${amount} came after this order was cancelled. `,
      already_paid: (amount: string) =>
        `A payment of ${amount} came although this order was already paid. `,
    },
    underWay: 'It is being sent back to you in full.',
    refunded: (time: string) => `It was sent back to you on ${time}.`,
  },

  progress: {
    title: 'Progress of your order',
    steps: {
      PAYMENT_SUCCESS: 'Paid',
      DELIVERY_CONFIRMED: 'Delivered',
      DISPUTE_RAISED: 'Dispute raised',
      EVIDENCE_SUBMITTED: 'Answer from the merchant',
      DISPUTE_RESOLVED: RESOLVED,
      ORDER_COMPLETED: 'Completed',
      REFUND_STARTED: 'Refund started',
      REFUND_PROCESSED: 'Refunded',
    },
    decidedForMerchant: 'Dispute decided for the merchant',
    forMerchant: 'By the payment service, for the merchant',
    trackingId: 'Tracking ID: ',
    refundReasons: {
      merchant_refund: 'The merchant pays you back',
      dispute_not_resolved_in_time: 'The dispute was not resolved in time',
      dispute_accepted: 'The merchant accepted the dispute',
      dispute_decided_for_buyer: 'The dispute was decided for you',
      settled_by_operator: 'Settled by the payment service',
    },
    upcoming: {
      delivery: 'Delivery',
      completion: 'Completion',
      decision: 'Decision',
      refund: 'Refund',
    },
  },

  disputes: {
    title: 'Your dispute',
    numbered: (number: number) => `Your dispute ${number}`,
    earlier: 'Earlier disputes',
    reason: 'What you wrote',
    reasonOfService: 'We raised it for you, because',
    evidence: 'Answer from the merchant',
    resolution: 'How the merchant resolved it',
    decidedFor: {
      buyer: 'Decided for you, because',
      merchant: 'Decided for the merchant, because',
    },
    /** How a dispute without a text ended. */
    endings: {
      accepted_by_merchant: 'The merchant accepted it: you get your money back.',
      not_resolved_in_time: 'It was not resolved in time: you get your money back.',
      settled_by_operator: 'We settled it: see below.',
    },
    unsent: 'Your text was not sent',
  },

  disputeForm: {
    summary: 'Something is wrong with my order',
    label: 'What is wrong?',
    hint: (merchant: ComponentChildren): ComponentChildren => [
      'Say it in 10 to 2000 characters. ',
      merchant,
      ' will read it. While a dispute runs, your money stays held.',
    ],
    violation: 'Your reason must be 10 to 2000 characters and not blank.',
    submit: 'Raise a dispute',
  },

  /** Why the form that the buyer submitted was refused. */
  problems: {
    no_more_sessions:
      'No further payment can be started for this order. Ask the merchant for a new link.',
    gateway_unavailable:
      'The UPI payment system cannot be reached at the moment. Try again in a few minutes.',
    payments_not_available: 'This merchant cannot take payments yet. Ask the merchant how to pay.',
    dispute_not_confirmed:
      'We could not confirm your dispute. Check this page again in a minute, and send it once more ' +
      'if it is not shown by then.',
    dispute_refused: REFUSALS.dispute as string,
    dispute_most: DISPUTE_LIMITS.most,
    dispute_decided: DISPUTE_LIMITS.decided,
  },

  /** An operator's explanation of money that was moved outside the gateway. */
  settlement: {
    titles: {
      paidMerchant: 'The merchant was paid by bank transfer, because',
      paidBuyer: 'You were paid back by bank transfer, because',
      recorded: 'Settled by us, because',
    },
    reference: 'Its reference: ',
  },

  checkAgain: 'Check again',
  changed: 'This order has changed: check again.',
  questions: 'Questions about the order: ',
  backTo: (host: ComponentChildren): ComponentChildren => ['Back to ', host],
  merchantReference: 'Reference ',
  order: 'Order ',

  /** The error pages of requests that show no order, by HTTP status. */
  refusals: {
    400: {
      title: 'That did not work',
      text: 'The form arrived damaged. Open your payment link again and send it once more.',
    },
    403: {
      title: 'This form came from another site',
      text: 'Open your payment link again and use the form on that page.',
    },
    404: {
      title: 'Payment page not found',
      text: 'Check that the link is complete, or ask the merchant for a new one.',
    },
    408: {
      title: 'That took too long to arrive',
      text: 'Open your payment link again and send it once more.',
    },
    413: {
      title: 'That is too long',
      text: 'Open your payment link again and say it in 10 to 2000 characters.',
    },
    429: {
      title: 'Too many requests',
      text: 'Many people use this page at the moment. Try again in a few seconds.',
    },
  } as Record<number, HeadlineTexts>,
  serverError: {
    title: 'Something went wrong',
    text:
      'The fault is ours. Open your payment link again in a minute: it shows whether what you did ' +
      'has arrived.',
  },
};

/** The texts of the buyer's pages, which every language has. */
export type Texts = typeof EN;
