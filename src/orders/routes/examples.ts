import type { EventType } from '../../domain/index.ts';
import type { Order } from '../schemas.ts';
import { orderSchema } from '../schemas.ts';
import type { Timeline } from '../steps/timeline-presenter.ts';
import { timelineSchema } from '../steps/timeline-presenter.ts';

/** All examples of the OpenAPI document show this order, from its creation to its end. */
const CREATED = {
  order_number: 'ORD01M7W4N5E0Q4N2M6P7R9T1W3X5',
  merchant_order_id: 'SHOP-1042',
  amount: 499.5,
  currency: 'INR',
  status: 'ACCEPTED',
  dispute_count: 0,
  buyer: { email: 'asha@example.com', name: 'Asha Rao', phone: '+919876543210' },
  description: 'Blue kurta, size M',
  payment_url: 'https://pay.example.com/pay/Zr8kW2vQ1nYtB5xJ7mLcD4hGfS9aPeUo',
  payment_link_expires_at: '2026-11-21T09:30:00.000Z',
  completes_at: null,
  dispute: null,
  refund: null,
  payment: null,
  cancellation: null,
  created_at: '2026-11-20T09:30:00.000Z',
  updated_at: '2026-11-20T09:30:00.000Z',
};
const PAYMENT_FAILED = { ...CREATED, updated_at: '2026-11-20T09:31:05.000Z' };
const PAID = {
  ...CREATED,
  status: 'PAID',
  payment: {
    gateway_payment_id: 'pay_QmT4x8LwZ2cVb7',
    utr: '632409871234',
    paid_at: '2026-11-20T09:32:10.000Z',
    reversed_amount: 0,
  },
  updated_at: '2026-11-20T09:32:10.000Z',
};
const DELIVERED = {
  ...PAID,
  status: 'DELIVERED',
  completes_at: '2026-11-23T11:05:00.000Z',
  updated_at: '2026-11-22T11:05:00.000Z',
};
const DISPUTED = {
  ...PAID,
  status: 'DISPUTE_OPEN',
  dispute_count: 1,
  dispute: {
    reason: 'The kurta that arrived has a torn sleeve',
    raised_at: '2026-11-22T18:20:00.000Z',
    respond_by: '2026-11-25T18:20:00.000Z',
    evidence: null,
    resolution: null,
    decision: null,
    ended_at: null,
  },
  updated_at: '2026-11-22T18:20:00.000Z',
};
const UNDER_REVIEW = {
  ...DISPUTED,
  status: 'DISPUTE_UNDER_REVIEW',
  dispute: {
    ...DISPUTED.dispute,
    respond_by: '2026-11-26T08:00:00.000Z',
    evidence: 'Photographs of the parcel before it was sent',
  },
  updated_at: '2026-11-23T08:00:00.000Z',
};
const RESOLVED = {
  ...DISPUTED,
  status: 'DELIVERED',
  completes_at: '2026-11-24T15:45:00.000Z',
  dispute: {
    ...DISPUTED.dispute,
    respond_by: null,
    resolution: 'A new kurta has reached the buyer',
    ended_at: '2026-11-23T15:45:00.000Z',
  },
  updated_at: '2026-11-23T15:45:00.000Z',
};
const COMPLETED = {
  ...RESOLVED,
  status: 'COMPLETED',
  completes_at: null,
  updated_at: '2026-11-24T15:45:02.000Z',
};
const REFUNDING = {
  ...DISPUTED,
  refund: { amount: 499.5, reason: 'dispute_accepted', processed_at: null },
  updated_at: '2026-11-23T10:00:00.000Z',
};
const REFUNDED = {
  ...REFUNDING,
  status: 'REFUNDED',
  dispute: {
    ...DISPUTED.dispute,
    respond_by: null,
    ended_at: '2026-11-23T10:00:04.000Z',
  },
  refund: { ...REFUNDING.refund, processed_at: '2026-11-23T10:00:04.000Z' },
  updated_at: '2026-11-23T10:00:04.000Z',
};
const CANCELLED = {
  ...CREATED,
  status: 'CANCELLED',
  cancellation: {
    by: 'merchant',
    reason: 'Out of stock',
    cancelled_at: '2026-11-20T09:40:00.000Z',
  },
  updated_at: '2026-11-20T09:40:00.000Z',
};

