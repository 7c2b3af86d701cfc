import { createHash } from 'node:crypto';
import { encodeTime } from 'ulid';
import type { Step } from '../../domain/index.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderRow } from '../rows.ts';

/**
 * Makes the webhook event of a step. The body is serialised once, so that every attempt sends the same bytes.
 *
 * @param order the order after the step
 * @param failure why a payment failed, which the order does not have
 * @returns undefined when the step causes no event
 */
export function eventOf(
  order: OrderRow,
  step: Step,
  present: PresentOrder,
  failure?: { payment_failure: { reason: string } },
) {
  const { event, atMs } = step;
  if (event === null) return undefined;
  const id = ulidOf(order.orderNumber, step);
  const eventId = `evt_${id}`;
  const body = JSON.stringify({
    event: event.type,
    event_id: eventId,
    sequence: event.sequence,
    timestamp: new Date(atMs).toISOString(),
    environment: order.environment,
    data: { ...present(order), ...failure },
  });
  return { ...event, eventId, deliveryId: `dlv_${id}`, body };
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Makes a ULID whose 80 random bits are a hash of the step. If a step is recorded again after a restore of the
 * database, its event keeps its id, so that receivers recognise the webhook as a repeat.
 */
function ulidOf(orderNumber: string, { number, kind, atMs }: Step): string {
  const hash = createHash('sha256')
    .update(`${orderNumber}:${number}:${kind}:${atMs}`)
    .digest('hex');
  const digits = BigInt(`0x${hash.slice(0, 20)}`)
    .toString(32)
    .padStart(16, '0');
  return (
    encodeTime(atMs) + digits.replaceAll(/./g, (digit) => CROCKFORD.charAt(parseInt(digit, 32)))
  );
}
