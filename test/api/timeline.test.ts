import { describe, expect, test } from 'vitest';
import type { PendingOperation, OrderStatus } from '../../src/domain/index.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { presentTimeline } from '../../src/orders/steps/timeline-presenter.ts';

const LINK_ENDS = '2026-11-21T12:00:00.000Z';
const WINDOW_ENDS = '2026-11-22T12:00:00.000Z';
const ANSWER_ENDS = '2026-11-23T12:00:00.000Z';
const UPDATED = '2026-11-20T12:00:00.000Z';

/** An order with every date that the timeline reads, in any status. */
const nextOf = (status: OrderStatus, pendingOperation: PendingOperation | null = null) => {
  const order: Partial<OrderRow> = {
    status,
    pendingOperation,
    paymentLinkExpiresAt: new Date(LINK_ENDS),
    completesAt: new Date(WINDOW_ENDS),
    disputeRespondBy: new Date(ANSWER_ENDS),
    updatedAt: new Date(UPDATED),
  };
  return presentTimeline(order as OrderRow, { rows: [], earlier: null }).next;
};

const REFUND = 'the dispute is unresolved; the buyer is refunded';

describe('the timeline shows what happens next without a command, and when', () => {
  test.each([
    ['ACCEPTED', LINK_ENDS, 'the payment link expires; the order is cancelled'],
    ['DELIVERED', WINDOW_ENDS, 'the order is completed and the funds are released'],
    ['DISPUTE_OPEN', ANSWER_ENDS, REFUND],
    ['DISPUTE_UNDER_REVIEW', ANSWER_ENDS, REFUND],
  ] as const)('%s: at %s %s', (status, at, action) => {
    expect(nextOf(status)).toEqual({ at, action });
  });

  test.each(['PAID', 'COMPLETED', 'REFUNDED', 'CANCELLED'] as const)('%s: nothing', (status) => {
    expect(nextOf(status)).toBeNull();
  });

  test.each([
    ['ACCEPTED', { kind: 'closing', cause: 'expiry' }, 'the payment session is being closed'],
    ['DELIVERED', { kind: 'releasing' }, 'the funds are being released to the merchant'],
    [
      'DISPUTE_OPEN',
      { kind: 'refunding', reason: 'dispute_accepted' },
      'the buyer is being refunded',
    ],
  ] as const)(
    '%s while busy: what it is doing, not the deadline',
    (status, pendingOperation, action) => {
      expect(nextOf(status, pendingOperation)).toEqual({ at: UPDATED, action });
    },
  );
});
