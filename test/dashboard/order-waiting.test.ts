import { describe, expect, test } from 'vitest';
import type { SentencePart } from '../../src/dashboard/orders/waiting.ts';
import { merchantSentence } from '../../src/dashboard/orders/waiting.ts';
import type { OrderStatus, PendingOperation } from '../../src/domain/index.ts';
import { EXAMPLE_ROW } from './example-row.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { presentTimeline } from '../../src/orders/steps/timeline-presenter.ts';
import { deadlineOf } from '../../src/orders/steps/timeline-presenter.ts';

const NOW = new Date('2026-11-22T10:00:00Z');
const LATER = new Date('2026-11-23T10:12:00Z');
const EARLIER = new Date('2026-11-22T09:00:00Z');

const text = (sentence: readonly SentencePart[]) =>
  sentence
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'at' in part
        ? `<${part.at.toISOString().slice(5, 16)}>`
        : `₹${part.amountPaise / 100}`;
    })
    .join('');

const sentenceOf = (order: Partial<OrderRow>, isSuspended = false) =>
  text(merchantSentence({ ...EXAMPLE_ROW, ...order }, { now: NOW, isSuspended }));

describe('the sentence of an order says what it waits for, until when, and what follows', () => {
  test.for<[string, Partial<OrderRow>, string]>([
    [
      'not paid',
      { status: 'ACCEPTED', paymentLinkExpiresAt: LATER },
      'Waiting for the buyer to pay ₹499.5. If the buyer has not paid by <11-23T10:12>, the payment link expires and the order is cancelled.',
    ],
    [
      'paid',
      { status: 'PAID' },
      'Paid: ₹499.5 is held. Waiting for you to mark the order delivered, without a deadline. The buyer then has 24 hours to raise a dispute, before the money is released to you.',
    ],
    [
      'paid, with a window of two minutes',
      {
        status: 'PAID',
        terms: { environment: 'sandbox', completionWindowMs: 120_000, disputeAnswerMs: 1000 },
      },
      'Paid: ₹499.5 is held. Waiting for you to mark the order delivered, without a deadline. The buyer then has 2 minutes to raise a dispute, before the money is released to you.',
    ],
    [
      'delivered',
      { status: 'DELIVERED', completesAt: LATER },
      'Delivered. If the buyer raises no dispute by <11-23T10:12>, it completes and ₹499.5 is released to you.',
    ],
    [
      'delivered, past its deadline',
      { status: 'DELIVERED', completesAt: EARLIER },
      'Delivered. The time for a dispute ended at <11-22T09:00>; the release to you has not begun yet.',
    ],
    [
      'delivered, with a dispute that is not recorded yet',
      { status: 'DELIVERED', completesAt: LATER, waitingDisputeId: 'cmd_1' },
      'The buyer has raised a dispute. It is being recorded; then the order waits for your answer.',
    ],
    [
      'disputed',
      { status: 'DISPUTE_OPEN', disputeRespondBy: LATER },
      'The buyer disputes this order. Waiting for your evidence or a resolution. Without a resolution by <11-23T10:12>, ₹499.5 is refunded to the buyer.',
    ],
    [
      'under review',
      { status: 'DISPUTE_UNDER_REVIEW', disputeRespondBy: LATER },
      'Your evidence is under review. If the dispute is neither decided nor resolved by <11-23T10:12>, ₹499.5 is refunded to the buyer.',
    ],
    [
      'disputed again, before evidence',
      {
        status: 'DISPUTE_UNDER_REVIEW',
        operatorReview: 'reviewedWithoutEvidence',
        disputeRespondBy: LATER,
      },
      'The buyer disputes this order again, and an operator decides. You can submit evidence once, or accept the dispute. Without a decision by <11-23T10:12>, ₹499.5 is refunded to the buyer.',
    ],
    [
      'disputed again, with evidence',
      {
        status: 'DISPUTE_UNDER_REVIEW',
        operatorReview: 'reviewedWithEvidence',
        disputeRespondBy: LATER,
      },
      'Your evidence is under review, and an operator decides. Without a decision by <11-23T10:12>, ₹499.5 is refunded to the buyer.',
    ],
    [
      'completed',
      { status: 'COMPLETED' },
      'Completed. ₹499.5 is released to you. Nothing follows.',
    ],
    [
      'refunded',
      { status: 'REFUNDED', refundProcessedAt: NOW },
      'Refunded. ₹499.5 is back with the buyer. Nothing follows.',
    ],
    [
      'refunded, and the refund has failed',
      { status: 'REFUNDED', refundAmountPaise: 49_950 },
      "Refunded, but the buyer's bank has returned ₹499.5: it is sent again. Nothing is asked of you.",
    ],
    [
      'cancelled by the merchant',
      { status: 'CANCELLED', cancelledBy: 'merchant' },
      'Cancelled before the buyer paid. Nothing follows.',
    ],
    [
      'expired',
      { status: 'CANCELLED', cancelledBy: 'expiry' },
      'Cancelled: the payment link expired before the buyer paid. Nothing follows.',
    ],
    [
      'expired, and paid too late',
      { status: 'CANCELLED', cancelledBy: 'expiry', refundAmountPaise: 50_000 },
      'Cancelled: the payment link expired before the buyer paid. ₹500 of the buyer is being refunded, because the order could not take the payment.',
    ],
    [
      'expired, paid too late and refunded',
      {
        status: 'CANCELLED',
        cancelledBy: 'expiry',
        refundAmountPaise: 50_000,
        refundProcessedAt: NOW,
      },
      'Cancelled: the payment link expired before the buyer paid. ₹500 of the buyer was refunded, because the order could not take the payment. Nothing follows.',
    ],
    [
      'being cancelled',
      { status: 'ACCEPTED', pendingOperation: { kind: 'closing', cause: 'cancel' } },
      'The payment session is being closed at the gateway. The order is then cancelled, unless the buyer has just paid ₹499.5.',
    ],
    [
      'being released',
      { status: 'DELIVERED', completesAt: EARLIER, pendingOperation: { kind: 'releasing' } },
      '₹499.5 is being released to you at the gateway since <11-22T09:00>. The order completes when the gateway has released it.',
    ],
    [
      'being refunded',
      {
        status: 'PAID',
        pendingOperation: { kind: 'refunding', reason: 'merchant_refund' },
      },
      '₹499.5 is being refunded at the gateway since <11-22T09:00>. The order ends when the buyer has been refunded.',
    ],
  ])('%s', ([_what, order, sentence]) => {
    expect(sentenceOf(order)).toBe(sentence);
  });

  test('a suspended merchant reads that nothing is released', () => {
    expect(sentenceOf({ status: 'DELIVERED', completesAt: LATER }, true)).toBe(
      'Delivered, but nothing of ₹499.5 is released to you while your account is suspended. Disputes end as usual.',
    );
  });
});

