import { bodyParser } from '@koa/bodyparser';
import Koa from 'koa';
import type { Middleware } from 'koa';
import { createApiRouter } from './api-routes.ts';
import { createControlRouter } from './control-routes.ts';
import type { ControlDeps } from './control-routes.ts';
import { answerErrors, requireKey } from './middleware.ts';
import type { GatewaySimulatorOptions, SimulatorLog } from './options.ts';
import { createUpiRouter } from './upi-routes.ts';

const under =
  (prefix: RegExp, middleware: Middleware): Middleware =>
  (ctx, next) =>
    prefix.test(ctx.path) ? middleware(ctx, next) : next();

const API = /^\/v[12]\//;
const API_AND_CONTROLS = /^\/(v[12]|simulator)\//;

/** The three faces of the simulator: Razorpay's API, the UPI app, and the controls. */
export function createApp(
  deps: ControlDeps,
  options: Pick<GatewaySimulatorOptions, 'keyId' | 'keySecret'>,
  log: SimulatorLog,
): Koa {
  const app = new Koa();
  app.use(answerErrors(log));
  // Read before the faults, so that work can still be done for a client that has gone.
  app.use(bodyParser({ enableTypes: ['json', 'form'], jsonLimit: '32kb', formLimit: '4kb' }));
  app.use(under(API, deps.faults.middleware));
  // Once more, so that a refusal inside is an answer that a fault can drop like any other.
  app.use(answerErrors(log));
  app.use(under(API_AND_CONTROLS, requireKey(options.keyId, options.keySecret)));
  for (const router of [
    createApiRouter(deps.world),
    createControlRouter(deps),
    createUpiRouter(deps.world),
  ]) {
    app.use(router.routes());
  }
  return app;
}
