import type { Step } from '../../domain/index.ts';
import type { Letter } from '../../mail/public.ts';
import { rupeesText, shorten, timeText } from '../../pages/format.ts';
import type { Language } from '../../pages/language.ts';
import type { BuyerFacts, BuyerText, SurplusReason } from './buyer-texts.ts';
import { BUYER_TEXTS } from './buyer-texts.ts';
import type { NoticedOrder, StepCircumstances } from './noticed-order.ts';

export type BuyerMailKind =
  | 'buyer_receipt'
  | 'buyer_delivered'
  | 'buyer_dispute_raised'
  | 'buyer_evidence'
  | 'buyer_dispute_resolved'
  | 'buyer_refund';

const HOUR_MS = 3_600_000;
/** A description may be 32 KiB long; the mail has this many characters of it. */
const MAX_DESCRIPTION = 200;

const factsOf = (order: NoticedOrder, amountPaise = order.amountPaise): BuyerFacts => ({
  merchantName: order.merchantName,
  amountPaise,
  windowHours: order.terms.completionWindowMs / HOUR_MS,
});

/** Makes the mail to the buyer about a step. Undefined if the buyer is not told about it. */
export function buyerLetterOf(
  order: NoticedOrder,
  step: Step,
  { isByOperator }: Pick<StepCircumstances, 'isByOperator'>,
): { kind: BuyerMailKind; letter: Letter } | undefined {
  const texts = BUYER_TEXTS[order.buyerLanguage];
  const until = step.deadline === null ? null : new Date(step.deadline.atMs);
  const letter = (kind: BuyerMailKind, text: BuyerText) => ({
    kind,
    letter: letterOf(order, text, { until: kind === 'buyer_receipt' ? null : until }),
  });
  const facts = factsOf(order);
  if (step.kind === 'PAYMENT_SUCCESS') return letter('buyer_receipt', texts.receipt(facts));
  if (step.kind === 'REFUND_PROCESSED') return letter('buyer_refund', refundText(order));
  if (until === null) return undefined;
  switch (step.kind) {
    case 'DELIVERY_CONFIRMED':
      return letter('buyer_delivered', texts.delivered(facts, until));
    case 'DISPUTE_RAISED': {
      const by = { isByOperator, isReviewed: step.status === 'DISPUTE_UNDER_REVIEW' };
      return letter('buyer_dispute_raised', texts.disputeRaised(facts, until, by));
    }
    case 'EVIDENCE_SUBMITTED':
      return letter('buyer_evidence', texts.evidenceSubmitted(facts, until));
    case 'DISPUTE_RESOLVED': {
      const say = step.details?.for === undefined ? 'resolvedByMerchant' : 'decidedForMerchant';
      return letter('buyer_dispute_resolved', texts[say](facts, until));
    }
    default:
      return undefined;
  }
}

/** If the gateway or bank has returned all of the money before, the mail says that. */
function refundText(order: NoticedOrder): BuyerText {
  const { refunded, returnedBefore } = BUYER_TEXTS[order.buyerLanguage];
  const leftPaise = order.amountPaise - order.reversedPaise;
  const facts = factsOf(order, leftPaise);
  return leftPaise > 0
    ? refunded(facts, order.refundReason ?? 'settled_by_operator')
    : returnedBefore(facts);
}

export interface SurplusRefund {
  gatewayPaymentId: string;
  amountPaise: number;
  reason: SurplusReason;
}

export function surplusLetter(
  order: NoticedOrder,
  { gatewayPaymentId, amountPaise, reason }: SurplusRefund,
): Letter {
  const text = BUYER_TEXTS[order.buyerLanguage].refunded(factsOf(order, amountPaise), reason);
  return letterOf({ ...order, gatewayPaymentId, paymentUtr: null, amountPaise }, text);
}

/** A text with the facts of its order, and the link to the buyer's page. */
function letterOf(
  order: NoticedOrder,
  { subject, paragraphs }: BuyerText,
  { until = null }: { until?: Date | null } = {},
): Letter {
  const { buyerLanguage: language, merchantName, amountPaise, orderNumber } = order;
  const { labels, page } = BUYER_TEXTS[language];
  const facts: [string, string | null][] = [
    [labels.amount, rupeesText(amountPaise)],
    [labels.merchant, merchantName],
    [labels.description, shorten(order.description, MAX_DESCRIPTION)],
    [labels.deadline, until && timeText(until, language)],
    [labels.order, orderNumber],
    [labels.payment, order.gatewayPaymentId],
    [labels.utr, order.paymentUtr],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null);
  const link = { label: page, url: pageOf(order, language) };
  return { language, subject, paragraphs: [...paragraphs, { facts: known }, link] };
}

/** The link opens the page in the language of the mail. */
const pageOf = ({ buyerPage }: NoticedOrder, language: Language) =>
  `${buyerPage}?language=${language}`;
