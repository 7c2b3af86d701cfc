import { ulid } from 'ulid';
import { z } from 'zod';
import type { Sql } from '../../db/client.ts';
import type { Route, RouteCaller } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import { cursorInQuery, cursorOf, INVALID_CURSOR } from '../../http/input/cursor.ts';
import { errorOf, ValidationError } from '../../http/responses/errors.ts';
import { findOrigins } from '../../merchants/public.ts';
import { authorizeOrder, findOrder, orderErrors } from '../find-order.ts';
import type { OrderOwner } from '../lists/search-orders.ts';
import {
  keyHeaders,
  replayHeaders,
  replayHeadersOf,
  replayMessage,
} from '../../http/input/idempotency-key.ts';
import { createOrder, isKeyKnown } from '../commands/create-order.ts';
import { listOrders } from '../lists/list-orders.ts';
import type { OrderRouteDeps } from './command-routes.ts';
import {
  commandRoute,
  merchantCommands,
  merchantRoute,
  orderParams,
  orderResponse,
} from './command-routes.ts';
import { createOrderSchema, orderSchema } from '../schemas.ts';
import { filterOf, listOrdersSchema } from '../list-query.ts';
import { findUnappliedState, readTimeline, timelinePlaceSchema } from '../steps/timeline.ts';
import { presentTimeline, timelineSchema } from '../steps/timeline-presenter.ts';

export function orderRoutes(deps: OrderRouteDeps): Route[] {
  return [
    createOrderRoute(deps),
    listOrdersRoute(deps),
    getOrderRoute(deps),
    timelineRoute(deps),
    ...merchantCommands(deps).map((command) => commandRoute(deps, command)),
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

/** @throws ValidationError if the environment and the merchant's approved domains do not allow the URL */
async function assertReturnUrl(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  returnUrl: string | null | undefined,
): Promise<void> {
  if (returnUrl === null || returnUrl === undefined) return;
  const { origin, protocol } = new URL(returnUrl);
  if (environment === 'production' && protocol !== 'https:') {
    throw new ValidationError({ returnUrl: 'must use https in production' });
  }
  const allowed = await findOrigins(sql, merchantId, environment);
  if (allowed.length > 0 && !allowed.includes(origin)) {
    throw new ValidationError({ returnUrl: 'must be on your list of approved domains' });
  }
}

function createOrderRoute(deps: OrderRouteDeps): Route {
  return defineRoute({
    ...merchantRoute,
    method: 'POST',
    path: '/orders',
    operationId: 'createOrder',
    summary: 'Create an order',
    description: 'With an Idempotency-Key that was used before, returns the existing order.',
    headers: keyHeaders,
    body: createOrderSchema,
    beforeBody: (headers, caller) => assertReady(deps.sql, caller, headers['Idempotency-Key']),
    responses: {
      201: {
        description: 'The order, new or existing',
        schema: envelopeOf(orderSchema),
        headers: replayHeaders.extend({ 'Idempotency-Key': z.string() }),
      },
    },
    errors: ['MERCHANT_NOT_READY'],
  }).handledBy(async ({ body, headers, merchant, environment, log }) => {
    await assertReturnUrl(deps.sql, { merchantId: merchant.id, environment }, body.returnUrl);
    const key = headers['Idempotency-Key'] ?? ulid();
    const created = await createOrder(deps, {
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
    description:
      'Newest first, one page at a time. An order must match all given filters. With the `next` of a response as ' +
      '`after`, the following page begins behind its last order, whatever was created meanwhile.',
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
            next: z.string().nullable().meta({
              description: 'The `after` of the next page; null on the last one',
            }),
          }),
        ),
      },
    },
  }).handledBy(async ({ query, merchant, environment }) => {
    const owner = { merchantId: merchant.id, environment };
    const after = query.after?.[0];
    if (after !== undefined) await assertOwnCursor(sql, owner, after);
    const { size } = query;
    const number = after === undefined ? query.page : 0;
    const filter = { ...filterOf(query), ...owner };
    const { orders, totalElements, hasMore } = await listOrders(sql, filter, {
      skip: number * size,
      size,
      after,
    });
    const last = hasMore ? orders.at(-1) : undefined;
    const next = last ? cursorOf([last.orderNumber]) : null;
    const totalPages = Math.ceil(totalElements / size);
    const content = orders.map(present);
    return {
      status: 200,
      body: success('Orders', { content, totalElements, totalPages, number, size, next }),
    };
  });
}

/** @throws ValidationError for a cursor of another merchant, or of a database that was restored since */
async function assertOwnCursor(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  orderNumber: string,
): Promise<void> {
  const order = await findOrder(sql, environment, orderNumber);
  if (order?.merchantId !== merchantId) throw new ValidationError({ after: INVALID_CURSOR });
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
    description:
      'Every step with its time, every webhook event with the state of its delivery. The latest 200 entries, oldest ' +
      'first; with the `earlier` of a response as `before`, those before them.',
    params: orderParams,
    query: z.object({
      before: cursorInQuery(timelinePlaceSchema, 'must be the `earlier` of a response')
        .optional()
        .meta({
          description: 'The `earlier` of a response: only the entries before it are listed',
        }),
    }),
    responses: { 200: { description: 'The timeline', schema: envelopeOf(timelineSchema) } },
    errors: orderErrors,
  }).handledBy(async ({ params, query, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const { orderNumber } = order;
    const [part, unapplied] = await Promise.all([
      readTimeline(sql, orderNumber, query),
      findUnappliedState(sql, orderNumber),
    ]);
    const timeline = presentTimeline(order, part, unapplied);
    return { status: 200, body: success('Timeline', timeline) };
  });
}
