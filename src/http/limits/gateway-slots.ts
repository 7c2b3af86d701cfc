import { ENVIRONMENTS, type Environment } from '../../domain/order.ts';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

/** How many requests wait for a payment gateway at the same time in one environment: of one merchant, and of all. */
export const WAITING_FOR_GATEWAY = { ofOne: 8, ofAll: 64, retryAfterSeconds: 5 };

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
   * Does work that waits for a gateway, until it ends.
   *
   * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`, if the merchant or all have as much under way
   */
  hold<Value>(of: OfMerchant, work: () => Promise<Value>): Promise<Value>;
}

/** Creates the {@link GatewaySlots}; the sandbox takes none of production. */
export function createGatewaySlots(): GatewaySlots {
  const slotsOf = Object.fromEntries(
    ENVIRONMENTS.map((environment) => [
      environment,
      createSlots(
        WAITING_FOR_GATEWAY,
        'Too many of your requests wait for the payment gateway: try again in a few seconds',
      ),
    ]),
  ) as Record<Environment, Slots>;
  return {
    async hold({ merchantId, environment }, work) {
      const release = slotsOf[environment].take(merchantId);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