const example = (order: object): Order => orderSchema.parse(order);

export const EXAMPLE_ORDERS = {
  created: example(CREATED),
  paymentFailed: example(PAYMENT_FAILED),
  paid: example(PAID),
  delivered: example(DELIVERED),
  disputed: example(DISPUTED),
  underReview: example(UNDER_REVIEW),
  resolved: example(RESOLVED),
  completed: example(COMPLETED),
  refunding: example(REFUNDING),
  refunded: example(REFUNDED),
  cancelled: example(CANCELLED),
} as const;

/** For each event, the example order and the event's sequence on it. */
export const EXAMPLE_EVENTS = {
  ORDER_CREATED: { order: EXAMPLE_ORDERS.created, sequence: 1 },
  PAYMENT_FAILED: { order: EXAMPLE_ORDERS.paymentFailed, sequence: 2 },
  PAYMENT_SUCCESS: { order: EXAMPLE_ORDERS.paid, sequence: 3 },
  DELIVERY_CONFIRMED: { order: EXAMPLE_ORDERS.delivered, sequence: 4 },
  DISPUTE_RAISED: { order: EXAMPLE_ORDERS.disputed, sequence: 5 },
  DISPUTE_RESOLVED: { order: EXAMPLE_ORDERS.resolved, sequence: 6 },
  ORDER_COMPLETED: { order: EXAMPLE_ORDERS.completed, sequence: 7 },
  // Alternative outcomes of the same order.
  REFUND_PROCESSED: { order: EXAMPLE_ORDERS.refunded, sequence: 6 },
  ORDER_CANCELLED: { order: EXAMPLE_ORDERS.cancelled, sequence: 2 },
} as const satisfies Record<EventType, { order: Order; sequence: number }>;

export function exampleEvent(event: EventType) {
  const { order, sequence } = EXAMPLE_EVENTS[event];
  const payment_failure = { reason: "The buyer's bank declined the payment" };
  return {
    event,
    event_id: exampleEventId(sequence),
    sequence,
    timestamp: order.updated_at,
    environment: 'sandbox',
    data: { ...order, ...(event === 'PAYMENT_FAILED' && { payment_failure }) },
  };
}

export const EXAMPLE_TIMELINE: Timeline = timelineSchema.parse({
  order_number: CREATED.order_number,
  status: DELIVERED.status,
  doing: null,
  entries: [
    entry('ORDER_CREATED', CREATED, 1),
    entry('PAYMENT_FAILED', PAYMENT_FAILED, 2),
    entry('PAYMENT_SUCCESS', PAID, 3),
    entry('DELIVERY_CONFIRMED', DELIVERED, 4, 'PENDING'),
  ],
  earlier: null,
  next: {
    at: DELIVERED.completes_at,
    action: 'the order is completed and the funds are released',
  },
});

function entry(
  kind: EventType,
  { status, updated_at: at }: { status: string; updated_at: string },
  sequence: number,
  state: 'DELIVERED' | 'PENDING' = 'DELIVERED',
) {
  const next_attempt_at = state === 'PENDING' ? at : null;
  const delivery = { state, attempts: state === 'PENDING' ? 0 : 1, next_attempt_at };
  const webhook = { event_id: exampleEventId(sequence), sequence, delivery };
  return { kind, at, status, details: null, webhook };
}

/** @param sequence the event's sequence on its order, one digit */
export function exampleEventId(sequence: number): string {
  return `evt_01M7W4N5E0F8G6H4J2K0M8N6P${sequence}`;
}
