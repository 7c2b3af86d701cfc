import { z } from 'zod';
import type { EventType } from '../../domain/index.ts';
import { ENVIRONMENTS, EVENT_TYPES } from '../../domain/index.ts';
import type { WebhookDeclaration } from '../../http/define-webhook.ts';
import { payloadNameOf } from '../../http/define-webhook.ts';
import { API_VERSION } from '../../http/versions.ts';
import { EXAMPLE_EVENTS, exampleEvent, exampleEventId } from './examples.ts';
import { orderSchema } from '../schemas.ts';

/** When each event is sent. Source: the specification's "Event types". */
const FIRES_WHEN = {
  ORDER_CREATED: 'An order was created via the API; it is ACCEPTED.',
  PAYMENT_SUCCESS: 'The buyer has paid; the order is PAID.',
  PAYMENT_FAILED: "The buyer's payment attempt failed; the order is still ACCEPTED.",
  DELIVERY_CONFIRMED: 'The merchant marked the order delivered; it is DELIVERED.',
  DISPUTE_RAISED:
    'The buyer raised a dispute; the order is DISPUTE_OPEN, from its fifth dispute on DISPUTE_UNDER_REVIEW.',
  DISPUTE_RESOLVED: 'A dispute was resolved for the merchant; the order is DELIVERED again.',
  ORDER_COMPLETED: 'The window passed with no dispute; the funds are released.',
  REFUND_PROCESSED: 'The buyer was refunded; the order is REFUNDED.',
  ORDER_CANCELLED: 'The merchant cancelled the order, or its payment link expired.',
} as const satisfies Record<EventType, string>;

const text = (description: string, example: string, schema = z.string()) =>
  schema.meta({ description, example });

function headersOf(event: EventType) {
  const { order, sequence } = EXAMPLE_EVENTS[event];
  const eventId = exampleEventId(sequence);
  const sentAt = String(Date.parse(order.updated_at) / 1000);
  const seconds = z.string().regex(/^[0-9]+$/);
  return z.object({
    'X-Service-Event': z.literal(event).meta({ description: 'The event field of the body' }),
    'X-Service-Event-Id': text(
      'The event_id field of the body: the same for every attempt',
      eventId,
    ),
    'X-Service-Timestamp': text(
      'Unix seconds at which this attempt was sent; refuse it if it is more than 300 s away',
      sentAt,
      seconds,
    ),
    'X-Service-Signature': text(
      'HMAC-SHA256 of `<X-Service-Timestamp>.<raw body>`, keyed with the webhook secret',
      '9f2c1e7a5b80d4c36e1f2a7b9c0d8e4f6a1b3c5d7e9f0a2b4c6d8e0f1a3b5c7d',
      z.string().regex(/^[0-9a-f]{64}$/),
    ),
    'X-API-Version': text('The API version that shaped the body', API_VERSION),
    'webhook-id': text('Standard Webhooks: the event_id field of the body', eventId),
    'webhook-timestamp': text(
      'Standard Webhooks: the same as X-Service-Timestamp',
      sentAt,
      seconds,
    ),
    'webhook-signature': text(
      'Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 of ' +
        '`<webhook-id>.<webhook-timestamp>.<raw body>`, keyed with the bytes whose base64 is the part ' +
        'of the secret after `whsec_`',
      'v1,nywee1uA1MNuHyp7nA2OT2obPF1+nworTG2ODxo7XH0=',
      z.string().regex(/^v1,[A-Za-z0-9+/]{43}=$/),
    ),
  });
}

const failedOrderSchema = orderSchema
  .extend({ payment_failure: z.object({ reason: z.string() }) })
  .meta({ id: 'OrderWithFailedPayment' });

const environmentSchema = z.enum(ENVIRONMENTS).meta({ id: 'Environment' });

function payloadOf(event: EventType) {
  return z
    .object({
      event: z.literal(event),
      event_id: text(
        'Unique: a second event of this type on the order has another one',
        exampleEventId(EXAMPLE_EVENTS[event].sequence),
      ),
      sequence: z.int().min(1).meta({ description: "1, 2, 3… over the order's events, no gaps" }),
      timestamp: z.iso.datetime(),
      environment: environmentSchema,
      data: event === 'PAYMENT_FAILED' ? failedOrderSchema : orderSchema,
    })
    .meta({ id: payloadNameOf(event) });
}

const [FIRST, ...OTHERS] = EVENT_TYPES;

/** The body of any webhook about an order; `event` says which. */
export const webhookEventSchema = z
  .discriminatedUnion('event', [payloadOf(FIRST), ...OTHERS.map(payloadOf)])
  .meta({ id: 'WebhookEvent' });
export type WebhookEvent = z.input<typeof webhookEventSchema>;

/** The nine webhook events as merchants receive them, for the OpenAPI document. */
export const WEBHOOK_EVENTS: readonly WebhookDeclaration[] = webhookEventSchema.options.map(
  (payload) => {
    const event = payload.shape.event.value;
    return {
      event,
      description: FIRES_WHEN[event],
      headers: headersOf(event),
      payload,
      example: payload.parse(exampleEvent(event)),
    };
  },
);
