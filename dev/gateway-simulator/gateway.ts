import type { NewEvent, Callbacks } from './callbacks/callbacks.ts';
import type { SimulatorLog } from './callbacks/sender.ts';
import type { Store, Changes } from './state/store.ts';

/** How to run a simulator. */
export interface GatewaySimulatorOptions {
  host?: string;
  /** 0 selects a free port. */
  port: number;
  keyId: string;
  keySecret: string;
  webhookSecret: string;
  /** Where callbacks are sent; without it they are created and fail. */
  callbackUrl?: string | undefined;
  /** The journal of the state; without it the state is lost when the process ends. */
  dataFile?: string | undefined;
  /** The URL at which a buyer's browser reaches it, if not `http://host:port`. */
  publicUrl?: string | undefined;
  /** The events that were chosen for the callbacks in the dashboard; all, if undefined. */
  callbackEvents?: readonly string[] | undefined;
  /** The waits between attempts of one callback; Razorpay retries for a day. */
  callbackRetryDelaysMs?: readonly number[];
  /** Razorpay waits 5 s for the response to a callback. */
  callbackTimeoutMs?: number;
  /** The seed of random faults and disturbances. */
  seed?: number;
  log?: SimulatorLog;
}

/** The state and environment of all operations. */
export interface SimulatedGateway {
  store: Store;
  callbacks: Callbacks;
  /** Unix seconds. */
  now: () => number;
  /** The URL at which browsers reach the pages. */
  publicUrl: () => string;
}

/** Stores rows and their callbacks atomically, then sends the callbacks. */
export function publish(
  gateway: SimulatedGateway,
  changes: Changes,
  newEvents: NewEvent[] = [],
): void {
  const chosen = newEvents.filter(({ name }) => gateway.callbacks.isChosen(name));
  const plans = chosen.map((one) => gateway.callbacks.plan(one, gateway.now()));
  const events = Object.fromEntries(plans.map(({ event }) => [event.id, event]));
  gateway.store.commit({ ...changes, events });
  for (const plan of plans) gateway.callbacks.dispatch(plan);
}
