import type { NewEvent, Callbacks } from './callbacks.ts';
import { badRequest } from './entities.ts';
import type { Store, Changes, Row, Table } from './store.ts';

/** The simulator's logger; pino implements it. */
export interface SimulatorLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

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
  /** The waits between attempts of one callback; Razorpay retries for a day. */
  callbackRetryDelaysMs?: readonly number[];
  /** Razorpay waits 5 s for the response to a callback. */
  callbackTimeoutMs?: number;
  /** The seed of random faults and disturbances. */
  seed?: number;
  log?: SimulatorLog;
}

/** Switches of the simulated gateway, which a restart resets. */
export interface Behaviour {
  /** Refunds stay pending until a control call ends them. */
  refundsStartPending: boolean;
  /** When false, `X-Refund-Idempotency` is ignored, to test the caller's look-up of earlier refunds. */
  honourIdempotencyKeys: boolean;
}

/** The state and environment of all operations. */
export interface SimulatedGateway {
  store: Store;
  callbacks: Callbacks;
  behaviour: Behaviour;
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
  const plans = newEvents.map((one) => gateway.callbacks.plan(one, gateway.now()));
  const events = Object.fromEntries(plans.map(({ event }) => [event.id, event]));
  gateway.store.commit({ ...changes, events });
  for (const plan of plans) gateway.callbacks.dispatch(plan);
}

/** The row with this id. @throws RazorpayError 400 when there is none */
export function requireRow<Name extends Table>(
  gateway: SimulatedGateway,
  table: Name,
  id: string,
): Row<Name> {
  const row = gateway.store.get(table, id);
  if (row === undefined) throw badRequest('The id provided does not exist');
  return row;
}

const PLATFORM = 'platform';

/** The platform's balance in paise. */
export function platformBalancePaise({ store }: SimulatedGateway): number {
  return store.get('balances', PLATFORM)?.paise ?? 0;
}

/** The change of the platform's balance, to be stored with other changes. */
export function balanceChange(gateway: SimulatedGateway, deltaPaise: number): Changes {
  return { balances: { [PLATFORM]: { paise: platformBalancePaise(gateway) + deltaPaise } } };
}

const sumOf = (amounts: readonly number[]) => amounts.reduce((sum, amount) => sum + amount, 0);

/**
 * The sums of all entities in paise. `isBalanced`: the captures equal the refunds, chargebacks,
 * transfers and the platform's balance.
 */
export function totals(gateway: SimulatedGateway) {
  const payments = gateway.store.all('payments').map(({ entity }) => entity);
  const refunds = gateway.store.all('refunds').map(({ entity }) => entity);
  const transfers = gateway.store.all('transfers').map(({ entity }) => entity);
  const disputes = gateway.store.all('disputes').map(({ entity }) => entity);
  const held = transfers.filter(({ on_hold }) => on_hold);
  const withMerchants = (list: typeof transfers) =>
    sumOf(list.map(({ amount, amount_reversed }) => amount - amount_reversed));
  const capturedPaise = sumOf(payments.filter((one) => one.captured).map(({ amount }) => amount));
  const refundedPaise = sumOf(
    refunds.filter(({ status }) => status !== 'failed').map(({ amount }) => amount),
  );
  const chargedBackPaise = sumOf(disputes.map(({ amount_deducted: paise }) => paise));
  const heldPaise = withMerchants(held);
  const releasedPaise = withMerchants(transfers) - heldPaise;
  const platformPaise = platformBalancePaise(gateway);
  const accountedPaise =
    refundedPaise + chargedBackPaise + heldPaise + releasedPaise + platformPaise;
  const isBalanced = capturedPaise === accountedPaise;
  return {
    capturedPaise,
    refundedPaise,
    chargedBackPaise,
    heldPaise,
    releasedPaise,
    platformPaise,
    refunds: refunds.length,
    transfers: transfers.length,
    isBalanced,
  };
}

/**
 * Moves the times of all QR codes and payments into the past. The clock does not change, because
 * callers send absolute times: a QR code created afterwards must not be expired.
 */
export function ageEntities(gateway: SimulatedGateway, seconds: number): void {
  const qrCodes = gateway.store.all('qrCodes').map(({ entity, paymentIds }) => {
    const { created_at, close_by } = entity;
    const older = { created_at: created_at - seconds, close_by: close_by - seconds };
    return [entity.id, { entity: { ...entity, ...older }, paymentIds }] as const;
  });
  const payments = gateway.store.all('payments').map(({ entity, ...rest }) => {
    const created_at = entity.created_at - seconds;
    return [entity.id, { entity: { ...entity, created_at }, ...rest }] as const;
  });
  publish(gateway, {
    qrCodes: Object.fromEntries(qrCodes),
    payments: Object.fromEntries(payments),
  });
}
