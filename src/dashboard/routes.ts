import { readFileSync } from 'node:fs';
import type { AccountDeps } from '../accounts/public.ts';
import type { Page, Route } from '../http/define-route.ts';
import { createFileSlots } from '../http/limits/slots.ts';
import { createAsset } from '../http/responses/asset.ts';
import type { ErrorReply } from '../http/responses/errors.ts';
import { baseStyle } from '../pages/base-style.ts';
import { BRAND_STYLE, FAVICON } from '../pages/brand.ts';
import { accountPages } from './account/account.ts';
import { confirmPages } from './account/confirm.ts';
import { linkPages } from './account/links.ts';
import { logInPages } from './account/log-in.ts';
import { mailPages } from './account/mails.ts';
import { passwordPages } from './account/password.ts';
import { signUpPages } from './account/sign-up.ts';
import { twoFactorPages } from './account/two-factor.ts';
import type { PageContext, PageDeps } from './context.ts';
import { assertActsHaveRules } from './merchant-acts.ts';
import { statementPages } from './money/statement-page.ts';
import { detailPages } from './onboarding/detail-pages.ts';
import { documentPages } from './onboarding/document-pages.ts';
import type { OnboardingPageDeps } from './onboarding/parts.ts';
import { reviewPages } from './onboarding/review-page.ts';
import { actionPages } from './operator/action-pages.ts';
import { alertPages } from './operator/alerts.ts';
import { auditPages } from './operator/audit.ts';
import { disputePages } from './operator/disputes.ts';
import { ledgerPage } from './operator/ledger.ts';
import { merchantListPage } from './operator/merchants/list-page.ts';
import { merchantPages } from './operator/merchants/merchant-pages.ts';
import { operatorAccountPages } from './operator/operators/routes.ts';
import { deliveryRetry, orderPage } from './operator/order-page.ts';
import { orderSearchPage } from './operator/order-search.ts';
import type { MerchantReviewDeps, OperatorPageDeps } from './operator/parts.ts';
import { proposalPages } from './operator/proposals/routes.ts';
import { workQueuePage } from './operator/work-queue.ts';
import { merchantDisputePages } from './orders/disputes-page.ts';
import { homePage } from './orders/home-page.ts';
import { listPages } from './orders/list-page.ts';
import { orderPages } from './orders/order-routes.ts';
import type { OrderPagesDeps } from './orders/parts.ts';
import { definePage } from './page.ts';
import { signedOutRefusal } from './reply.ts';
import { deliveryListPages } from './settings/deliveries-page.ts';
import { deliveryPages } from './settings/delivery-page.ts';
import { keyPages } from './settings/keys-page.ts';
import type { SettingsDeps } from './settings/parts.ts';
import { questionPages } from './settings/questions.ts';
import { webhookPages } from './settings/webhooks-page.ts';
import type { SiteDeps } from './site/landing-page.ts';
import { landingPage } from './site/landing-page.ts';
import type { Files } from './view/layout.ts';

export interface DashboardDeps {
  pages: PageDeps;
  site: SiteDeps;
  accounts: AccountDeps;
  orders: OrderPagesDeps;
  settings: SettingsDeps;
  onboarding: OnboardingPageDeps & MerchantReviewDeps;
  operator: OperatorPageDeps;
}

export interface Dashboard {
  readonly routes: Route[];
  /** For a path that does not exist. */
  readonly notFoundPage: (refusal: ErrorReply, requestId: string) => Page;
}

const PAGES = {
  accounts: [
    ...signUpPages,
    ...logInPages,
    ...confirmPages,
    ...linkPages,
    ...accountPages,
    ...passwordPages,
    ...twoFactorPages,
  ],
  orders: [homePage, ...listPages, ...orderPages, merchantDisputePages, ...statementPages],
  settings: [...keyPages, ...webhookPages, ...deliveryListPages, ...deliveryPages],
  onboarding: [...reviewPages, ...detailPages, ...documentPages],
  operator: [
    workQueuePage,
    ...alertPages,
    orderSearchPage,
    orderPage,
    deliveryRetry,
    actionPages,
    ...disputePages,
    ledgerPage,
    ...auditPages,
    ...proposalPages,
  ],
  merchants: [merchantListPage, ...merchantPages],
};

/**
 * Declares the dashboard: the first page, the pages of merchants and operators, and their files.
 *
 * @throws Error for a form of merchants' users without a rule in `MERCHANT_ACTS`
 */
export function createDashboard(deps: DashboardDeps): Dashboard {
  const pathPrefix = new URL(deps.pages.publicBaseUrl).pathname.replace(/\/$/, '');
  const { files, routes } = createFiles(pathPrefix);
  const context: PageContext = {
    ...deps.pages,
    files,
    downloads: createFileSlots(),
    pathPrefix,
    pages: new Map(),
  };
  const { accounts, operator: operatorDeps, settings } = deps;
  const { notices } = settings;
  const operators = { accounts, proposals: operatorDeps };
  const all = [
    ...landingPage(context, deps.site),
    ...startPage(context),
    ...PAGES.accounts.flatMap((pages) => pages(context, deps.accounts)),
    ...mailPages.flatMap((pages) => pages(context, { ...deps.accounts, notices })),
    ...PAGES.orders.flatMap((pages) => pages(context, deps.orders)),
    ...questionPages(context),
    ...PAGES.settings.flatMap((pages) => pages(context, deps.settings)),
    ...PAGES.onboarding.flatMap((pages) => pages(context, deps.onboarding)),
    ...PAGES.operator.flatMap((pages) => pages(context, deps.operator)),
    ...PAGES.merchants.flatMap((pages) => pages(context, deps.onboarding)),
    ...operatorAccountPages.flatMap((pages) => pages(context, operators)),
    ...routes,
  ];
  assertActsHaveRules(all);
  return { routes: all, notFoundPage: signedOutRefusal.bind(undefined, context, undefined) };
}

/** Sends everyone to their own first page. */
function startPage(context: PageContext): Route[] {
  return definePage(context, 'anyone', 'GET /').handledBy(async ({ viewer: { user } }) => {
    if (user === undefined) return { seeOther: '/dashboard/login' };
    return { seeOther: user.role === null ? '/dashboard/sandbox' : '/operator' };
  });
}

/** The parts of the style sheet; src/pages/base.css has the order of their layers. */
const STYLES = ['layout', 'components', 'lists', 'pages'];

const read = (name: string) => readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8');

/**
 * Declares the routes of the style sheet and the script of the dashboard.
 *
 * @param pathPrefix the path of the service's public URL; '' at the root
 */
export function createFiles(pathPrefix: string): { files: Files; routes: Route[] } {
  const asset = (name: string, content: string) => createAsset('/dashboard/files', name, content);
  const styles = STYLES.map((name) => read(`styles/${name}.css`));
  const style = asset('dashboard.css', [baseStyle('../..'), BRAND_STYLE, ...styles].join('\n'));
  const island = asset('island.js', read('island.js'));
  return {
    files: {
      style: pathPrefix + style.path,
      island: pathPrefix + island.path,
      icon: pathPrefix + FAVICON.path,
    },
    routes: [style.route, island.route],
  };
}
