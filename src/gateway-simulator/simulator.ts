import { createServer } from 'node:http';
import { createApp } from './app.ts';
import { openBook } from './book.ts';
import { createCallbacks } from './callbacks.ts';
import { createFaults } from './faults.ts';
import { createListener } from './listener.ts';
import type { GatewaySimulatorOptions, SimulatorLog } from './options.ts';
import { createRandom } from './random.ts';
import type { World } from './world.ts';

export type { GatewaySimulatorOptions, SimulatorLog } from './options.ts';

/** A running simulator. */
export interface GatewaySimulator {
  /** `http://host:port`: the base address for the adapter. */
  url: string;
  /** Refuses connections, as a machine that is down does, until `acceptConnections`. */
  refuseConnections(): Promise<void>;
  acceptConnections(): Promise<void>;
  /** Once no callback is on its way any more. */
  callbacksSettled(): Promise<void>;
  /** Stops; undelivered callbacks stay in the data file for the next start. */
  close(): Promise<void>;
}

const SILENT: SimulatorLog = { info: () => undefined, warn: () => undefined };
/** Half a minute in all, where Razorpay goes on for a day. */
const RETRY_DELAYS_MS = [200, 1000, 3000, 10_000, 15_000];
const CALLBACK_TIMEOUT_MS = 5000;

const unixSeconds = () => Math.floor(Date.now() / 1000);

function openWorld(options: GatewaySimulatorOptions, log: SimulatorLog) {
  const { callbackUrl, webhookSecret, dataFile, seed = 1 } = options;
  const random = createRandom(seed);
  const book = openBook(dataFile);
  const callbacks = createCallbacks({
    book,
    callbackUrl,
    webhookSecret,
    retryDelaysMs: options.callbackRetryDelaysMs ?? RETRY_DELAYS_MS,
    timeoutMs: options.callbackTimeoutMs ?? CALLBACK_TIMEOUT_MS,
    random,
    log,
  });
  const behaviour = { refundsStartPending: false, honourIdempotencyKeys: true };
  return { book, callbacks, random, behaviour, now: unixSeconds };
}

/**
 * Starts a UPI payment gateway that moves no money: the part of Razorpay's HTTP API that our
 * adapter uses, with the same shapes, signatures and refusals, a page that plays the buyer's UPI
 * app, and controls under `/simulator` for everything that can go wrong. It knows nothing of us.
 * What it has booked survives a kill; faults and other switches do not survive a restart.
 */
export async function createGatewaySimulator(
  options: GatewaySimulatorOptions,
): Promise<GatewaySimulator> {
  const { host = '127.0.0.1', port, log = SILENT } = options;
  const { random, ...rest } = openWorld(options, log);
  const listener = createListener(createServer(), { host, port });
  const world: World = { ...rest, publicUrl: () => options.publicUrl ?? listener.url() };
  const faults = createFaults(random);
  const { refuseConnectionsFor } = listener;
  const app = createApp({ world, faults, random, refuseConnectionsFor }, options, log);
  listener.server.on('request', app.callback());
  await listener.open();
  world.callbacks.resume();
  log.info({ url: listener.url() }, 'the gateway simulator listens');

  return {
    url: listener.url(),
    refuseConnections: listener.shut,
    acceptConnections: listener.open,
    callbacksSettled: () => world.callbacks.settled(),
    async close() {
      await listener.shut();
      await world.callbacks.close();
      world.book.close();
    },
  };
}
