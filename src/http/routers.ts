import { Router } from '@koa/router';
import { ENVIRONMENTS, type Environment } from '../domain/order.ts';
import { BASE_PATHS, environmentOf } from './base-paths.ts';
import type { Route } from './define-route.ts';
import type { HttpContext, RequestState, RouteMiddleware } from './request-state.ts';
import { describe, type createRouteMiddlewares } from './route-middlewares.ts';

/** The environments that a route exists in; `undefined` for a public route. */
function environmentsOf(route: Route): readonly (Environment | undefined)[] {
  if (route.base === 'merchant') return ENVIRONMENTS;
  return route.base === 'sandbox' ? ['sandbox'] : [undefined];
}

/** The routes of the application, by method and path. */
export interface Routers {
  readonly middleware: RouteMiddleware;
  /** Names the route of a request that was refused before its route was reached. */
  describe(ctx: HttpContext): void;
  /** The `Allow` header of a path (without query); undefined if no route has that path. */
  allowOf(path: string): string | undefined;
}

/**
 * Routes requests in two steps, because a router tries every one of its paths: the base path, then
 * the routes below it. The dashboard has more than a hundred.
 */
export function createRouters(
  routes: readonly Route[],
  middlewaresOf: ReturnType<typeof createRouteMiddlewares>,
): Routers {
  const newTable = () => {
    const router = new Router<RequestState>({ sensitive: true, strict: true });
    return { router, middleware: router.routes() };
  };
  const tables = { sandbox: newTable(), production: newTable(), public: newTable() };
  const tableOf = (path: string) => tables[environmentOf(path) ?? 'public'];
  for (const route of routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const environment of environmentsOf(route)) {
      const base = environment ? BASE_PATHS[environment] : '';
      const { router } = tables[environment ?? 'public'];
      const name = route.operationId;
      router.register(base + path, [route.method], middlewaresOf(route, environment), { name });
    }
  }
  return {
    middleware: (ctx, next) => tableOf(ctx.path).middleware(ctx, next),
    describe({ path, method, state }) {
      const [matched] = tableOf(path).router.match(path, method).pathAndMethod;
      const route = routes.find(({ operationId }) => operationId === matched?.name);
      if (route) describe(state, route, state.environment);
    },
    allowOf(path) {
      const layers = tableOf(path).router.match(path, '').path;
      const methods = new Set(layers.flatMap((layer) => layer.methods));
      return methods.size === 0 ? undefined : [...methods.add('OPTIONS')].sort().join(', ');
    },
  };
}
