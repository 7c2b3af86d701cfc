import { Router, type RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { RazorpayError, badRequest, serverError } from './state/entities.ts';
import type { SimulatorLog } from './callbacks/sender.ts';

function isHttpError(error: unknown): error is Error & { status: number; expose: boolean } {
  return error instanceof Error && 'status' in error && 'expose' in error;
}

/** The descriptions of api/qr-codes/create for invalid bodies. */
function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `${issue.keys.join(', ')} is/are not required and should not be sent`;
  }
  const field = issue.path.join('.') || 'input';
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined;
  return isMissing ? `The ${field} field is required.` : `The selected ${field} is invalid.`;
}

function razorpayError(error: unknown): RazorpayError | undefined {
  if (error instanceof RazorpayError) return error;
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return badRequest(issue === undefined ? 'The input is invalid' : describeIssue(issue));
  }
  if (isHttpError(error) && error.status < 500)
    return new RazorpayError(error.status, error.message);
  return undefined;
}

/** Turns every error into an error response of Razorpay's API. */
export function formatErrors(log: SimulatorLog): Middleware {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body == null) {
        throw new RazorpayError(404, 'The requested URL was not found on the server.');
      }
    } catch (error) {
      const known = razorpayError(error);
      if (known === undefined) log.warn({ err: error, path: ctx.path }, 'the simulator failed');
      const answer = known ?? serverError(500);
      ctx.status = answer.status;
      ctx.body = answer.toBody();
    }
  };
}

/** A router that matches paths exactly, and passes every request to its routes through `guards`. */
export function createRouter(guards: readonly Middleware[]): Router {
  const router = new Router({ sensitive: true, strict: true });
  for (const guard of guards) router.use(guard);
  return router;
}

/** What a call brings. */
interface Call {
  /** The id in the path, if it has one. */
  readonly id: string;
  readonly body: unknown;
  readonly query: unknown;
  /** A header of the request; empty if it is absent. */
  readonly header: (name: string) => string;
}

/** Does what a route asks, by method and path. Each returns the body of the answer. */
export type Routes = Readonly<Record<string, (call: Call) => unknown>>;

/** Adds routes. Of two that match, the first one answers. @param prefix of all paths */
export function addRoutes(router: Router, routes: Routes, prefix = ''): void {
  for (const [route, answer] of Object.entries(routes)) {
    const [method = '', path = ''] = route.split(' ');
    router.register(`${prefix}${path}`, [method], async (ctx) => {
      const { params, query } = ctx;
      const body = ctx.request.body ?? {};
      const header = (name: string) => ctx.get(name);
      ctx.body = (await answer({ id: params['id'] ?? '', body, query, header })) ?? {};
    });
  }
}

/** Answers the container's health check, without a line of the log for each. */
export const answerHealth: Middleware = (ctx, next) => {
  if (ctx.path !== '/simulator/health') return next();
  ctx.body = { status: 'ok' };
  return undefined;
};

/** Logs each request, with the declared path of its route. */
export function logRequests(log: SimulatorLog): Middleware {
  return async (ctx, next) => {
    const startedAtMs = performance.now();
    await next();
    const durationMs = Math.round(performance.now() - startedAtMs);
    const { method, status } = ctx;
    const route = (ctx as RouterContext)._matchedRoute;
    log.info({ method, route, status, durationMs }, 'request');
  };
}

/**
 * Refuses requests from pages of other sites: browsers send forms across sites, with known Basic
 * credentials. Programs send neither header. A browser without Sec-Fetch-Site sends the Origin
 * `null` for the form of our page, because that page has the referrer policy `no-referrer`.
 *
 * @throws RazorpayError 403
 */
export const refuseCrossSite: Middleware = async (ctx, next) => {
  const [site, origin] = [ctx.get('sec-fetch-site'), ctx.get('origin')];
  const isSameSite =
    site === ''
      ? ['', 'null', `http://${ctx.host}`, `https://${ctx.host}`].includes(origin)
      : site === 'same-origin' || site === 'none';
  if (!isSameSite && !['GET', 'HEAD'].includes(ctx.method)) {
    throw new RazorpayError(403, 'Requests of other sites are refused');
  }
  await next();
};

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Basic auth with key id and secret. @throws RazorpayError 401 */
export function requireKey(keyId: string, keySecret: string): Middleware {
  const credentials = Buffer.from(`${keyId}:${keySecret}`).toString('base64');
  const expected = digest(`Basic ${credentials}`);
  return async (ctx, next) => {
    if (!timingSafeEqual(digest(ctx.get('authorization')), expected)) {
      throw new RazorpayError(401, 'The api key provided is invalid');
    }
    await next();
  };
}
