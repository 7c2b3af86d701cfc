import { readSession } from '../accounts/public.ts';
import { dashboardRoutes } from '../dashboard/routes.ts';
import type { Route } from '../http/define-route.ts';
import { createMemoryRateLimiter } from '../http/rate-limit.ts';
import { readMerchantMoney, runningLedger, showLedger } from '../ledger/public.ts';
import { readApplication } from '../onboarding/public.ts';
import { createOrderActions } from '../orders/actions.ts';
import { createMerchantOrders } from '../orders/merchant-orders.ts';
import type { PresentOrder } from '../orders/presenter.ts';
import { composeAccounts } from './compose-accounts.ts';
import type { Resources } from './compose.ts';

/** What the dashboard shares with the API. */
export interface SharedWithApi {
  /** The API's routes: the dashboard carries out commands by the same declarations. */
  apiRoutes: readonly Route[];
  present: PresentOrder;
}

/** The dashboard's pages with what they call. @throws ConfigError if DATA_ENCRYPTION_KEYS is missing */
export function composeDashboard(
  resources: Resources,
  { apiRoutes, present }: SharedWithApi,
): Route[] {
  const { config, sql, log } = resources;
  const { publicBaseUrl, dashboardRateLimitPerSecond: limitPerSecond } = config;
  return dashboardRoutes({
    accounts: composeAccounts(resources),
    pages: {
      publicBaseUrl,
      rateLimiter: createMemoryRateLimiter({ limitPerSecond }),
      log,
      readSession: (token) => readSession({ sql }, token),
      readBanners: async () => null,
    },
    orders: {
      orders: createMerchantOrders(sql),
      actions: createOrderActions(apiRoutes, publicBaseUrl),
      readLedger: async (orderNumber) => runningLedger((await showLedger(sql, orderNumber)).lines),
      readMoney: (owner, days) => readMerchantMoney(sql, owner, days),
      paymentUrlOf: (order) => present(order).payment_url,
      readApplicationState: async (merchantId) => (await readApplication(sql, merchantId)).state,
      moreAttention: [],
    },
  });
}
