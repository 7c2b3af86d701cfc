import { ulid } from 'ulid';
import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import type { Route, RouteCaller } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/envelope.ts';
import { errorOf } from '../../http/responses/errors.ts';
import {
  keyHeaders,
  replayHeaders,
  replayHeadersOf,
  replayMessage,
} from '../../http/input/idempotency-key.ts';
import { merchantCommands } from './command-routes.ts';
import { isKeyKnown } from '../commands/insert-order.ts';
import { listOrders } from '../lists/list-orders.ts';
import { authorizeOrder, orderErrors } from '../commands/authorize-order.ts';
import type { OrderRouteDeps } from './route-parts.ts';
import { commandRoute, merchantRoute, orderResponse, orderParams } from './route-parts.ts';
import { createOrderSchema, filterOf, listOrdersSchema, orderSchema } from '../schemas.ts';
import { presentTimeline, readTimeline, timelineSchema } from '../steps/timeline.ts';

/** The routes of the merchant's order API. */
export function orderRoutes(deps: OrderRouteDeps): Route[] {
  return [
    createOrderRoute(deps),
    listOrdersRoute(deps),
    getOrderRoute(deps),
    timelineRoute(deps),
    ...merchantCommands(deps.commands).map((command) => commandRoute(deps.sql, command)),
  ];
}

/** @throws DomainError `MERCHANT_NOT_READY`, unless the key names an existing order */
async function assertReady(
  sql: Sql,
  { merchant, environment }: RouteCaller,
  idempotencyKey: unknown,
): Promise<undefined> {
  if (merchant === undefined || environment === undefined || merchant.isReady) return;
  const key = { merchantId: merchant.id, environment, idempotencyKey: String(idempotencyKey) };
  const isReplay = idempotencyKey !== undefined && (await isKeyKnown(sql, key));
  if (!isReplay) throw errorOf('MERCHANT_NOT_READY');
}

function createOrderRoute({ sql, commands }: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'POST',
    path: '/orders',
    operationId: 'createOrder',
    summary: 'Create an order',
    description: 'With an Idempotency-Key that was used before, returns the existing order.',
    headers: keyHeaders,
    body: createOrderSchema,
    beforeBody: (headers, caller) => assertReady(sql, caller, headers['Idempotency-Key']),
    responses: {
      201: {
        description: 'The order, new or existing',
        schema: envelopeOf(orderSchema),
        headers: replayHeaders.extend({ 'Idempotency-Key': z.string() }),
      },
    },
    errors: ['MERCHANT_NOT_READY'],
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
      body: success(replayMessage('Order created', 'order', created), created.order),
      headers: { 'Idempotency-Key': key, ...replayHeadersOf(created) },
    };
  });
}

function listOrdersRoute({ sql, present }: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'GET',
    path: '/orders',
    operationId: 'listOrders',
    summary: "List the merchant's orders",
    description: 'Newest first, one page at a time. An order must match all given filters.',
    query: listOrdersSchema,
    responses: {
      200: {
        description: 'A page of orders',
        schema: envelopeOf(
          z.object({
            content: z.array(orderSchema),
            totalElements: z.int().min(0),
            totalPages: z.int().min(0),
            number: z.int().min(0),
            size: z.int().min(1).max(100),
          }),
        ),
      },
    },
  }).handledBy(async ({ query, merchant, environment }) => {
    const { page: number, size } = query;
    const { orders, totalElements } = await listOrders(
      sql,
      { ...filterOf(query), merchantId: merchant.id, environment },
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
    responses: { 200: orderResponse },
    errors: orderErrors,
  }).handledBy(async ({ params, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
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
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const timeline = presentTimeline(order, await readTimeline(sql, order.orderNumber));
    return { status: 200, body: success('Timeline', timeline) };
  });
}
