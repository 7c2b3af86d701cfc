import type { OrderStatus, RefundReason, Step } from '../../domain/index.ts';
import { DISPUTE_ANSWERS, isDisputed, transitionOf } from '../../domain/index.ts';
import type { Letter } from '../../mail/public.ts';
import { rupeesText, timeText } from '../../pages/format.ts';
import type { NoticedOrder, StepCircumstances } from './noticed-order.ts';

export type MerchantMailKind =
  | 'merchant_first_payment'
  | 'merchant_dispute_raised'
  | 'merchant_dispute_deadline'
  | 'merchant_dispute_ended'
  | 'merchant_refund_by_operator';

interface MerchantMail {
  kind: MerchantMailKind;
  letter: Letter;
}

/** Makes the mail to the merchant about a step. Undefined if the merchant is not told about it. */
export function merchantLetterOf(
  order: NoticedOrder,
  step: Step,
  { before, isFirstPayment, isByOperator }: StepCircumstances,
): MerchantMail | undefined {
  const amount = rupeesText(order.amountPaise);
  switch (step.kind) {
    case 'PAYMENT_SUCCESS':
      return isFirstPayment ? firstPayment(order, amount) : undefined;
    case 'DISPUTE_RAISED':
      return disputeRaised(order, amount, step);
    case 'DISPUTE_RESOLVED':
      return disputeEnded(order, [
        step.details?.for === undefined
          ? 'You have resolved the dispute.'
          : 'We have decided the dispute for you. The page of the order has the reason.',
        `${amount} is released to you when the new window has passed without another dispute.`,
      ]);
    case 'REFUND_STARTED':
      return isByOperator && !isDisputed(before) ? refundByOperator(order, amount) : undefined;
    case 'REFUND_PROCESSED':
    case 'ORDER_COMPLETED':
      return endOf(order, amount, { before, kind: step.kind });
    default:
      return undefined;
  }
}

function firstPayment(order: NoticedOrder, amount: string): MerchantMail {
  return {
    kind: 'merchant_first_payment',
    letter: letterOf(order, `Your first payment: ${amount}`, [
      `A buyer has paid you ${amount}, your first payment in ${order.environment}.`,
      'We hold the money until you have delivered and the window for disputes has passed. Confirm the delivery by the API or on the page of the order.',
    ]),
  };
}

function disputeRaised(order: NoticedOrder, amount: string, step: Step): MerchantMail {
  const until = deadlineText(step.deadline?.atMs);
  const paragraphs =
    step.status === 'DISPUTE_UNDER_REVIEW'
      ? [
          `The buyer of this order has raised dispute ${step.disputeCount}, which we decide. By ${until} you can send evidence, or accept it.`,
          `Without a decision ${amount} goes back to the buyer.`,
        ]
      : [
          `The buyer of this order has raised a dispute. Answer by ${until}: send evidence, resolve it with the buyer, or accept it.`,
          `Without an answer ${amount} goes back to the buyer.`,
        ];
  return {
    kind: 'merchant_dispute_raised',
    letter: letterOf(order, `A buyer disputes ${amount}`, paragraphs),
  };
}

const deadlineText = (atMs: number | undefined) =>
  atMs === undefined ? 'the deadline on its page' : timeText(new Date(atMs));

const ANSWER_TEXTS = {
  submitEvidence: 'send evidence',
  resolve: 'resolve it with the buyer',
  accept: 'accept it',
} as const satisfies Record<(typeof DISPUTE_ANSWERS)[number], string>;

export function disputeDeadlineLetter(order: NoticedOrder, respondBy: Date): Letter {
  const amount = rupeesText(order.amountPaise);
  const left = DISPUTE_ANSWERS.filter((answer) => transitionOf(order, answer));
  const begin =
    order.disputeEvidence === null
      ? 'You have not answered this dispute.'
      : 'We have your evidence and have not decided yet.';
  return letterOf(order, `The dispute about ${amount} ends in less than 24 hours`, [
    `${begin} By ${timeText(respondBy)} you can ${eitherOf(left.map((answer) => ANSWER_TEXTS[answer]))}.`,
    `If it has not ended then, ${amount} goes back to the buyer.`,
  ]);
}

const eitherOf = (texts: readonly string[]) =>
  [texts.slice(0, -1).join(', '), ...texts.slice(-1)].filter(Boolean).join(' or ');

function disputeEnded(order: NoticedOrder, paragraphs: string[]): MerchantMail {
  const subject = `The dispute about ${rupeesText(order.amountPaise)} has ended`;
  return { kind: 'merchant_dispute_ended', letter: letterOf(order, subject, paragraphs) };
}

function refundByOperator(order: NoticedOrder, amount: string): MerchantMail {
  return {
    kind: 'merchant_refund_by_operator',
    letter: letterOf(order, `We refund ${amount} to a buyer`, [
      `One of our operators has started the refund of this order. ${amount} goes back to the buyer, and is not released to you. The page of the order has the reason.`,
    ]),
  };
}

const ENDINGS: Record<RefundReason, string> = {
  merchant_refund: 'The order was refunded.',
  dispute_accepted: 'You have accepted the dispute.',
  dispute_decided_for_buyer:
    'We have decided the dispute for the buyer. The page of the order has the reason.',
  dispute_not_resolved_in_time: 'The dispute was not resolved in time.',
  settled_by_operator: 'One of our operators has settled the order. Its page has the reason.',
};

/** The end of an order that had a dispute, or that an operator has settled outside the gateway. */
function endOf(
  order: NoticedOrder,
  amount: string,
  { before, kind }: { before: OrderStatus; kind: Step['kind'] },
): MerchantMail | undefined {
  const isSettled = order.refundReason === 'settled_by_operator';
  if (kind === 'ORDER_COMPLETED') {
    if (!isDisputed(before)) return undefined;
    return disputeEnded(order, [
      ENDINGS.settled_by_operator,
      `${amount} is recorded as released to you.`,
    ]);
  }
  const ending = ENDINGS[order.refundReason ?? 'settled_by_operator'];
  const paragraphs = [ending, `${amount} went back to the buyer.`];
  if (isDisputed(before)) return disputeEnded(order, paragraphs);
  if (!isSettled) return undefined;
  const letter = letterOf(order, `We have settled an order of ${amount}`, paragraphs);
  return { kind: 'merchant_refund_by_operator', letter };
}

/**
 * Paragraphs with the facts of their order, and the link to its page. The mail contains nothing that the buyer
 * typed.
 */
function letterOf(order: NoticedOrder, subject: string, paragraphs: string[]): Letter {
  const facts: [string, string][] = [
    ['Amount', rupeesText(order.amountPaise)],
    ['Order', order.orderNumber],
  ];
  if (order.merchantOrderId !== null) facts.push(['Your order id', order.merchantOrderId]);
  if (order.gatewayPaymentId !== null) facts.push(['Payment id', order.gatewayPaymentId]);
  return {
    subject,
    paragraphs: [
      `Hello ${order.merchantName},`,
      ...paragraphs,
      { facts },
      { label: 'See the order', url: order.merchantPage },
    ],
  };
}
