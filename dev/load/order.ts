import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Order } from '../../src/orders/schemas.ts';
import type { AcknowledgedOrder, Memory } from './memory.ts';
import type { LoadMerchant } from './merchant.ts';
import type { SimulatorAccess } from './simulator.ts';

/** What texts of requests are replaced with. */
export interface Marks {
  /** @param place what the text is, such as `buyerName` or `deliver note` */
  readonly text: (place: string, usual: string) => string;
  /** Headers of every request. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** What the orders of a run share. */
export interface LoadDeps {
  /** Marks that are searched for afterwards; without them each text is the usual one. */
  readonly marks?: Marks;
  readonly simulator: SimulatorAccess;
  /** The settings of the operators' command line. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memory: Memory;
  /**
   * Whether each act leads where the plan says. If it is open, an act that no longer fits is refused and
   * skipped, and does not wait for its effect.
   */
  readonly outcome: 'known' | 'open';
}

/** An order while its merchant and its buyer act. */
export interface LoadOrder {
  readonly deps: LoadDeps;
  readonly merchant: LoadMerchant;
  readonly amountPaise: number;
  readonly acknowledged: AcknowledgedOrder;
  /** Set by the answer to its creation. */
  orderNumber: string;
  /** The QR code that the buyer saw last. */
  qrCodeId: string;
}

/** A text of a request, marked if the run searches for marks. */
export const marked = ({ marks }: LoadDeps, place: string, usual: string) =>
  marks?.text(place, usual) ?? usual;

/** A new Idempotency-Key. */
export const newKey = (deps: LoadDeps) => marked(deps, 'Idempotency-Key', randomUUID());

/** An order that is not created yet; the run remembers it. */
export function newLoadOrder(
  deps: LoadDeps,
  merchant: LoadMerchant,
  amountPaise: number,
): LoadOrder {
  const acknowledged: AcknowledgedOrder = {
    merchantId: merchant.merchantId,
    idempotencyKey: newKey(deps),
    orderNumbers: new Set(),
    commands: [],
  };
  deps.memory.orders.push(acknowledged);
  return { deps, merchant, amountPaise, acknowledged, orderNumber: '', qrCodeId: '' };
}

/** The wait before the second look; each later one is longer, so that many orders that wait cost little. */
const FIRST_POLL_MS = 500;
const POLL_FACTOR = 1.5;
const LAST_POLL_MS = 8000;
const FOUND_WITHIN_MS = { known: 600_000, open: 0 };

/** Remembers an answer that must not be. */
export function surprise({ deps, orderNumber }: LoadOrder, fault: string): void {
  if (deps.outcome === 'known') deps.memory.surprises.push({ subject: orderNumber, fault });
}

/** The order as its merchant reads it; undefined if there is none. */
export async function readOrder({ merchant, orderNumber }: LoadOrder): Promise<Order | undefined> {
  const path = `/orders/${orderNumber}`;
  const { data } = await merchant.client.untilAnswered({ method: 'GET', path });
  return data ?? undefined;
}

/** Looks until there is something, or the time is up: then that is a surprise. */
export async function untilFound<Found>(
  order: LoadOrder,
  what: string,
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const withinMs = FOUND_WITHIN_MS[order.deps.outcome];
  const endsAt = performance.now() + withinMs;
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * POLL_FACTOR, LAST_POLL_MS)) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > endsAt) {
      surprise(order, `has no ${what} after ${withinMs / 1000} s`);
      return undefined;
    }
    await delay(pollMs);
  }
}
