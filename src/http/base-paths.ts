import type { Environment } from '../domain/order.ts';

/** The base path of the merchant API in each environment. Source: the contract. */
export const BASE_PATHS = {
  sandbox: '/sandbox/api/merchant/v1',
  production: '/api/merchant/v1',
} as const satisfies Record<Environment, string>;

/** The environment of a path; undefined if the path is outside of both base paths. */
export function environmentOf(path: string): Environment | undefined {
  const under = (base: string) => path === base || path.startsWith(`${base}/`);
  if (under(BASE_PATHS.sandbox)) return 'sandbox';
  return under(BASE_PATHS.production) ? 'production' : undefined;
}
