import { bodyParser } from '@koa/bodyparser';
import Koa from 'koa';
import { createServer } from 'node:http';
import { createApiRouter } from './api/routes.ts';
import { createCallbacks } from './callbacks/callbacks.ts';
import { type ControlDeps, createControlRouter } from './control/routes.ts';
import { createFaults } from './faults.ts';
import type { SimulatorLog } from './callbacks/sender.ts';
import type { GatewaySimulatorOptions, SimulatedGateway } from './gateway.ts';
import { createListener } from './listener.ts';
import {
  answerHealth,
  formatErrors,
  logRequests,
  refuseCrossSite,
  requireKey,
} from './middleware.ts';
import { createRandom } from './random.ts';
import { openStore } from './state/store.ts';
import { createUpiRouter } from './upi.ts';

/** The three parts of the simulator: Razorpay's API, the UPI app, and the control API. */
export function createApp(
  deps: ControlDeps,
  options: Pick<GatewaySimulatorOptions, 'keyId' | 'keySecret'>,
  log: SimulatorLog,
): Koa {
  const app = new Koa();
  app.use(answerHealth);
  app.use(logRequests(log));
  app.use(formatErrors(log));
  app.use(refuseCrossSite);
  // Before the faults, so that the work can be done for a client that has disconnected.
  app.use(bodyParser({ enableTypes: ['json', 'form'], jsonLimit: '32kb', formLimit: '4kb' }));
  const key = requireKey(options.keyId, options.keySecret);
  // Formats errors within the faults too, so that a fault can also drop a refusal.
  const api = createApiRouter(deps.gateway, [deps.faults.middleware, formatErrors(log), key]);
  for (const router of [api, createControlRouter(deps, [key]), createUpiRouter(deps.gateway)]) {
    app.use(router.routes());
  }
  return app;
}

export type { GatewaySimulatorOptions } from './gateway.ts';

const SILENT: SimulatorLog = { info: () => undefined, warn: () => undefined };
/** Half a minute in total; Razorpay retries for a day. */
const RETRY_DELAYS_MS = [200, 1000, 3000, 10_000, 15_000];
const CALLBACK_TIMEOUT_MS = 5000;

const unixSeconds = () => Math.floor(Date.now() / 1000);

function openGateway(options: GatewaySimulatorOptions, log: SimulatorLog) {
  const { callbackUrl, callbackEvents, webhookSecret, dataFile, seed = 1 } = options;
  const random = createRandom(seed);
  const store = openStore(dataFile);
  const callbacks = createCallbacks({
    store,
    callbackUrl,
    callbackEvents,
    webhookSecret,
    retryDelaysMs: options.callbackRetryDelaysMs ?? RETRY_DELAYS_MS,
    timeoutMs: options.callbackTimeoutMs ?? CALLBACK_TIMEOUT_MS,
    random,
    log,
  });
  return { store, callbacks, random, now: unixSeconds };
}

/**
 * Starts a simulated UPI payment gateway: the part of Razorpay's HTTP API that our adapter uses, with
 * the same shapes, signatures and refusals; a page that acts as the buyer's UPI app; and a control
 * API under `/simulator` for faults. It does not depend on the service. Its entities and switches survive
 * a kill; faults and the disturbances of callbacks do not survive a restart.
 */
export async function createGatewaySimulator(options: GatewaySimulatorOptions) {
  const { host = '127.0.0.1', port, log = SILENT } = options;
  const { random, ...rest } = openGateway(options, log);
  const listener = createListener(createServer(), { host, port });
  const gateway: SimulatedGateway = {
    ...rest,
    publicUrl: () => options.publicUrl ?? listener.url(),
  };
  const faults = createFaults(random);
  const app = createApp({ gateway, faults, random }, options, log);
  listener.server.on('request', app.callback());
  await listener.open();
  gateway.callbacks.resume();
  log.info({ url: listener.url() }, 'the gateway simulator listens');

  return {
    /** `http://host:port`: the base address for the adapter. */
    url: listener.url(),
    /** Refuses connections, as a machine that is down does, until `acceptConnections`. */
    refuseConnections: listener.close,
    acceptConnections: listener.open,
    callbacksIdle: gateway.callbacks.idle,
    /** Stops; unsent callbacks stay in the data file for the next start. */
    async close(): Promise<void> {
      await listener.close();
      await gateway.callbacks.close();
      gateway.store.close();
    },
  };
}
