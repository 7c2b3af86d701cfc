import { describe, expect, test } from 'vitest';
import type { CommandType, OrderState, OrderStatus } from '../../src/domain/index.ts';
import { createOrder, decide } from '../../src/domain/index.ts';
import {
  aCommand,
  changeOf,
  ENDING,
  HOUR_MS,
  NOW_MS,
  orderIn,
  SECOND_MS,
  STATUSES,
  summaryOf,
} from './order-states.ts';

const passed = (status: OrderStatus): OrderState => {
  const order = orderIn(status);
  return { ...order, deadline: order.deadline && { ...order.deadline, atMs: NOW_MS } };
};

describe('each row of the transition table', () => {
  test('(none) · create order via API → ACCEPTED, ORDER_CREATED', () => {
    const { terms } = orderIn('ACCEPTED');
    const { state, step } = createOrder(terms, NOW_MS, NOW_MS + 24 * HOUR_MS);
    expect(state).toEqual({
      terms,
      status: 'ACCEPTED',
      pendingOperation: null,
      deadline: { kind: 'payment_link', atMs: NOW_MS + 24 * HOUR_MS },
      disputeCount: 0,
      stepNumber: 1,
      eventSequence: 1,
    });
    expect(step).toEqual({
      number: 1,
      kind: 'ORDER_CREATED',
      atMs: NOW_MS,
      status: 'ACCEPTED',
      pendingOperation: null,
      deadline: state.deadline,
      disputeCount: 0,
      event: { type: 'ORDER_CREATED', sequence: 1 },
      details: null,
    });
  });

  /** From, command, next status, step in the timeline; the step is a webhook event unless 'none'. */
  const AT_ONCE: [OrderStatus, CommandType, OrderStatus, string, 'none'?][] = [
    ['ACCEPTED', 'pay', 'PAID', 'PAYMENT_SUCCESS'],
    ['ACCEPTED', 'failPayment', 'ACCEPTED', 'PAYMENT_FAILED'],
    ['PAID', 'deliver', 'DELIVERED', 'DELIVERY_CONFIRMED'],
    ['PAID', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DELIVERED', 'dispute', 'DISPUTE_OPEN', 'DISPUTE_RAISED'],
    ['DISPUTE_OPEN', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_UNDER_REVIEW', 'resolve', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_OPEN', 'decideForMerchant', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_UNDER_REVIEW', 'decideForMerchant', 'DELIVERED', 'DISPUTE_RESOLVED'],
    ['DISPUTE_OPEN', 'submitEvidence', 'DISPUTE_UNDER_REVIEW', 'EVIDENCE_SUBMITTED', 'none'],
    // By an operator, for an order whose money was refunded or charged back at the gateway.
    ['PAID', 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DELIVERED', 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DELIVERED', 'settleReleased', 'COMPLETED', 'ORDER_COMPLETED'],
    ['DISPUTE_OPEN', 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_OPEN', 'settleReleased', 'COMPLETED', 'ORDER_COMPLETED'],
    ['DISPUTE_UNDER_REVIEW', 'settleRefunded', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_UNDER_REVIEW', 'settleReleased', 'COMPLETED', 'ORDER_COMPLETED'],
  ];
  test.each(AT_ONCE)('%s · %s → %s, %s', (from, command, next, kind, event) => {
    const before = orderIn(from);
    const { state, step } = changeOf(before, aCommand(command));
    expect(state.status).toBe(next);
    expect(step).toMatchObject({ number: 8, kind, status: next, atMs: NOW_MS });
    expect(step.event).toEqual(event ? null : { type: kind, sequence: 5 });
    expect(state.eventSequence).toBe(event ? 4 : 5);
    expect(state.disputeCount).toBe(command === 'dispute' ? 1 : 0);
  });

  /** From, command, the pending operation, then the final status and event. */
  const AFTER_THE_GATEWAY = [
    ['ACCEPTED', 'cancel', 'closing', 'CLOSING_PAYMENT', 'CANCELLED', 'ORDER_CANCELLED'],
    ['ACCEPTED', 'expire', 'closing', 'CLOSING_PAYMENT', 'CANCELLED', 'ORDER_CANCELLED'],
    ['DELIVERED', 'expire', 'releasing', 'RELEASE_STARTED', 'COMPLETED', 'ORDER_COMPLETED'],
    ['PAID', 'refund', 'refunding', 'REFUND_STARTED', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DELIVERED', 'refund', 'refunding', 'REFUND_STARTED', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_OPEN', 'expire', 'refunding', 'REFUND_STARTED', 'REFUNDED', 'REFUND_PROCESSED'],
    ['DISPUTE_OPEN', 'accept', 'refunding', 'REFUND_STARTED', 'REFUNDED', 'REFUND_PROCESSED'],
    [
      'DISPUTE_UNDER_REVIEW',
      'expire',
      'refunding',
      'REFUND_STARTED',
      'REFUNDED',
      'REFUND_PROCESSED',
    ],
    [
      'DISPUTE_UNDER_REVIEW',
      'accept',
      'refunding',
      'REFUND_STARTED',
      'REFUNDED',
      'REFUND_PROCESSED',
    ],
    [
      'DISPUTE_UNDER_REVIEW',
      'decideForBuyer',
      'refunding',
      'REFUND_STARTED',
      'REFUNDED',
      'REFUND_PROCESSED',
    ],
  ] as const;
  test.each(AFTER_THE_GATEWAY)(
    '%s · %s → %s (%s), and only then %s, %s',
    (from, command, pendingOperation, startedKind, final, event) => {
      const started = changeOf(passed(from), aCommand(command));
      expect(started.step).toMatchObject({
        number: 8,
        kind: startedKind,
        status: from,
        event: null,
      });
      expect(started.state).toMatchObject({
        status: from,
        pendingOperation: { kind: pendingOperation },
        eventSequence: 4,
      });

      const ended = changeOf(started.state, ENDING[pendingOperation], NOW_MS + 5);
      expect(ended.step).toMatchObject({ number: 9, kind: event, atMs: NOW_MS + 5, status: final });
      expect(ended.step.event).toEqual({ type: event, sequence: 5 });
      expect(ended.state).toMatchObject({ status: final, pendingOperation: null, deadline: null });
    },
  );

  test.each([
    ['expire', 'dispute_not_resolved_in_time'],
    ['accept', 'dispute_accepted'],
    ['decideForBuyer', 'dispute_decided_for_buyer'],
  ] as const)('a refund by %s names its reason: %s', (command, reason) => {
    const { state } = changeOf(passed('DISPUTE_UNDER_REVIEW'), aCommand(command));
    expect(state.pendingOperation).toEqual({ kind: 'refunding', reason });
  });

  test.each(['PAID', 'DELIVERED'] as const)(
    'the refund of a %s order that the merchant cannot fulfil names its reason',
    (status) => {
      const { state } = changeOf(orderIn(status), { type: 'refund' });
      expect(state.pendingOperation).toEqual({ kind: 'refunding', reason: 'merchant_refund' });
    },
  );

  test.each([
    ['cancel', 'cancel'],
    ['expire', 'expiry'],
  ] as const)('a cancellation by %s names its cause: %s', (command, cause) => {
    const { state } = changeOf(passed('ACCEPTED'), aCommand(command));
    expect(state.pendingOperation).toEqual({ kind: 'closing', cause });
    const by = cause === 'cancel' ? 'merchant' : 'expiry';
    expect(changeOf(state, ENDING.closing).step.details).toEqual({ by });
  });
});

describe('the exact message of each refusal', () => {
  const CANNOT_SETTLE =
    'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';
  /** Where each command fits; in every other status it is refused with this message. */
  const RULES: Record<CommandType, { fits: OrderStatus[]; refusal: string }> = {
    deliver: {
      fits: ['PAID'],
      refusal: 'Cannot mark as delivered; order must be in PAID status',
    },
    refund: {
      fits: ['PAID', 'DELIVERED'],
      refusal: 'Cannot refund; order must be in PAID or DELIVERED status',
    },
    cancel: { fits: ['ACCEPTED'], refusal: 'Cannot cancel; order must be in ACCEPTED status' },
    pay: { fits: ['ACCEPTED'], refusal: 'Cannot pay; order must be in ACCEPTED status' },
    failPayment: {
      fits: ['ACCEPTED'],
      refusal: 'Cannot fail payment; order must be in ACCEPTED status',
    },
    dispute: {
      fits: ['PAID', 'DELIVERED'],
      refusal: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
    },
    submitEvidence: {
      fits: ['DISPUTE_OPEN'],
      refusal: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
    },
    resolve: {
      fits: ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot resolve; order must be in DISPUTE status',
    },
    accept: {
      fits: ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot accept; order must be in DISPUTE status',
    },
    decideForMerchant: {
      fits: ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot decide; order must be in DISPUTE status',
    },
    decideForBuyer: {
      fits: ['DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot decide; order must be in DISPUTE status',
    },
    settleReleased: {
      fits: ['DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: CANNOT_SETTLE,
    },
    settleRefunded: {
      fits: ['PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: CANNOT_SETTLE,
    },
    sessionClosed: {
      fits: [],
      refusal: 'Cannot end the closing; order must be closing its payment session',
    },
    closeFailed: {
      fits: [],
      refusal: 'Cannot end the closing; order must be closing its payment session',
    },
    released: {
      fits: [],
      refusal: 'Cannot end the release; order must be releasing its money',
    },
    refunded: {
      fits: [],
      refusal: 'Cannot end the refund; order must be refunding its money',
    },
    expire: {
      fits: ['ACCEPTED', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot expire; order must have a deadline that has passed',
    },
    extend: {
      fits: ['ACCEPTED', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot extend; order must have a deadline that has passed and was never extended',
    },
    advance: {
      fits: ['ACCEPTED', 'PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'],
      refusal: 'Cannot advance; order must be in the sandbox, not busy, and in no final status',
    },
  };
  const types = Object.keys(RULES) as CommandType[];
  const refused = types.flatMap((type) =>
    STATUSES.filter((status) => !RULES[type].fits.includes(status)).map(
      (status) => [type, status, RULES[type].refusal] as const,
    ),
  );

  test.each(refused)('%s in %s: "%s"', (type, status, refusal) => {
    const before = passed(status);
    const decision = decide(before, aCommand(type), NOW_MS);
    expect(decision).toMatchObject({ outcome: 'refused', error: { code: 'INVALID_STATE' } });
    expect(summaryOf(decision)).toBe(refusal);
    expect(before).toEqual(passed(status));
  });

  test.each(types.flatMap((type) => RULES[type].fits.map((status) => [type, status] as const)))(
    '%s in %s is not refused',
    (type, status) => {
      const isDue = type === 'expire' || type === 'extend';
      const order = isDue ? passed(status) : orderIn(status);
      expect(decide(order, aCommand(type), NOW_MS).outcome).toBe('changed');
    },
  );

  test('the clock of a production order cannot be advanced', () => {
    const { terms } = orderIn('ACCEPTED');
    const order = orderIn('ACCEPTED', { terms: { ...terms, environment: 'production' } });
    expect(decide(order, aCommand('advance'), NOW_MS).outcome).toBe('refused');
  });

  test('a deadline has no effect before it has passed, not even a millisecond early', () => {
    for (const status of STATUSES) {
      const order = orderIn(status);
      const early = (order.deadline?.atMs ?? NOW_MS) - 1;
      for (const type of ['expire', 'extend'] as const) {
        expect(summaryOf(decide(order, { type }, early))).toBe(RULES[type].refusal);
      }
    }
  });

  test('a dispute counts by its time of receipt: until the last millisecond before the window’s end', () => {
    const order = orderIn('DELIVERED');
    const endMs = NOW_MS + HOUR_MS;
    const received = (receivedAtMs: number) =>
      summaryOf(decide(order, { type: 'dispute', receivedAtMs }, endMs + 60 * SECOND_MS));
    expect(received(endMs - 1)).toBe('changed');
    expect(received(endMs)).toBe('Cannot raise dispute; order must be in PAID or DELIVERED status');
  });
});
