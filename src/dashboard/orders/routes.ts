import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import type { OrderPagesDeps } from './deps.ts';
import { disputePages } from './disputes-page.ts';
import { homePage } from './home-page.ts';
import { listPages } from './list-page.ts';
import { orderPages } from './order-routes.ts';

/** A merchant's home, orders and disputes. */
export function merchantOrderPages(context: PageContext, deps: OrderPagesDeps): Route[] {
  return [
    ...homePage(context, deps),
    ...listPages(context, deps),
    ...orderPages(context, deps),
    ...disputePages(context, deps),
  ];
}
