import { h } from 'preact';
import { z } from 'zod';
import { cursorInQuery } from '../../http/input/cursor.ts';
import { errorOf } from '../../http/responses/errors.ts';
import { runningLedger, showLedger } from '../../ledger/public.ts';
import type { OrderRow, TimelinePlace } from '../../orders/public.ts';
import { markErased, timelinePlaceSchema } from '../../orders/public.ts';
import { isHoldRefused } from '../../payments/public.ts';
import type { PageContext } from '../context.ts';
import { noticed } from '../context.ts';
import { definePage } from '../page.ts';
import { refusalsExcept } from '../refusal.ts';
import { confirmationView, CONFIRMED_FIELD } from '../view/confirmation.ts';
import type { View } from '../view/layout.ts';
import { pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf } from '../viewer.ts';
import { KEY_FIELD, valuesOf } from './action-form.ts';
import type { OrderAction, OrderActionId } from './actions.ts';
import { ORDER_ACTION_IDS } from './actions.ts';
import type { OrderPageContent } from './order-page.ts';
import { orderView } from './order-page.ts';
import type { OrderPagesDeps } from './parts.ts';
import { allowedActions, mayAct, orderPath, ordersPage, returnsMoney } from './parts.ts';

const orderParams = z.object({ id: z.string() });
const actionBody = z.record(z.string(), z.unknown());

/** The most lines of the ledger that are shown; the balances include all lines. */
const MOST_LINES = 100;

/** Refusals that concern no single form: no such order or action, and a merchant that may not act. */
const REFUSALS = refusalsExcept(
  'NOT_FOUND',
  'ORDER_NOT_FOUND',
  'MERCHANT_NOT_ACTIVE',
  'MERCHANT_NOT_APPROVED',
);

export const orderPages = [
  ordersPage('GET /orders/{id}', {
    params: orderParams,
    query: z.object({
      done: z.string().optional(),
      before: cursorInQuery(timelinePlaceSchema).optional().catch(undefined),
    }),
  }).handledBy(async ({ viewer, params, query: { done: doneId = '', before } }, deps) => {
    const content = await readContent(deps, viewer, params.id, before);
    const done = deps.actions.find(doneId, viewer.environment);
    return { view: orderView(deps, { ...content, done, isEarlier: before !== undefined }) };
  }),
  ordersPage('GET /orders/{id}/version', {
    params: orderParams,
  }).handledBy(async ({ viewer, params }, { orders }) => {
    const { version } = await orders.read(ownerOf(viewer), params.id);
    return { json: { version } };
  }),
  ...ORDER_ACTION_IDS.map(actionPage),
];

function actionPage(actionId: OrderActionId) {
  return (context: PageContext, deps: OrderPagesDeps) =>
    definePage(context, 'merchant', `POST /orders/{id}/${actionId}`, {
      params: orderParams,
      body: actionBody,
      formPath: '/orders/{id}',
      refusals: REFUSALS,
      isLarge: async ({ viewer, params: { id } }) => {
        const { amountPaise } = await deps.orders.find(ownerOf(viewer), id);
        return amountPaise > deps.refundAsksAbovePaise;
      },
    }).handledBy(async (request) => {
      const { viewer, params, actor } = request;
      // Another merchant's order is NOT_FOUND here, while the API says that it is another's.
      const order = await deps.orders.find(ownerOf(viewer), params.id);
      const action = deps.actions.find(actionId, viewer.environment);
      if (!action) throw errorOf('NOT_FOUND');
      assertMayAct(viewer, actionId);
      const values = valuesOf(request.body);
      const idempotencyKey = values[KEY_FIELD] ?? '';
      const isOffered = deps.actions.of(order).some(({ id }) => id === action.id);
      const isAsked = returnsMoney(action.id) && isOffered && values[CONFIRMED_FIELD] === undefined;
      if (isAsked) {
        deps.actions.check(action, { values, idempotencyKey });
        return { view: refundQuestion(order, action, request.body) };
      }
      const { orderNumber, environment, amountPaise } = order;
      const act = { kind: 'refund', orderNumber, environment, amountPaise } as const;
      await noticed(deps, request, act, (alongside) =>
        deps.actions.carryOut(action, { order, values, idempotencyKey, actor, alongside }),
      );
      return { seeOther: pathWith(orderPath(order), { done: action.id }) };
    });
}

/** Asks before the buyer's money is returned. The form is sent again with the names of its fields. */
function refundQuestion(
  row: OrderRow,
  { id, label }: OrderAction,
  body: Readonly<Record<string, unknown>>,
): View {
  const order = markErased(row);
  const texts = Object.entries(body).filter(
    (field): field is [string, string] => typeof field[1] === 'string',
  );
  return confirmationView({
    title: `${label}?`,
    amountPaise: order.amountPaise,
    to: h('bdi', null, order.buyerName || order.buyerEmail, ', who paid by UPI'),
    consequence: `The whole amount of order ${order.merchantOrderId ?? order.orderNumber} goes back to the buyer, and nothing is paid to you.`,
    button: label,
    action: orderPath(order, `/${id}`),
    values: Object.fromEntries(texts),
    back: orderPath(order),
  });
}

/** Refuses what the API refuses with the credentials of a merchant that is not active, but answers to disputes. */
function assertMayAct(viewer: MerchantViewer, actionId: string): void {
  if (mayAct(viewer, actionId)) return;
  const isSuspended = viewer.merchantStatus === 'SUSPENDED';
  throw errorOf(isSuspended ? 'MERCHANT_NOT_ACTIVE' : 'MERCHANT_NOT_APPROVED');
}

async function readContent(
  { sql, orders, actions }: OrderPagesDeps,
  viewer: MerchantViewer,
  orderNumber: string,
  before?: TimelinePlace,
): Promise<OrderPageContent> {
  const details = await orders.read(ownerOf(viewer), orderNumber, before);
  const { order } = details;
  return {
    details,
    lines: runningLedger((await showLedger(sql, order.orderNumber)).lines).slice(-MOST_LINES),
    isHoldRefused: await isHoldRefused(sql, order.orderNumber),
    actions: allowedActions(viewer, actions.of(order)),
    isSuspended: viewer.merchantStatus === 'SUSPENDED',
  };
}
