import { createHash } from 'node:crypto';
import { encodeTime } from 'ulid';
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
 * A ULID whose 80 random bits are a hash of the step: a step that is written again after the
 * database was restored keeps it, so that receivers know the repeat of a webhook.
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
