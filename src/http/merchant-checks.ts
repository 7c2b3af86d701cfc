import type { IncomingMessage } from 'node:http';
import type { Environment } from '../domain/order.ts';
import type { AuthenticatedMerchant } from './define-route.ts';
import { assertAdmitted } from './limits/rate-limit.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import { addRequestFields } from './request-context.ts';
import type { HttpMiddleware, HttpContext } from './request-state.ts';
import type { VersionRegistry } from './versions.ts';

/** The headers that identify the sender of a request. */
export interface Credentials {
  readonly environment: Environment;
  readonly apiKey: string | undefined;
  readonly apiSecret: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Finds the merchant that the credentials belong to.
 *
 * @throws DomainError UNAUTHORIZED, then MERCHANT_NOT_APPROVED or MERCHANT_NOT_ACTIVE, then
 *   ORIGIN_NOT_ALLOWED.
 */
export type Authenticate = (credentials: Credentials) => Promise<AuthenticatedMerchant>;

/** A header as one string; repeated headers are joined with commas. */
function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** A middleware that checks a request of the merchant API; it lets every other request pass. */
function check(
  assert: (ctx: HttpContext, environment: Environment) => Promise<void>,
): HttpMiddleware {
  return async (ctx, next) => {
    const { environment, within } = ctx.state;
    if (environment) await within(() => assert(ctx, environment));
    await next();
  };
}

/** Counts a request of the merchant API against its client's limit. */
export const limitMerchantRate = (limiter: RateLimiter) =>
  check(({ state: { clientIp } }) => assertAdmitted(limiter, clientIp));

/** Finds the merchant of a request: its credentials, its status, then its Origin. */
export const authenticateMerchant = (authenticate: Authenticate) =>
  check(async ({ req, state }, environment) => {
    state.merchant = await authenticate({
      environment,
      apiKey: headerOf(req, 'x-api-key'),
      apiSecret: headerOf(req, 'x-api-secret'),
      origin: headerOf(req, 'origin'),
    });
    addRequestFields({ merchantId: state.merchant.id });
  });

/** Determines the API version of a request. */
export const negotiateVersion = (versions: VersionRegistry, now: () => Date) =>
  check(async (ctx) => {
    const pinned = headerOf(ctx.req, 'x-api-version');
    ctx.state.version = versions.negotiate(pinned, now().getTime());
    ctx.set(ctx.state.version.headers);
  });
