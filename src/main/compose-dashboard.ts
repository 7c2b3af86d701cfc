import { readSession } from '../accounts/public.ts';
import { dashboardRoutes } from '../dashboard/routes.ts';
import type { Route } from '../http/define-route.ts';
import { createMemoryRateLimiter } from '../http/rate-limit.ts';
import type { Resources } from './compose.ts';

/** The dashboard's pages with what they call. */
export function composeDashboard({ config, sql, log }: Resources): Route[] {
  const { publicBaseUrl, dashboardRateLimitPerSecond: limitPerSecond } = config;
  return dashboardRoutes({
    pages: {
      publicBaseUrl,
      rateLimiter: createMemoryRateLimiter({ limitPerSecond }),
      log,
      readSession: (token) => readSession({ sql }, token),
      readBanners: async () => null,
    },
  });
}
