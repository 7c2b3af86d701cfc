import { ulid } from 'ulid';
import { z } from 'zod';
import { ORDER_STATUSES } from '../domain/index.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { envelopeOf, success } from '../http/envelope.ts';
import { integerInQuery, momentInQuery, text } from '../http/fields.ts';
import { keyHeaders } from '../http/idempotency-key.ts';
import { commandRoutes } from './command-routes.ts';
import { listOrders } from './list-orders.ts';
import { ownOrder } from './queries.ts';
import type { OrderRouteDeps } from './route-parts.ts';
import { merchantRoute, orderAnswer, orderErrors, orderParams } from './route-parts.ts';
import { createOrderSchema, orderSchema } from './schemas.ts';
import { presentTimeline, readTimeline, timelineSchema } from './timeline.ts';

/** The merchant's order API, one declaration a route. */
export function orderRoutes(deps: OrderRouteDeps): Route[] {
  return [
    createOrderRoute(deps),
    listOrdersRoute(deps),
    getOrderRoute(deps),
    timelineRoute(deps),
    ...commandRoutes(deps),
  ];
}

function createOrderRoute({ commands, present }: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'POST',
    path: '/orders',
    operationId: 'createOrder',
    summary: 'Create an order',
    description: 'With an Idempotency-Key that was used before, answers the existing order.',
    headers: keyHeaders,
    body: createOrderSchema,
    responses: {
      201: {
        description: 'The order, new or existing',
        schema: envelopeOf(orderSchema),
        headers: z.object({
          'Idempotency-Key': z.string(),
          'Idempotent-Replayed': z.literal('true').optional(),
          'Idempotency-Key-Mismatch': z.literal('true').optional(),
        }),
      },
    },
  }).handledBy(async ({ body, headers, merchant, environment, log }) => {
    const key = headers['Idempotency-Key'] ?? ulid();
    const created = await commands.create({
      merchantId: merchant.id,
      environment,
      idempotencyKey: key,
      body,
      log,
    });
    return {
      status: 201,
      body: success('Order created', present(created.order)),
      headers: {
        'Idempotency-Key': key,
        ...(created.replayed && { 'Idempotent-Replayed': 'true' }),
        ...(created.mismatch && { 'Idempotency-Key-Mismatch': 'true' }),
      },
    };
  });
}

function listOrdersRoute({ sql, present }: OrderRouteDeps): Route {
  const moment = momentInQuery({
    error: 'must be an ISO-8601 time such as 2026-11-20T09:30:00Z',
  }).optional();
  return defineRoute({
    ...merchantRoute,
    method: 'GET',
    path: '/orders',
    operationId: 'listOrders',
    summary: "List the merchant's orders",
    description: 'Newest first, one page at a time.',
    query: z.object({
      page: integerInQuery({
        error: 'must be a whole number from 0',
        minimum: 0,
        maximum: 1e9,
        fallback: 0,
      }),
      size: integerInQuery({
        error: 'must be a whole number from 1 to 100',
        minimum: 1,
        maximum: 100,
        fallback: 20,
      }),
      status: z.enum(ORDER_STATUSES, { error: 'must be an order status' }).optional(),
      merchantOrderId: text({ error: 'must be at most 64 characters', maxLength: 64 }).optional(),
      createdFrom: moment,
      createdTo: moment,
    }),
    responses: {
      200: {
        description: 'A page of orders',
        schema: envelopeOf(
          z.object({
            content: z.array(orderSchema),
            totalElements: z.int(),
            totalPages: z.int(),
            number: z.int(),
            size: z.int(),
          }),
        ),
      },
    },
  }).handledBy(async ({ query, merchant, environment }) => {
    const { page: number, size, ...filter } = query;
    const { orders, totalElements } = await listOrders(
      sql,
      { ...filter, merchantId: merchant.id, environment },
      { number, size },
    );
    const totalPages = Math.ceil(totalElements / size);
    const content = orders.map(present);
    return {
      status: 200,
      body: success('Orders', { content, totalElements, totalPages, number, size }),
    };
  });
}

function getOrderRoute({ sql, present }: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'GET',
    path: '/orders/{id}',
    operationId: 'getOrder',
    summary: 'Get an order',
    description: 'By its order number.',
    params: orderParams,
    responses: { 200: orderAnswer },
    errors: orderErrors,
  }).handledBy(async ({ params, merchant, environment }) => {
    const order = await ownOrder(sql, merchant.id, environment, params.id);
    return { status: 200, body: success('Order', present(order)) };
  });
}

function timelineRoute({ sql }: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'GET',
    path: '/orders/{id}/timeline',
    operationId: 'getOrderTimeline',
    summary: 'What happened, and what happens next',
    description: 'Every step with its time, every webhook event with the state of its delivery.',
    params: orderParams,
    responses: { 200: { description: 'The timeline', schema: envelopeOf(timelineSchema) } },
    errors: orderErrors,
  }).handledBy(async ({ params, merchant, environment }) => {
    const order = await ownOrder(sql, merchant.id, environment, params.id);
    const timeline = presentTimeline(order, await readTimeline(sql, order.order_number));
    return { status: 200, body: success('Timeline', timeline) };
  });
}
