import { createHash, randomUUID } from 'node:crypto';
import { encodeTime } from 'ulid';
import type { Environment, EventType, Step } from '../../domain/index.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderRow } from '../rows.ts';
import type { StepContext } from './step-columns.ts';
import { textIn } from './step-columns.ts';

/** The reason in PAYMENT_FAILED if the gateway gives none. */
const NO_REASON_GIVEN = 'The gateway gave no reason';

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

/** For how long the caller leases a new delivery for its first attempt, and when the sweep takes over. */
export interface FirstAttempt {
  /** After this time the sweep wakes the order, unless the webhook has ended. */
  wakeAfterMs: number;
  /** For how long the caller leases the delivery, to make its first attempt. Absent: it makes none. */
  leaseMs?: number;
}

/**
 * Makes the webhook of a step: its event, a delivery if the merchant has an endpoint, and a token if the caller makes
 * the first attempt.
 *
 * @returns undefined when the step causes no event
 */
export function webhookOf(
  after: StepContext,
  step: Step,
  { present, wakeAfterMs, leaseMs }: FirstAttempt & { present: PresentOrder },
) {
  const reason = textIn(after, 'reason') ?? NO_REASON_GIVEN;
  const failure = step.kind === 'PAYMENT_FAILED' ? { payment_failure: { reason } } : undefined;
  const event = eventOf(after, step, present, failure);
  if (event === undefined) return undefined;
  const deliveryId = after.hasWebhook ? event.deliveryId : null;
  const attemptToken = after.hasWebhook && leaseMs !== undefined ? randomUUID() : null;
  return { ...event, deliveryId, wakeAfterMs, attemptToken, leaseMs: leaseMs ?? null };
}

export type StepWebhook = NonNullable<ReturnType<typeof webhookOf>>;

/** A webhook with the endpoint that gets it. */
export interface DeliveryToSend {
  deliveryId: string;
  eventId: string;
  orderNumber: string;
  type: EventType;
  body: string;
  merchantId: string;
  environment: Environment;
  webhookUrl: string | null;
  webhookSecretSealed: string | null;
  databaseNow: Date;
}

/** A new delivery that the statement of its step has leased to this process, by this token. */
export interface LeasedDelivery extends DeliveryToSend {
  token: string;
  /** When that statement was sent, on the clock of `performance.now()`: the lease began later. */
  askedAtMs: number;
}
