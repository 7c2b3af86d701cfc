import { z } from 'zod';
import type { OperatorRole } from '../../accounts/public.ts';
import type { Route } from '../../http/define-route.ts';
import { findOrderAnywhere } from '../../orders/public.ts';
import { readOrderView, readOrderWorkflows } from '../../payments/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import type { OperatorPageDeps } from './context.ts';
import { actionLinks } from './order-actions.ts';
import { orderContent } from './order-view.ts';
import { doneNotice } from './parts.ts';

/** The page waits no longer for Temporal. */
const TEMPORAL_TIMEOUT_MS = 2000;

/** Everything about one order, and what its state and the operator's role allow to do. */
export function orderPage(context: PageContext, deps: OperatorPageDeps): Route[] {
  return definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/orders/{order}',
    params: z.object({ order: z.string() }),
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params, query, viewer: { role } }) => ({
    view: await orderPageView(deps, params.order, { role, done: query.done }),
  }));
}

async function orderPageView(
  deps: OperatorPageDeps,
  orderNumber: string,
  { role, done }: { role: OperatorRole; done: string | undefined },
) {
  const order = await findOrderAnywhere(deps.sql, orderNumber);
  const [view, workflows] = await Promise.all([
    readOrderView(deps.sql, order),
    readOrderWorkflows(deps, orderNumber, TEMPORAL_TIMEOUT_MS),
  ]);
  const content = [
    doneNotice(done),
    ...orderContent(view, workflows, actionLinks({ order, view, workflows }, role)),
  ];
  return { title: `Order ${orderNumber}`, content };
}
