import { ENVIRONMENTS, type Environment } from '../../domain/order.ts';
import { createLimiter, type Limiter } from '../../limiter.ts';
import { HttpRefusal } from '../responses/errors.ts';

/** How many requests wait for a payment gateway at the same time in one environment: of one merchant, and of all. */
export const WAITING_FOR_GATEWAY = { ofOne: 16, ofAll: 64 };

/** How long a request waits for a slot: a gateway that works frees several in that time. */
const SLOT_TIMEOUT_MS = 400;
const RETRY_AFTER_SECONDS = 5;

/** Whose orders a request is about. */
interface OfMerchant {
  readonly merchantId: string;
  readonly environment: Environment;
}

/**
 * Limits the requests that wait for a gateway's answer. They take no turn of those that change orders, so
 * that a gateway which does not answer delays no other request, and one merchant leaves slots to others.
 */
export interface GatewaySlots {
  /**
   * Does work that waits for a gateway, until it ends. It waits for a slot of the merchant for at most 0.4 s.
   *
   * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`, if the merchant or all have as much under way
   */
  hold<Value>(of: OfMerchant, work: () => Promise<Value>): Promise<Value>;
}

/** Creates the {@link GatewaySlots}; the sandbox takes none of production. */
export function createGatewaySlots(): GatewaySlots {
  const limits = { ...WAITING_FOR_GATEWAY, maxWaitMs: SLOT_TIMEOUT_MS };
  const slots = Object.fromEntries(
    ENVIRONMENTS.map((one) => [one, createLimiter(limits, tooMany)]),
  ) as Record<Environment, Limiter>;
  return { hold: ({ merchantId, environment }, work) => slots[environment].run(merchantId, work) };
}

const tooMany = () =>
  new HttpRefusal(
    'TOO_MANY_REQUESTS',
    { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    'Too many of your requests wait for the payment gateway: try again in a few seconds',
  );
