import { describe, expect, test } from 'vitest';
import type {
  CommandType,
  OrderState,
  OrderStatus,
  PendingOperation,
} from '../../src/domain/index.ts';
import { decide, isFinal, REFUSALS } from '../../src/domain/index.ts';
import {
  aCommand,
  changeOf,
  HOUR_MS,
  NOW_MS,
  orderIn,
  SECOND_MS,
  STATUSES,
  summaryOf,
} from './order-states.ts';

describe('while an order has a pending operation', () => {
  const CLOSING: CommandType[] = ['pay', 'failPayment', 'sessionClosed', 'closeFailed'];
  const SETTLE: CommandType[] = ['settleReleased', 'settleRefunded'];
  const PHASES: [OrderStatus, PendingOperation, CommandType[]][] = [
    ['ACCEPTED', { kind: 'closing', cause: 'cancel' }, CLOSING],
    ['ACCEPTED', { kind: 'closing', cause: 'expiry' }, CLOSING],
    ['DELIVERED', { kind: 'releasing' }, [...SETTLE, 'released']],
    ['PAID', { kind: 'refunding', reason: 'merchant_refund' }, [...SETTLE, 'refunded']],
    ['DISPUTE_OPEN', { kind: 'refunding', reason: 'dispute_accepted' }, [...SETTLE, 'refunded']],
    [
      'DISPUTE_UNDER_REVIEW',
      { kind: 'refunding', reason: 'dispute_decided_for_buyer' },
      [...SETTLE, 'refunded'],
    ],
  ];
  const types = Object.keys(REFUSALS) as CommandType[];
  /** The commands that each status allows only without a pending operation. */
  const OTHERWISE: Partial<Record<OrderStatus, CommandType[]>> = {
    ACCEPTED: ['cancel', 'expire', 'extend', 'advance'],
    PAID: ['deliver', 'refund', 'dispute', 'advance'],
    DELIVERED: ['refund', 'dispute', 'expire', 'extend', 'advance'],
    DISPUTE_OPEN: [
      'submitEvidence',
      'resolve',
      'accept',
      'decideForMerchant',
      'decideForBuyer',
      'expire',
      'extend',
      'advance',
    ],
    DISPUTE_UNDER_REVIEW: [
      'resolve',
      'accept',
      'decideForMerchant',
      'decideForBuyer',
      'expire',
      'extend',
      'advance',
    ],
  };
  /** Only the refusal of a command that fits the status says what the order is doing. */
  const busyWith = (status: OrderStatus, { kind }: PendingOperation, type: CommandType) => {
    const doing = {
      closing: 'the payment session is being closed',
      releasing: 'the funds are being released to the merchant',
      refunding: 'the buyer is being refunded',
    }[kind];
    return OTHERWISE[status]?.includes(type) ? `; ${doing}` : '';
  };

  test.each(PHASES)(
    '%s, %o: only %s still fit, and a refusal says what the order is doing',
    (status, pendingOperation, fits) => {
      const order = orderIn(status, { pendingOperation });
      for (const type of types) {
        const decision = decide(order, aCommand(type), NOW_MS);
        expect([type, summaryOf(decision)]).toEqual([
          type,
          fits.includes(type)
            ? 'changed'
            : REFUSALS[type] + busyWith(status, pendingOperation, type),
        ]);
      }
    },
  );

  test('a payment while the session is being closed makes the order PAID and ends the pending operation', () => {
    const order = orderIn('ACCEPTED', { pendingOperation: { kind: 'closing', cause: 'cancel' } });
    expect(changeOf(order, { type: 'pay' }).state).toMatchObject({
      status: 'PAID',
      pendingOperation: null,
      deadline: null,
    });
  });

  test('a payment that fails while the session is being closed does not end the closing', () => {
    const pendingOperation = { kind: 'closing', cause: 'cancel' } as const;
    const { state, step } = changeOf(orderIn('ACCEPTED', { pendingOperation }), {
      type: 'failPayment',
    });
    expect(step.event?.type).toBe('PAYMENT_FAILED');
    expect(state).toMatchObject({ status: 'ACCEPTED', pendingOperation });
  });

  const REFUNDING = { kind: 'refunding', reason: 'dispute_not_resolved_in_time' } as const;
  test.each([
    ['DELIVERED', { kind: 'releasing' }, 'settleReleased', 'COMPLETED', 'ORDER_COMPLETED'],
    ['DELIVERED', { kind: 'releasing' }, 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_OPEN', REFUNDING, 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_OPEN', REFUNDING, 'settleReleased', 'COMPLETED', 'ORDER_COMPLETED'],
  ] as const)(
    'a settlement by an operator ends the pending operation of a %s order: %o · %s → %s, %s',
    (status, pendingOperation, type, final, event) => {
      const { state, step } = changeOf(orderIn(status, { pendingOperation }), { type });
      expect(state).toMatchObject({ status: final, pendingOperation: null, deadline: null });
      expect(step.event).toEqual({ type: event, sequence: 5 });
    },
  );

  test('a session that cannot be closed leaves the order unchanged, and the timeline says so', () => {
    const before = orderIn('ACCEPTED');
    const pendingOperation = { kind: 'closing', cause: 'cancel' } as const;
    const { state, step } = changeOf({ ...before, pendingOperation }, { type: 'closeFailed' });
    expect(state).toEqual({ ...before, stepNumber: 8 });
    expect(step).toMatchObject({ kind: 'PAYMENT_STILL_OPEN', event: null, pendingOperation: null });
  });
});

