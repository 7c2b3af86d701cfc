import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import { DomainError } from '../domain/errors.ts';
import { inServerSpan } from '../tracing/spans.ts';
import { environmentOf } from './base-paths.ts';
import type { Page, Route } from './define-route.ts';
import { createClientIp } from './limits/client-ip.ts';
import type { ClientIp } from './limits/client-ip.ts';
import { createDeadline } from './limits/deadline.ts';
import { compressFiles, compressPages } from './compression.ts';
import { assertAdmitted, createPageRateLimiter } from './limits/rate-limit.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import { authenticateMerchant, limitMerchantRate, negotiateVersion } from './merchant-checks.ts';
import type { Authenticate } from './merchant-checks.ts';
import {
  publishAnswered,
  requestFields,
  requestIdFrom,
  runWithRequestId,
} from './request-context.ts';
import type { HttpContext, HttpMiddleware, RequestState } from './request-state.ts';
import type { ErrorReply } from './responses/errors.ts';
import { HttpRefusal, errorOf, errorReply, logError } from './responses/errors.ts';
import { COMMON_HEADERS, send } from './responses/response.ts';
import { createRouteMiddlewares } from './route-middlewares.ts';
import { createRouters } from './routers.ts';
import type { Routers } from './routers.ts';
import { HEALTH_PATHS, healthRoutes } from './server/readiness.ts';
import type { Readiness } from './server/readiness.ts';
import { createVersionRegistry } from './versions.ts';
import type { VersionRegistry } from './versions.ts';

/** The dependencies and settings of the HTTP application. */
export interface AppOptions {
  readonly routes: readonly Route[];
  readonly authenticate: Authenticate;
  readonly rateLimiter: RateLimiter;
  /** The limit for public paths without one of their own and for paths that do not exist; one is made if absent. */
  readonly publicRateLimiter?: RateLimiter;
  readonly readiness: Readiness;
  /** Addresses or CIDR ranges whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  /** For tests: a response that its route does not declare becomes a 500. */
  readonly checkResponses: boolean;
  /** Raises the contract's 5 s, for tests on a busy machine. */
  readonly responseTimeoutMs?: number | undefined;
  /** What browsers get in the place of JSON for a path that does not exist. */
  readonly notFoundPage?: ((refusal: ErrorReply, requestId: string) => Page) | undefined;
  readonly versions?: VersionRegistry;
  readonly now?: () => Date;
}

/**
 * Checks the request target before Koa parses it: Koa throws, and a malformed request would be
 * reported as a server fault.
 *
 * @throws DomainError BAD_REQUEST
 */
function assertWellFormed({ headers, httpVersion, url = '' }: IncomingMessage): void {
  if (httpVersion === '1.1' && !headers.host) {
    throw new DomainError('BAD_REQUEST', 'The Host header is missing');
  }
  if (!url.startsWith('/') && !URL.canParse(url)) {
    throw new DomainError('BAD_REQUEST', 'Malformed request target');
  }
}

function reportRequest(ctx: HttpContext, startedAtMs: number): void {
  const { method, status, state } = ctx;
  const { log, operationId, route } = state;
  const elapsedMs = performance.now() - startedAtMs;
  publishAnswered({ method, route, status, durationMs: elapsedMs });
  const durationMs = Math.round(elapsedMs);
  const isCutOff = ctx.req.destroyed && !ctx.req.complete;
  const line = { method, operationId, route, status, durationMs, ...(isCutOff && { isCutOff }) };
  // Load balancers probe every few seconds: successful probes are logged at level debug only.
  log[state.isHealthCheck && status === 200 ? 'debug' : 'info'](line, 'request');
}

/** Load balancers probe every few seconds: their requests have no span. */
function inRequestSpan(ctx: HttpContext, work: () => Promise<void>): Promise<void> {
  if (HEALTH_PATHS.includes(ctx.req.url ?? '')) return work();
  const { method } = ctx;
  const { traceparent } = ctx.req.headers;
  return inServerSpan({ method, traceparent }, work, () => {
    const { merchantId, orderNumber } = requestFields();
    const { route, environment } = ctx.state;
    const attributes = { environment, 'merchant.id': merchantId, 'order.number': orderNumber };
    return { method, route, status: ctx.status, attributes };
  });
}

/** Gives a request its id and the common headers, and writes its span, its log line and its metrics. */
const observe =
  (apiVersion: string, log: Logger): HttpMiddleware =>
  (ctx, next) => {
    const startedAtMs = performance.now();
    ignoreLongPreferences(ctx.req);
    const requestId = requestIdFrom(ctx.req.headers['x-request-id']);
    Object.assign(ctx.state, { requestId, log });
    ctx.set({ ...COMMON_HEADERS, 'X-API-Version': apiVersion, 'X-Request-Id': requestId });
    const answerAndReport = async () => {
      await next();
      reportRequest(ctx, startedAtMs);
    };
    return runWithRequestId(requestId, () => inRequestSpan(ctx, answerAndReport));
  };

