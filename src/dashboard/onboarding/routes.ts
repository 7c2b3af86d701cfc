import type { Route } from '../../http/define-route.ts';
import type { PageContext } from '../context.ts';
import type { OnboardingPageDeps } from './deps.ts';
import { detailPages } from './detail-pages.ts';
import { documentPages } from './document-pages.ts';
import { reviewPages } from './review-page.ts';

/** A merchant's application: its steps, its documents, its submission and its state. */
export function onboardingPages(context: PageContext, deps: OnboardingPageDeps): Route[] {
  return [
    ...reviewPages(context, deps),
    ...detailPages(context, deps),
    ...documentPages(context, deps),
  ];
}