describe('the fifth dispute of an order and every later one', () => {
  const raised = (disputeCount: number, status: OrderStatus = 'DELIVERED') =>
    changeOf(orderIn(status, { disputeCount }), { type: 'dispute', receivedAtMs: NOW_MS });
  const types = Object.keys(REFUSALS) as CommandType[];
  const fitting = (state: OrderState) =>
    types.filter(
      (type) => decide(state, aCommand(type), NOW_MS + 100 * HOUR_MS).outcome === 'changed',
    );

  test.each(['PAID', 'DELIVERED'] as const)(
    'of a %s order is under review from its beginning',
    (from) => {
      expect(raised(3, from).state.status).toBe('DISPUTE_OPEN');
      for (const before of [4, 5, 11]) {
        const { state, step } = raised(before, from);
        expect(state).toMatchObject({
          status: 'DISPUTE_UNDER_REVIEW',
          disputeCount: before + 1,
          deadline: { kind: 'dispute_answer', atMs: NOW_MS + 72 * HOUR_MS },
        });
        expect(step).toMatchObject({ kind: 'DISPUTE_RAISED', status: 'DISPUTE_UNDER_REVIEW' });
      }
    },
  );

  test('takes everything that an open one takes, but no resolution', () => {
    const others = fitting(orderIn('DISPUTE_OPEN')).filter((type) => type !== 'resolve');
    const { state } = raised(4);
    expect(fitting(state)).toEqual(others);
    expect(summaryOf(decide(state, { type: 'resolve' }, NOW_MS))).toBe(
      'Cannot resolve; an operator decides this dispute',
    );
  });

  test('takes evidence once: the status stays, and the deadline is 72 hours after it', () => {
    const laterMs = NOW_MS + 5 * HOUR_MS;
    const { state, step } = changeOf(raised(4).state, { type: 'submitEvidence' }, laterMs);
    expect(step).toMatchObject({ kind: 'EVIDENCE_SUBMITTED', event: null });
    expect(state).toMatchObject({
      status: 'DISPUTE_UNDER_REVIEW',
      deadline: { kind: 'dispute_answer', atMs: laterMs + 72 * HOUR_MS },
    });
    const others = ['resolve', 'submitEvidence'];
    expect(fitting(state)).toEqual(
      fitting(orderIn('DISPUTE_OPEN')).filter((type) => !others.includes(type)),
    );
  });

  test('leaves nothing behind: after the decision the order is delivered like any other', () => {
    const { state } = changeOf(raised(4).state, { type: 'decideForMerchant' });
    expect(fitting({ ...state, disputeCount: 0 })).toEqual(
      fitting(changeOf(orderIn('DISPUTE_OPEN'), { type: 'decideForMerchant' }).state),
    );
  });
});

