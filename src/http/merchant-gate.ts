import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Environment } from '../domain/order.ts';
import { assertAdmitted } from './limits/admission.ts';
import type { ClientIp } from './limits/client-ip.ts';
import type { AuthenticatedMerchant } from './define-route.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import type { NegotiatedVersion, VersionRegistry } from './versions.ts';

/** The base path of the merchant API in each environment. Source: the contract. */
export const BASE_PATHS = {
  sandbox: '/sandbox/api/merchant/v1',
  production: '/api/merchant/v1',
} as const satisfies Record<Environment, string>;

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

/** Checks a request under a merchant base path before its input is read. */
export type MerchantGate = (
  request: IncomingMessage,
  environment: Environment,
  log: Logger,
) => Promise<{ merchant: AuthenticatedMerchant; version: NegotiatedVersion }>;

/** The dependencies of the gate. */
export interface MerchantGateOptions {
  readonly authenticate: Authenticate;
  readonly rateLimiter: RateLimiter;
  readonly limiterTimeoutMs?: number | undefined;
  readonly clientIp: ClientIp;
  readonly versions: VersionRegistry;
  readonly now: () => Date;
}

/** The environment of a path; undefined if the path is outside of both base paths. */
export function environmentOf(path: string): Environment | undefined {
  const under = (base: string) => path === base || path.startsWith(`${base}/`);
  if (under(BASE_PATHS.sandbox)) return 'sandbox';
  return under(BASE_PATHS.production) ? 'production' : undefined;
}

/** A header as one string; repeated headers are joined with commas. */
function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/**
 * Creates the checks that precede the validation of input, in the contract's order: rate limit,
 * credentials, merchant approved and active, Origin, version.
 */
export function createMerchantGate(options: MerchantGateOptions): MerchantGate {
  const { authenticate, rateLimiter, limiterTimeoutMs, clientIp, versions, now } = options;
  return async (request, environment, log) => {
    await assertAdmitted(rateLimiter, clientIp(request), log, limiterTimeoutMs);
    const merchant = await authenticate({
      environment,
      apiKey: headerOf(request, 'x-api-key'),
      apiSecret: headerOf(request, 'x-api-secret'),
      origin: headerOf(request, 'origin'),
    });
    const pinned = headerOf(request, 'x-api-version');
    return { merchant, version: versions.negotiate(pinned, now().getTime()) };
  };
}
