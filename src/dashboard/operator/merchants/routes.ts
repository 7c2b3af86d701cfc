import type { Route } from '../../../http/define-route.ts';
import type { PageContext } from '../../context.ts';
import type { MerchantReviewDeps } from './deps.ts';
import { listPage } from './list-page.ts';
import { merchantPages } from './merchant-pages.ts';

/** The operators' pages about merchants: the list, and the review of one. */
export function merchantReviewPages(context: PageContext, deps: MerchantReviewDeps): Route[] {
  return [...listPage(context, deps), ...merchantPages(context, deps)];
}
