import type { AccountDeps } from '../accounts/public.ts';
import type { Page, Route } from '../http/define-route.ts';
import type { ErrorReply } from '../http/responses/errors.ts';
import { accountRoutes } from './account/routes.ts';
import type { PageContext, PageDeps } from './context.ts';
import { createFiles } from './files.ts';
import type { OnboardingPageDeps } from './onboarding/deps.ts';
import { onboardingPages } from './onboarding/routes.ts';
import type { OperatorPageDeps } from './operator/context.ts';
import type { MerchantReviewDeps } from './operator/merchants/deps.ts';
import { merchantReviewPages } from './operator/merchants/routes.ts';
import { operatorsRoutes } from './operator/operators/routes.ts';
import { operatorPages } from './operator/routes.ts';
import type { OrderPagesDeps } from './orders/deps.ts';
import { merchantOrderPages } from './orders/routes.ts';
import { assertActsHaveRules } from './merchant-acts.ts';
import type { MoneyPagesDeps } from './money/deps.ts';
import { statementPages } from './money/statement-page.ts';
import { definePage } from './page.ts';
import { signedOutRefusal } from './reply.ts';
import type { SiteDeps } from './site/landing-page.ts';
import { landingPage } from './site/landing-page.ts';
import type { SettingsDeps } from './settings/deps.ts';
import { settingsPages } from './settings/routes.ts';

/** What the pages need, each folder of pages its own part. */
export interface DashboardDeps {
  pages: PageDeps;
  site: SiteDeps;
  accounts: AccountDeps;
  orders: OrderPagesDeps;
  money: MoneyPagesDeps;
  settings: SettingsDeps;
  onboarding: OnboardingPageDeps & MerchantReviewDeps;
  operator: OperatorPageDeps;
}

/** The pages that browsers get. */
export interface Dashboard {
  readonly routes: Route[];
  /** For a path that does not exist. */
  readonly notFoundPage: (refusal: ErrorReply, requestId: string) => Page;
}

/**
 * Declares the dashboard: the first page, the pages of merchants and operators, and their files.
 *
 * @throws Error for a form of merchants' users without a rule in `MERCHANT_ACTS`
 */
export function createDashboard(deps: DashboardDeps): Dashboard {
  const pathPrefix = new URL(deps.pages.publicBaseUrl).pathname.replace(/\/$/, '');
  const { files, routes } = createFiles(pathPrefix);
  const context: PageContext = { ...deps.pages, files, pathPrefix };
  const all = [
    ...landingPage(context, deps.site),
    ...startPage(context),
    ...accountRoutes(context, deps.accounts, deps.settings.notices),
    ...merchantOrderPages(context, deps.orders),
    ...statementPages(context, deps.money),
    ...settingsPages(context, deps.settings),
    ...onboardingPages(context, deps.onboarding),
    ...operatorPages(context, deps.operator),
    ...merchantReviewPages(context, deps.onboarding),
    ...operatorsRoutes(context, deps.accounts, deps.operator),
    ...routes,
  ];
  assertActsHaveRules(all);
  return { routes: all, notFoundPage: signedOutRefusal.bind(undefined, context) };
}

/** Sends everyone to their own first page. */
function startPage(context: PageContext): Route[] {
  return definePage(context, { audience: 'anyone', method: 'GET', path: '' }).handledBy(
    async ({ viewer: { user } }) => {
      if (user === undefined) return { seeOther: '/dashboard/login' };
      return { seeOther: user.role === null ? '/dashboard/sandbox' : '/operator' };
    },
  );
}
