import type { Announcement, Callbacks } from './callbacks.ts';
import { badRequest } from './entities.ts';
import type { Store, Changes, Row, Table } from './store.ts';

/** Where the simulator reports; pino fits. */
export interface SimulatorLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

export interface GatewaySimulatorOptions {
  host?: string;
  /** 0 takes any free one. */
  port: number;
  keyId: string;
  keySecret: string;
  webhookSecret: string;
  /** Where callbacks go; without it they are made and fail. */
  callbackUrl?: string | undefined;
  /** The journal that outlives the process; without it the state is lost with it. */
  dataFile?: string | undefined;
  /** The address under which a buyer's browser reaches it, if not `http://host:port`. */
  publicUrl?: string | undefined;
  /** Waits between the tries of one callback; Razorpay's go on for a day. */
  callbackRetryDelaysMs?: readonly number[];
  /** Razorpay waits 5 s for the answer to a callback. */
  callbackTimeoutMs?: number;
  /** For everything that is left to chance. */
  seed?: number;
  log?: SimulatorLog;
}

/** How the simulated gateway behaves beyond its faults; forgotten on restart. */
export interface Behaviour {
  /** Refunds stay pending until a control call settles them. */
  refundsStartPending: boolean;
  /** Off: `X-Refund-Idempotency` is ignored, so that a caller's own look-up shows its worth. */
  honourIdempotencyKeys: boolean;
}

/** What the operations work on. */
export interface SimulatedGateway {
  store: Store;
  callbacks: Callbacks;
  behaviour: Behaviour;
  /** Unix seconds. */
  now: () => number;
  /** The address under which browsers reach the pages. */
  publicUrl: () => string;
}

/** Writes the rows and the callbacks about them together, then sends the callbacks. */
export function publish(
  gateway: SimulatedGateway,
  changes: Changes,
  announcements: Announcement[] = [],
): void {
  const plans = announcements.map((one) => gateway.callbacks.plan(one, gateway.now()));
  const events = Object.fromEntries(plans.map(({ event }) => [event.id, event]));
  gateway.store.commit({ ...changes, events });
  for (const plan of plans) gateway.callbacks.dispatch(plan);
}

/** A row that has to be there. @throws RazorpayError 400 in Razorpay's words */
export function existing<Name extends Table>(
  gateway: SimulatedGateway,
  table: Name,
  id: string,
): Row<Name> {
  const row = gateway.store.get(table, id);
  if (row === undefined) throw badRequest('The id provided does not exist');
  return row;
}

const PLATFORM = 'platform';

/** What the platform has of its own, in paise. */
export function platformBalancePaise({ store }: SimulatedGateway): number {
  return store.get('balances', PLATFORM)?.paise ?? 0;
}

/** The change of the platform's own money that goes with some other change. */
export function balanceChange(gateway: SimulatedGateway, deltaPaise: number): Changes {
  return { balances: { [PLATFORM]: { paise: platformBalancePaise(gateway) + deltaPaise } } };
}

const sumOf = (amounts: readonly number[]) => amounts.reduce((sum, amount) => sum + amount, 0);

/**
 * Where all the money is, counted from every entity. `isBalanced` says that what came in is what
 * went back, what merchants have, and what the platform has; and that its balance was kept right.
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
  const goneOrHere = refundedPaise + chargedBackPaise + heldPaise + releasedPaise + platformPaise;
  const isBalanced = capturedPaise === goneOrHere;
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
 * Makes everything that exists older by this much. The clock itself stays, because callers name
 * absolute times by theirs: a QR code opened afterwards must not be born expired.
 */
export function age(gateway: SimulatedGateway, seconds: number): void {
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
