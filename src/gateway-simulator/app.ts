import { bodyParser } from '@koa/bodyparser';
import Koa from 'koa';
import { createApiRouter } from './api-routes.ts';
import { createControlRouter } from './control-routes.ts';
import type { ControlDeps } from './control-routes.ts';
import { answerErrors, logRequests, refuseCrossSite, requireKey } from './middleware.ts';
import type { GatewaySimulatorOptions, SimulatorLog } from './options.ts';
import { createUpiRouter } from './upi-routes.ts';

/** The three faces of the simulator: Razorpay's API, the UPI app, and the controls. */
export function createApp(
  deps: ControlDeps,
  options: Pick<GatewaySimulatorOptions, 'keyId' | 'keySecret'>,
  log: SimulatorLog,
): Koa {
  const app = new Koa();
  app.use(logRequests(log));
  app.use(answerErrors(log));
  app.use(refuseCrossSite);
  // Read before the faults, so that work can still be done for a client that has gone.
  app.use(bodyParser({ enableTypes: ['json', 'form'], jsonLimit: '32kb', formLimit: '4kb' }));
  const key = requireKey(options.keyId, options.keySecret);
  // Errors once more, so that a refusal inside is an answer that a fault can drop like any other.
  const api = createApiRouter(deps.world, [deps.faults.middleware, answerErrors(log), key]);
  for (const router of [api, createControlRouter(deps, [key]), createUpiRouter(deps.world)]) {
    app.use(router.routes());
  }
  return app;
}
