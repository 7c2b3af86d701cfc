import { describe, expect, test } from 'vitest';
import type { Phase, Sentence, WaitingOrder } from '../../src/domain/index.ts';
import { WAITING } from '../../src/domain/index.ts';

const NOW = new Date('2026-11-22T10:00:00Z');

const ORDER: WaitingOrder = {
  terms: { environment: 'sandbox', completionWindowMs: 86_400_000, disputeAnswerMs: 259_200_000 },
  amountPaise: 49_950,
  paymentLinkExpiresAt: new Date('2026-11-22T11:00:00Z'),
  completesAt: new Date('2026-11-22T12:00:00Z'),
  disputeRespondBy: new Date('2026-11-22T13:00:00Z'),
  refundAmountPaise: null,
  refundProcessedAt: NOW,
  cancelledBy: 'merchant',
  updatedAt: new Date('2026-11-22T09:00:00Z'),
};

const textOf = (sentence: Sentence) =>
  sentence
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'at' in part ? `<${part.at.getUTCHours()} h>` : `₹${part.amountPaise / 100}`;
    })
    .join('');

function headlineOf(phase: Phase, order: Partial<WaitingOrder> = {}, hasSurplus = false) {
  const circumstances = { merchantName: 'Asha Textiles', hasSurplus };
  const { tone, title, text } = WAITING[phase].buyer({ ...ORDER, ...order }, circumstances);
  return [tone, textOf(title), textOf(text)];
}

/** What the buyer reads: the look of the message, its title and its text. */
const HEADLINES: Record<Phase, string[]> = {
  ACCEPTED: [
    'act',
    'Pay ₹499.5 by UPI',
    'Your money is held until your order is delivered. This link is open until <11 h>.',
  ],
  PAID: [
    'good',
    'Payment successful',
    '₹499.5 is paid and held for you: Asha Textiles gets it after delivery.',
  ],
  DELIVERED: [
    'good',
    'Delivered',
    'Asha Textiles has marked your order as delivered. If something is wrong, say so before <12 h>: until then your money is held.',
  ],
  DISPUTE_OPEN: [
    'wait',
    'You raised a dispute',
    'Asha Textiles has time to answer until <13 h>. If it is not resolved by then, you get your money back.',
  ],
  DISPUTE_UNDER_REVIEW: [
    'wait',
    'Your dispute is under review',
    'Asha Textiles has answered, and your case is under review until <13 h>. If it is not resolved by then, you get your money back.',
  ],
  COMPLETED: [
    'good',
    'Order completed',
    'Your order was delivered, and Asha Textiles has the money.',
  ],
  REFUNDED: [
    'good',
    'Refunded',
    '₹499.5 was sent back to the account you paid from. Your bank may take a few days to show it.',
  ],
  CANCELLED: [
    'bad',
    'This order was cancelled',
    'Asha Textiles has cancelled it. Nothing was charged.',
  ],
  closing: [
    'wait',
    'This order is being cancelled',
    'Please do not pay any more. If you have already paid, this page will show it.',
  ],
  releasing: [
    'good',
    'Delivered',
    'The time to report a problem is over. The money is on its way to Asha Textiles.',
  ],
  refunding: [
    'wait',
    'Your refund is on its way',
    '₹499.5 is being sent back to the account you paid from.',
  ],
};
const PHASES = Object.keys(HEADLINES) as Phase[];

test('the table has every phase', () => {
  expect(PHASES.toSorted()).toEqual(Object.keys(WAITING).toSorted());
});

test.for(PHASES)('every reader reads what an order waits for: %s', (phase) => {
  const { operator, merchant } = WAITING[phase];
  const texts = [operator, textOf(merchant(ORDER, { now: NOW, isSuspended: false }))];
  for (const text of [...texts, ...headlineOf(phase).slice(1)]) {
    expect(text).toMatch(/^[A-Z₹]/);
    expect(text).not.toMatch(/undefined|null|\[object| {2}/);
  }
});

describe('the buyer reads on the payment page', () => {
  test.for(PHASES)('what the order waits for: %s', (phase) => {
    expect(headlineOf(phase)).toEqual(HEADLINES[phase]);
  });

  test('how much was refunded, if that is not the amount of the order', () => {
    expect(headlineOf('REFUNDED', { refundAmountPaise: 10_000 })[2]).toMatch(/^₹100 was sent back/);
  });

  test('that a refund which has failed is sent again', () => {
    expect(headlineOf('REFUNDED', { refundProcessedAt: null })).toEqual([
      'wait',
      'Your refund is on its way',
      'Your bank has returned the refund of ₹499.5: it is being sent again.',
    ]);
  });

  test('that the link has expired, and not that the merchant has cancelled', () => {
    expect(headlineOf('CANCELLED', { cancelledBy: 'expiry' })).toEqual([
      'bad',
      'This payment link has expired',
      'The order was not paid in time and is cancelled. Nothing was charged. Ask Asha Textiles for a new link.',
    ]);
  });

  test.for<[WaitingOrder['cancelledBy'], string]>([
    ['merchant', 'Asha Textiles has cancelled it.'],
    [
      'expiry',
      'The order was not paid in time and is cancelled. Ask Asha Textiles for a new link.',
    ],
  ])('nothing of charges when a payment came too late (%s)', ([cancelledBy, text]) => {
    expect(headlineOf('CANCELLED', { cancelledBy }, true)[2]).toBe(text);
  });
});
