import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { DomainError } from '../domain/errors.ts';
import { ENVIRONMENTS, type Environment } from '../domain/order.ts';
import { publishAnswered } from './answered-requests.ts';
import { createClientIp } from './limits/client-ip.ts';
import { createDeadline } from './limits/deadline.ts';
import type { Route } from './define-route.ts';
import { createDispatch } from './dispatch.ts';
import type { RequestState } from './dispatch.ts';
import { HttpRefusal, errorOf, errorReply, logError } from './responses/errors.ts';
import { COMMON_HEADERS } from './responses/headers.ts';
import { BASE_PATHS, createMerchantGate, environmentOf } from './merchant-gate.ts';
import type { Authenticate, MerchantGate } from './merchant-gate.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import { HEALTH_PATHS, healthRoutes } from './server/readiness.ts';
import type { Readiness } from './server/readiness.ts';
import {
  addRequestFields,
  requestFields,
  requestIdFrom,
  runWithRequestId,
} from './request-context.ts';
import { send } from './responses/send.ts';
import { inServerSpan } from '../tracing/spans.ts';
import { createVersionRegistry } from './versions.ts';
import type { VersionRegistry } from './versions.ts';

/** The dependencies and settings of the HTTP application. */
export interface AppOptions {
  readonly routes: readonly Route[];
  readonly authenticate: Authenticate;
  readonly rateLimiter: RateLimiter;
  /** Raises the 0.5 s for which a request waits for the limiter, for tests on a busy machine. */
  readonly limiterTimeoutMs?: number | undefined;
  readonly readiness: Readiness;
  /** Addresses or CIDR ranges whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
  /** For tests: a response that its route does not declare becomes a 500. */
  readonly checkResponses: boolean;
  /** Raises the contract's 5 s, for tests on a busy machine. */
  readonly responseTimeoutMs?: number | undefined;
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

function reportRequest(ctx: Koa.ParameterizedContext<RequestState>, startedAtMs: number): void {
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

/** The outermost middleware: turns every error into a response of the specified form. */
function errorHandler(version: string, log: Logger, now: () => Date): Koa.Middleware<RequestState> {
  const handle = async (ctx: Koa.ParameterizedContext<RequestState>, next: Koa.Next) => {
    const startedAtMs = performance.now();
    try {
      assertWellFormed(ctx.req);
      await next();
    } catch (error) {
      logError(log, error);
      send(ctx, errorReply(error, now()));
    }
    reportRequest(ctx, startedAtMs);
  };
  return (ctx, next) => {
    const requestId = requestIdFrom(ctx.req.headers['x-request-id']);
    Object.assign(ctx.state, { requestId, log });
    ctx.set({ ...COMMON_HEADERS, 'X-API-Version': version, 'X-Request-Id': requestId });
    return runWithRequestId(requestId, () => inRequestSpan(ctx, () => handle(ctx, next)));
  };
}

/** Load balancers probe every few seconds: their requests have no span. */
function inRequestSpan(
  ctx: Koa.ParameterizedContext<RequestState>,
  work: () => Promise<void>,
): Promise<void> {
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

/** The environments that a route exists in; `undefined` for a public route. */
function environmentsOf(route: Route): readonly (Environment | undefined)[] {
  if (route.base === 'merchant') return ENVIRONMENTS;
  return route.base === 'sandbox' ? ['sandbox'] : [undefined];
}

/**
 * Routes requests in two steps, because a router tries every one of its paths: the base path, then
 * the routes below it. The dashboard has more than a hundred.
 */
function createRoutes(routes: readonly Route[], dispatch: ReturnType<typeof createDispatch>) {
  const newTable = () => {
    const router = new Router<RequestState>({ sensitive: true, strict: true });
    return { router, middleware: router.routes() };
  };
  const tables = { sandbox: newTable(), production: newTable(), public: newTable() };
  for (const route of routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const environment of environmentsOf(route)) {
      const base = environment ? BASE_PATHS[environment] : '';
      const { router } = tables[environment ?? 'public'];
      router.register(base + path, [route.method], dispatch(route, environment));
    }
  }
  return (path: string) => tables[environmentOf(path) ?? 'public'];
}

/** The `Allow` header of the matched routes; undefined if no route matches the path. */
function allowOf(layers: readonly { methods: readonly string[] }[]): string | undefined {
  const methods = layers.flatMap((layer) => layer.methods);
  return methods.length === 0 ? undefined : [...new Set([...methods, 'OPTIONS'])].sort().join(', ');
}

/** Answers requests that no route matches: 405 if the path has other methods, else 404. */
function refuseUnmatched(
  gate: MerchantGate,
  responseTimeoutMs: number | undefined,
): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const environment = environmentOf(ctx.path);
    const within = createDeadline(responseTimeoutMs);
    const entry = environment && (await within(() => gate(ctx.req, environment, ctx.state.log)));
    ctx.set(entry?.version.headers ?? {});
    if (entry) addRequestFields({ merchantId: entry.merchant.id });
    const allow = allowOf(ctx.matched ?? []);
    if (allow === undefined) throw errorOf('NOT_FOUND');
    if (ctx.method !== 'OPTIONS') throw new HttpRefusal('METHOD_NOT_ALLOWED', { Allow: allow });
    ctx.set('Allow', allow);
    ctx.status = 204;
  };
}

/** The application, and what the server needs for requests that Koa never sees. */
export type HttpApp = Koa<RequestState> & {
  /** The `Allow` header of a path (without query); undefined if no route has that path. */
  allowOf(path: string): string | undefined;
};

/**
 * Builds the HTTP application: errors, logging, routing, authentication, limits and versions.
 *
 * @throws Error if a trusted proxy is neither an address nor a CIDR range
 */
export function createApp(options: AppOptions): HttpApp {
  const { log, checkResponses, responseTimeoutMs, now = () => new Date() } = options;
  const versions = options.versions ?? createVersionRegistry();
  const clientIp = createClientIp(options.trustedProxies);
  const gate = createMerchantGate({ ...options, clientIp, versions, now });
  const dispatch = createDispatch({ gate, clientIp, checkResponses, responseTimeoutMs, now });
  const routesFor = createRoutes([...healthRoutes(options.readiness), ...options.routes], dispatch);
  const app = new Koa<RequestState>();
  app.on('error', (err: unknown, ctx?: Koa.ParameterizedContext<RequestState>) => {
    log.warn({ err, requestId: ctx?.state.requestId }, 'A connection failed');
  });
  app.use(errorHandler(versions.current, log, now));
  const route: RouterMiddleware<RequestState> = (ctx, next) =>
    routesFor(ctx.path).middleware(ctx, next);
  app.use(route);
  app.use(refuseUnmatched(gate, responseTimeoutMs));
  return Object.assign(app, {
    allowOf: (path: string) => allowOf(routesFor(path).router.match(path, '').path),
  });
}