test.for<[OrderStatus, PendingOperation | null]>([
  ['ACCEPTED', null],
  ['PAID', null],
  ['DELIVERED', null],
  ['DISPUTE_OPEN', null],
  ['COMPLETED', null],
  ['DELIVERED', { kind: 'releasing' }],
])('the deadline of an order is that of the API (%s, %o)', ([status, pendingOperation]) => {
  const order = {
    ...EXAMPLE_ROW,
    status,
    pendingOperation,
    paymentLinkExpiresAt: LATER,
    completesAt: status === 'DELIVERED' ? LATER : null,
    disputeRespondBy: status === 'DISPUTE_OPEN' ? LATER : null,
  };
  const next = presentTimeline(order, { rows: [], earlier: null }).next;
  expect(deadlineOf(order)?.toISOString()).toBe(pendingOperation ? undefined : next?.at);
});

test.for([
  [
    'ACCEPTED',
    'reported',
    'A payment of ₹499.5 was reported and is being confirmed. The order takes no other payment meanwhile. Do not deliver it before it is paid.',
  ],
  [
    'ACCEPTED',
    'looked_at',
    'A payment of the buyer is in another currency, or was refunded in part: we look at it. The order takes no other payment meanwhile. Do not deliver it.',
  ],
  [
    'CANCELLED',
    'looked_at',
    'Cancelled before the buyer paid. A payment of the buyer is in another currency, or was refunded in part: we look at it.',
  ],
] as const)(
  'the merchant reads of a capture that an order has not applied: %s, %s',
  ([status, unapplied, expected]) => {
    const order = { ...EXAMPLE_ROW, status, refundAmountPaise: null };
    const sentence = merchantSentence(order, { now: NOW, isSuspended: false, unapplied });
    expect(text(sentence)).toBe(expected);
  },
);
