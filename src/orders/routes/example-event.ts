import type { Environment, EventType } from '../../domain/index.ts';
import { exampleEvent } from './examples.ts';

/** A receiver can recognise a test event by these values, which no order has. */
const NO_ORDER = {
  order_number: `ORD${'0'.repeat(26)}`,
  buyer: { email: 'buyer@example.com', name: 'Test Buyer', phone: '+910000000000' },
  description: 'A test of your webhook URL: this order does not exist',
  payment_url: 'https://example.com/pay/test',
};

/**
 * The body of one of the nine events, as if it had happened at `at` to an order that does not exist. Its status is
 * that of the specification's "Event types".
 *
 * @param others fields that replace those of the example
 */
export function exampleEventBody(
  type: EventType,
  { environment, eventId, at }: { environment: Environment; eventId: string; at: Date },
  others: { event?: string; sequence?: number } = {},
): string {
  const example = exampleEvent(type);
  const { merchant_order_id: _, ...data } = example.data;
  const laterMs = at.getTime() - Date.parse(example.timestamp);
  const event = {
    ...example,
    ...others,
    event_id: eventId,
    environment,
    data: { ...data, ...NO_ORDER },
  };
  return JSON.stringify(event, (_key, value: unknown) => moved(value, laterMs));
}

/**
 * The body of a TEST event. It has Devanagari, an escaped solidus, a zero at the end of the amount and odd spaces,
 * which no serialiser writes. So a receiver that verifies the signature of a re-serialised body fails with the first
 * test event.
 */
export function unusualTestBody(about: { environment: Environment; eventId: string; at: Date }) {
  const written = exampleEventBody('ORDER_CREATED', about, { event: 'TEST', sequence: 0 });
  // Outside of its texts, the serialised body has no solidus. The field names are those of the Order.
  return written
    .replace(/^\{"event":"TEST",/, '{ "event" : "TEST",  ')
    .replace(/"amount":499\.5(?=,)/, '"amount": 499.50')
    .replace('"description":"', '"description":  "परीक्षण: ')
    .replaceAll('/', String.raw`\/`);
}

/** Moves a value that is a time by `laterMs`. Other values are unchanged. */
function moved(value: unknown, laterMs: number): unknown {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
  return isTime ? new Date(Date.parse(value) + laterMs).toISOString() : value;
}
