import { setTimeout as delay } from 'node:timers/promises';
import type { Order } from '../../src/orders/schemas.ts';
import type { Memory, AcknowledgedOrder } from '../load/memory.ts';
import type { MerchantClient } from '../load/client.ts';
import type { LoadMerchant } from '../load/merchant.ts';
import type { SimulatorAccess } from '../load/simulator.ts';
import type { OrderPlan } from './order-plan.ts';

/** What the orders of a run share. */
export interface OrderRunDeps {
  readonly merchants: readonly LoadMerchant[];
  readonly simulator: SimulatorAccess;
  /** The settings of the operators' command line. */
  readonly environment: Readonly<Record<string, string>>;
  readonly acknowledged: Memory;
}

/** An order while its plan is carried out. */
export interface RunningOrder {
  readonly deps: OrderRunDeps;
  readonly plan: OrderPlan;
  readonly client: MerchantClient;
  readonly memory: AcknowledgedOrder;
  /** Set by the answer to its creation. */
  orderNumber: string;
  qrCodeId: string;
}

/** The wait before the second look; each later one is longer, so that many orders that wait cost little. */
const FIRST_POLL_MS = 500;
const POLL_FACTOR = 1.5;
const LAST_POLL_MS = 8000;
const FOUND_WITHIN_MS = 600_000;

/** Remembers an answer that must not be. */
export const surprise = ({ deps, orderNumber }: RunningOrder, fault: string) =>
  deps.acknowledged.surprises.push({ subject: orderNumber, fault });

/** The order as its merchant reads it. */
export async function readOrder({ client, orderNumber }: RunningOrder): Promise<Order> {
  const path = `/orders/${orderNumber}`;
  const { status, message, data } = await client.untilAnswered({ method: 'GET', path });
  if (data === null) throw new Error(`${path}: ${status} ${message}`);
  return data;
}

/** Looks until there is something, or ten minutes are over: then that is a surprise. */
export async function untilFound<Found>(
  order: RunningOrder,
  what: string,
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const endsAt = performance.now() + FOUND_WITHIN_MS;
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * POLL_FACTOR, LAST_POLL_MS)) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > endsAt) {
      surprise(order, `has no ${what} after ${FOUND_WITHIN_MS / 1000} s`);
      return undefined;
    }
    await delay(pollMs);
  }
}