describe('deadlines', () => {
  const laterMs = NOW_MS + 5 * HOUR_MS;

  test('a delivery opens a window of 24 hours', () => {
    expect(changeOf(orderIn('PAID'), { type: 'deliver' }, laterMs).state.deadline).toEqual({
      kind: 'completion',
      atMs: laterMs + 24 * HOUR_MS,
    });
  });

  test.each(['resolve', 'decideForMerchant'] as const)('%s opens a fresh one', (type) => {
    const disputed = orderIn('DISPUTE_UNDER_REVIEW', { disputeCount: 1 });
    expect(changeOf(disputed, { type }, laterMs).state.deadline).toEqual({
      kind: 'completion',
      atMs: laterMs + 24 * HOUR_MS,
    });
  });

  test.each(['PAID', 'DELIVERED'] as const)(
    'a dispute of a %s order has a response deadline of 72 hours',
    (status) => {
      const receivedAtMs = NOW_MS;
      expect(
        changeOf(orderIn(status), { type: 'dispute', receivedAtMs }, laterMs).state.deadline,
      ).toEqual({ kind: 'dispute_answer', atMs: laterMs + 72 * HOUR_MS });
    },
  );

  test('evidence sets a deadline 72 hours after itself', () => {
    expect(
      changeOf(orderIn('DISPUTE_OPEN'), { type: 'submitEvidence' }, laterMs).state.deadline,
    ).toEqual({ kind: 'dispute_answer', atMs: laterMs + 72 * HOUR_MS });
  });

  test.each(STATUSES.filter((status) => orderIn(status).deadline !== null))(
    'a deadline of a %s order that is first handled late gives one more hour, once, without an event',
    (status) => {
      const before = orderIn(status);
      expect(changeOf(before, { type: 'expire' }, laterMs).requires).toContain('deadline_on_time');
      const { state, step } = changeOf(before, { type: 'extend' }, laterMs);
      const atMs = laterMs + HOUR_MS;
      expect(state).toEqual({
        ...before,
        stepNumber: 8,
        deadline: { kind: before.deadline?.kind, atMs, isExtended: true },
      });
      const details = { until: new Date(atMs).toISOString() };
      expect(step).toMatchObject({ kind: 'DEADLINE_EXTENDED', event: null, details });
      expect(decide(state, { type: 'extend' }, atMs + HOUR_MS).outcome).toBe('refused');
      const { requires } = changeOf(state, { type: 'expire' }, atMs + HOUR_MS);
      expect(requires).not.toContain('deadline_on_time');
    },
  );

  test('a new deadline may be extended again', () => {
    const deadline = { kind: 'completion', atMs: NOW_MS, isExtended: true } as const;
    const dispute = { type: 'dispute', receivedAtMs: NOW_MS - 1 } as const;
    const { state } = changeOf(orderIn('DELIVERED', { deadline }), dispute);
    expect(decide(state, { type: 'extend' }, NOW_MS + 73 * HOUR_MS).outcome).toBe('changed');
  });

  test('a failed payment does not extend the payment link', () => {
    const before = orderIn('ACCEPTED');
    expect(changeOf(before, { type: 'failPayment' }).state.deadline).toEqual(before.deadline);
  });

  test('a payment ends the payment link, and a PAID order has no deadline', () => {
    expect(changeOf(orderIn('ACCEPTED'), { type: 'pay' }).state.deadline).toBeNull();
  });

  test.each(STATUSES.filter((status) => !isFinal(status)))(
    'advance only brings the deadline of a sandbox order in %s nearer',
    (status) => {
      const before = orderIn(status, { disputeCount: 2 });
      const { state, step } = changeOf(before, { type: 'advance', seconds: 90 });
      const { deadline } = before;
      expect(state).toEqual({
        ...before,
        stepNumber: 8,
        deadline: deadline && { ...deadline, atMs: deadline.atMs - 90 * SECOND_MS },
      });
      expect(step).toMatchObject({ kind: 'CLOCK_ADVANCED', event: null });
    },
  );
});
