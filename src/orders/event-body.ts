import { ulid } from 'ulid';
import type { Step } from '../domain/index.ts';
import type { PresentOrder } from './presenter.ts';
import type { OrderRow } from './rows.ts';

/**
 * The webhook event of a step, if it has one. Its body is made once and never changes between
 * attempts.
 *
 * @param order as the step left it
 * @param failure why a payment failed, which changes nothing about the order
 */
export function eventOf(
  order: OrderRow,
  { event, atMs }: Step,
  present: PresentOrder,
  failure?: { payment_failure: { reason: string } },
) {
  if (event === null) return undefined;
  const event_id = `evt_${ulid()}`;
  const body = JSON.stringify({
    event: event.type,
    event_id,
    sequence: event.sequence,
    timestamp: new Date(atMs).toISOString(),
    environment: order.environment,
    data: { ...present(order), ...failure },
  });
  return { ...event, event_id, body };
}
