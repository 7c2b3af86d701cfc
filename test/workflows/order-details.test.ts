import { describe, expect, test } from 'vitest';
import type { OrderState, OrderStatus } from '../../src/domain/index.ts';
import { STATUSES } from '../../src/domain/order.ts';
import { currentDetails, deadlineSummary } from '../../workflows/order/details.ts';
import { createPair } from '../domain/lifecycle-walk.ts';

function orderIn(status: OrderStatus, overrides: Partial<OrderState> = {}): OrderState {
  const kind = STATUSES[status].deadline;
  const deadline = kind && { kind, atMs: Date.UTC(2026, 10, 20, 13) };
  return { ...createPair(true).state, status, deadline, ...overrides };
}

const AT = '**2026-11-20T13:00:00.000Z**';
const UNRESOLVED = 'the dispute counts as unresolved and the buyer is refunded';

describe('the Temporal UI shows an operator what an order waits for', () => {
  test.each([
    [
      'ACCEPTED',
      "**ACCEPTED** · Waiting for the buyer's payment.",
      `At ${AT} the payment link expires and the order is cancelled.`,
    ],
    [
      'PAID',
      '**PAID** · Paid, the money is held. Waiting for the merchant to mark the order delivered.',
    ],
    [
      'DELIVERED',
      '**DELIVERED** · Delivered. The funds are released to the merchant unless the buyer disputes.',
      `At ${AT} the dispute window ends and the funds are released.`,
    ],
    [
      'DISPUTE_OPEN',
      "**DISPUTE_OPEN** · The buyer disputes the order. Waiting for the merchant's evidence or resolution.",
      `At ${AT} ${UNRESOLVED}.`,
    ],
    [
      'DISPUTE_UNDER_REVIEW',
      "**DISPUTE_UNDER_REVIEW** · Evidence is in. Waiting for an operator's decision or a resolution.",
      `At ${AT} ${UNRESOLVED}.`,
    ],
    ['COMPLETED', '**COMPLETED** · Completed: the funds are released to the merchant.'],
    ['REFUNDED', '**REFUNDED** · Refunded: the money is back with the buyer.'],
    ['CANCELLED', '**CANCELLED** · Cancelled before it was paid.'],
  ] as const)('%s', (status, ...lines) => {
    expect(currentDetails(orderIn(status))).toBe(lines.join('\n\n'));
  });

  test.each([
    [
      'ACCEPTED',
      { kind: 'closing', cause: 'cancel' },
      'Asking the gateway to close the open payment session, to cancel the order.',
    ],
    ['DELIVERED', { kind: 'releasing' }, 'Releasing the funds to the merchant at the gateway.'],
    [
      'DISPUTE_OPEN',
      { kind: 'refunding', reason: 'dispute_accepted' },
      'Refunding the buyer at the gateway.',
    ],
  ] as const)('%s while busy: what it does, and no deadline', (status, pendingOperation, doing) => {
    expect(currentDetails(orderIn(status, { pendingOperation }))).toBe(`**${status}** · ${doing}`);
  });

  test('disputes are counted', () => {
    const details = currentDetails(orderIn('PAID', { disputeCount: 2 }));
    expect(details).toMatch(/\n\nDisputes so far: 2\.$/);
  });

  test.each([
    ['payment_link', 'Until the payment link expires and the order is cancelled'],
    ['completion', 'Until the dispute window ends and the funds are released'],
    ['dispute_answer', `Until ${UNRESOLVED}`],
  ] as const)('the timer of %s says what it is for', (kind, summary) => {
    expect(deadlineSummary({ kind, atMs: 0 })).toBe(summary);
  });
});
