import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import { EVENT_TYPES } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { cursorInQuery, cursorOf } from '../../http/input/cursor.ts';
import { integerInQuery, momentInQuery, text } from '../../http/input/fields.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import { EXAMPLE_ORDERS, exampleEventId, webhookEventSchema } from '../../orders/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import type { EventDetails } from './event-list.ts';
import { findEvent, listEvents } from './event-list.ts';
import { resendEvent } from '../resend/manual-retry.ts';

export interface EventRouteDeps {
  sql: Sql;
  retries: DeliveryRetries;
}

/** The routes of events, for merchants that missed a webhook or cannot receive any. */
export function eventRoutes(deps: EventRouteDeps): Route[] {
  return [listEventsRoute(deps), getEventRoute(deps), resendEventRoute(deps)];
}

const eventsRoute = { base: 'merchant', tags: ['Events'] } as const;

const eventParams = z.object({
  id: z.string().meta({ description: 'The event_id', example: exampleEventId(3) }),
});

const dateTime = z.iso.datetime();

const eventDetailsSchema = z
  .object({
    event: webhookEventSchema,
    delivery: z
      .object({
        state: z.enum(['PENDING', 'DELIVERED', 'FAILED']),
        next_attempt_at: dateTime.nullable(),
        attempts: z
          .array(
            z.object({
              at: dateTime,
              kind: z.enum(['scheduled', 'manual']),
              url: z.string(),
              status_code: z.int().nullable().meta({ description: 'null without an answer' }),
              duration_ms: z.int(),
              error: z.string().nullable().meta({ description: 'null if it was accepted' }),
            }),
          )
          .meta({ description: 'Oldest first; at most the newest 100' }),
      })
      .nullable()
      .meta({ description: 'null if no webhook URL was configured when the event happened' }),
  })
  .meta({ id: 'EventDetails' });

const placeSchema = z.tuple([z.int().min(0), z.string().regex(/^(evt_[0-9A-Z]{26})?$/)]);

const listEventsSchema = z.object({
  after: cursorInQuery(placeSchema)
    .optional()
    .meta({ description: 'The `next` of an earlier response: only what comes after it is listed' }),
  size: integerInQuery({
    error: 'must be a whole number from 1 to 100',
    minimum: 1,
    maximum: 100,
    fallback: 20,
  }).meta({ description: 'The most events in the response' }),
  type: z.enum(EVENT_TYPES, { error: 'must be an event type' }).optional(),
  orderNumber: text({ error: 'must be at most 64 characters', maxLength: 64 })
    .optional()
    .meta({ example: EXAMPLE_ORDERS.created.order_number }),
  createdFrom: momentInQuery({ error: 'must be an ISO-8601 time such as 2026-11-20T09:30:00Z' })
    .optional()
    .meta({
      description: 'Events that happened at this moment or later (inclusive)',
      example: '2026-11-20T00:00:00Z',
    }),
});

function listEventsRoute({ sql }: EventRouteDeps): Route {
  return defineRoute({
    ...eventsRoute,
    method: 'GET',
    path: '/events',
    operationId: 'listEvents',
    summary: 'Follow the events',
    description:
      'Oldest first, as webhooks have them, sent or not; kept for 90 days. To follow, send the `next` of each ' +
      'response as the next `after`. `next` is never null, and equals `after` when there is nothing more for now. ' +
      'Nothing ever appears before a `next` that you have. With `type`, a page can be empty before the end.',
    query: listEventsSchema,
    responses: {
      200: {
        description: 'The events after the cursor',
        schema: envelopeOf(
          z.object({
            content: z.array(webhookEventSchema),
            next: z.string().meta({ description: 'The `after` of your next request' }),
          }),
        ),
      },
    },
    errors: ['CURSOR_EXPIRED'],
  }).handledBy(async ({ query, merchant, environment }) => {
    const owner = { merchantId: merchant.id, environment };
    const { events: content, next } = await listEvents(sql, owner, query);
    return { status: 200, body: success('Events', { content, next: cursorOf(next) }) };
  });
}

function getEventRoute({ sql }: EventRouteDeps): Route {
  return defineRoute({
    ...eventsRoute,
    method: 'GET',
    path: '/events/{id}',
    operationId: 'getEvent',
    summary: 'Get an event and its delivery',
    description: 'With the state of its webhook and every attempt.',
    params: eventParams,
    responses: { 200: { description: 'The event', schema: envelopeOf(eventDetailsSchema) } },
    errors: ['NOT_FOUND'],
  }).handledBy(async ({ params, merchant, environment }) => {
    const details = await findEvent(sql, { merchantId: merchant.id, environment }, params.id);
    return { status: 200, body: success('Event', present(details)) };
  });
}

function resendEventRoute(deps: EventRouteDeps): Route {
  return defineRoute({
    ...eventsRoute,
    method: 'POST',
    path: '/events/{id}/resend',
    operationId: 'resendEvent',
    summary: 'Send an event again',
    description:
      'Makes one attempt now, whatever the state of the delivery, with the same bytes. It is none of the five ' +
      'attempts of the schedule. The response does not wait for your endpoint: read the event for the result. At ' +
      'most 300 in 10 minutes; then 429 with `Retry-After`.',
    params: eventParams,
    responses: {
      202: { description: 'The attempt has begun', schema: envelopeOf(eventDetailsSchema) },
    },
    errors: ['NOT_FOUND', 'INVALID_STATE'],
  }).handledBy(async ({ params, merchant, environment, clientIp: address }) => {
    const owner = { merchantId: merchant.id, environment };
    const actor = { name: `key:${merchant.apiKey}`, address };
    await resendEvent({ ...deps, actor }, owner, params.id);
    const details = await findEvent(deps.sql, owner, params.id);
    return { status: 202, body: success('Event is being sent', present(details)) };
  });
}

function present({ event, delivery }: EventDetails): z.input<typeof eventDetailsSchema> {
  if (delivery === null) return { event, delivery };
  const { state, nextAttemptAt, attempts } = delivery;
  return {
    event,
    delivery: {
      state,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
      attempts: attempts.map(({ at, kind, url, statusCode, durationMs, error }) => ({
        at: at.toISOString(),
        kind,
        url,
        status_code: statusCode,
        duration_ms: durationMs,
        error,
      })),
    },
  };
}