/**
 * Turns every error outside a route into a response of the specified form; a route does so itself. A refused request gets
 * its route's name, too.
 */
const answerErrors =
  (routers: Routers, now: () => Date): HttpMiddleware =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      logError(ctx.state.log, error);
      if (ctx.state.environment) routers.describe(ctx);
      send(ctx, errorReply(error, now()));
    }
  };

/** Headers that say what a client prefers: they are read in quadratic time. */
const PREFERENCES = ['accept', 'accept-encoding', 'accept-language'];
/** Browsers send at most some hundred characters. */
const MAX_PREFERENCE_LENGTH = 1000;

/** A server may ignore a preference (RFC 9110, 12.1). */
function ignoreLongPreferences({ headers }: IncomingMessage): void {
  for (const name of PREFERENCES) {
    if ((headers[name]?.length ?? 0) > MAX_PREFERENCE_LENGTH) delete headers[name];
  }
}

/** Finds client and environment of a request, and begins the time in which it must be answered. */
const beginRequest =
  (clientIp: ClientIp, responseTimeoutMs: number | undefined): HttpMiddleware =>
  async (ctx, next) => {
    assertWellFormed(ctx.req);
    ctx.state.clientIp = clientIp(ctx.req);
    ctx.state.environment = environmentOf(ctx.path);
    ctx.state.within = createDeadline(responseTimeoutMs);
    await next();
  };

/** One page load makes a dozen requests, and many people may share an address. An answer costs less than a millisecond. */
const PUBLIC_REQUESTS_PER_SECOND = 200;

interface Unmatched {
  readonly routers: Routers;
  readonly publicRateLimiter: RateLimiter;
  readonly notFoundPage: AppOptions['notFoundPage'];
  readonly now: () => Date;
}

/** Answers requests that no route matches: 405 if the path has other methods, else 404, for browsers as a page. */
const refuseUnmatched =
  ({ routers, publicRateLimiter, notFoundPage, now }: Unmatched): HttpMiddleware =>
  async (ctx) => {
    const { clientIp, environment } = ctx.state;
    // Below a base path of the merchants' API the request was counted already.
    if (!environment) await assertAdmitted(publicRateLimiter, clientIp);
    const allow = routers.allowOf(ctx.path);
    if (allow === undefined) {
      const error = errorOf('NOT_FOUND');
      const isBrowser = ctx.accepts('json', 'html') === 'html';
      if (!notFoundPage || !isBrowser || environment) throw error;
      const page = notFoundPage(errorReply(error, now()), ctx.state.requestId);
      return send(ctx, { ...page, status: 404 }, page.contentType);
    }
    if (ctx.method !== 'OPTIONS') throw new HttpRefusal('METHOD_NOT_ALLOWED', { Allow: allow });
    ctx.set('Allow', allow);
    ctx.status = 204;
  };

/** The application, and what the server needs for requests that Koa never sees. */
export type HttpApp = Koa<RequestState> & Pick<Routers, 'allowOf'>;

/**
 * Builds the HTTP application: the middlewares of every request, in the order of the contract's checks.
 *
 * @throws Error if a trusted proxy is neither an address nor a CIDR range
 */
export function createApp(options: AppOptions): HttpApp {
  const { authenticate, rateLimiter, log, now = () => new Date() } = options;
  const { publicRateLimiter = createPageRateLimiter(PUBLIC_REQUESTS_PER_SECOND) } = options;
  const versions = options.versions ?? createVersionRegistry();
  const routers = createRouters(
    [...healthRoutes(options.readiness), ...options.routes],
    createRouteMiddlewares({
      checkResponses: options.checkResponses,
      now,
      publicRateLimiter,
      responseTimeoutMs: options.responseTimeoutMs,
    }),
  );
  const app = new Koa<RequestState>();
  app.on('error', (err: unknown, ctx?: HttpContext) => {
    log.warn({ err, requestId: ctx?.state.requestId }, 'A connection failed');
  });
  app.use(observe(versions.current, log));
  app.use(compressPages());
  app.use(compressFiles());
  app.use(answerErrors(routers, now));
  app.use(beginRequest(createClientIp(options.trustedProxies), options.responseTimeoutMs));
  app.use(limitMerchantRate(rateLimiter));
  app.use(authenticateMerchant(authenticate));
  app.use(negotiateVersion(versions, now));
  app.use(routers.middleware);
  app.use(refuseUnmatched({ routers, publicRateLimiter, notFoundPage: options.notFoundPage, now }));
  return Object.assign(app, { allowOf: routers.allowOf });
}
