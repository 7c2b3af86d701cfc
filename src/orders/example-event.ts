import type { Environment, EventType } from '../domain/index.ts';
import { EXAMPLE_EVENTS, EXAMPLE_PAYMENT_FAILURE } from './examples.ts';

/** What a receiver can recognise the order of a test event by: no order has this number. */
export const NO_ORDER = {
  order_number: `ORD${'0'.repeat(26)}`,
  buyer: { email: 'buyer@example.com', name: 'Test Buyer', phone: '+910000000000' },
  description: 'A test of your webhook URL: this order does not exist',
  payment_url: 'https://example.com/pay/test',
};

/**
 * The body of one of the nine events, as if it had happened at `at` to an order that does not exist.
 * Its status is that of the specification's "Event types".
 */
export function exampleEventBody(
  type: EventType,
  { environment, eventId, at }: { environment: Environment; eventId: string; at: Date },
): string {
  const { order, sequence } = EXAMPLE_EVENTS[type];
  const { merchant_order_id: _, ...example } = order;
  const failure = type === 'PAYMENT_FAILED' ? { payment_failure: EXAMPLE_PAYMENT_FAILURE } : {};
  const laterMs = at.getTime() - Date.parse(order.updated_at);
  const event = {
    event: type,
    event_id: eventId,
    sequence,
    timestamp: order.updated_at,
    environment,
    data: { ...example, ...NO_ORDER, ...failure },
  };
  return JSON.stringify(event, (_key, value: unknown) => moved(value, laterMs));
}

/** A time of the example, moved with the others; any other value unchanged. */
function moved(value: unknown, laterMs: number): unknown {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
  return isTime ? new Date(Date.parse(value) + laterMs).toISOString() : value;
}
