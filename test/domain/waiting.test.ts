import { expect, test } from 'vitest';
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

const PHASES = Object.keys(WAITING) as Phase[];

test.for(PHASES)('every reader reads what an order waits for: %s', (phase) => {
  const { operator, merchant } = WAITING[phase];
  const texts = [operator, textOf(merchant(ORDER, { now: NOW, isSuspended: false }))];
  for (const text of texts) {
    expect(text).toMatch(/^[A-Z₹]/);
    expect(text).not.toMatch(/undefined|null|\[object| {2}/);
  }
});
