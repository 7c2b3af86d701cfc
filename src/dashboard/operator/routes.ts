import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import { actionPages } from './action-pages.ts';
import { alertPages } from './alerts.ts';
import { auditPages } from './audit.ts';
import type { OperatorPageDeps } from './context.ts';
import { disputePages } from './disputes.ts';
import { ledgerPage } from './ledger.ts';
import { deliveryRetry, orderPage } from './order-page.ts';
import { orderSearchPage } from './order-search.ts';
import { proposalPages } from './proposals/routes.ts';
import { workQueuePage } from './work-queue.ts';

/** The operators' pages, except those about merchants and about operators themselves. */
export function operatorPages(context: PageContext, deps: OperatorPageDeps): Route[] {
  return [
    ...workQueuePage(context, deps),
    ...alertPages(context, deps),
    ...orderSearchPage(context, deps),
    ...orderPage(context, deps),
    ...deliveryRetry(context, deps),
    ...actionPages(context, deps),
    ...disputePages(context, deps),
    ...ledgerPage(context, deps),
    ...auditPages(context, deps),
    ...proposalPages(context, deps),
  ];
}
