import type { z } from 'zod';
import { GatewayNotUnderstood } from '../gateway/gateway.ts';
import { unknownForm, valueOf } from './client.ts';
import type { Call, RazorpayClient } from './client.ts';
import { anyCollection } from './schemas.ts';

/** Razorpay returns at most this many items in one response (api/understand, "Pagination"). */
const PAGE_SIZE = 100;

/** True if a list remains valid without this item of unknown form. */
export type MayLeaveOut<Item> = (item: unknown, read: readonly Item[]) => boolean;

export interface ListSource<Item> extends Pick<Call, 'path' | 'query' | 'signal'> {
  /** False if the list comes in one answer. */
  isPaged?: boolean;
  /** By default, no item may be left out. */
  mayLeaveOut?: MayLeaveOut<Item>;
}

async function fetchAll<Item>(
  client: RazorpayClient,
  operation: string,
  { path, query, signal, isPaged = true }: ListSource<Item>,
): Promise<unknown[]> {
  const all: unknown[] = [];
  for (;;) {
    const page = isPaged ? { count: PAGE_SIZE, skip: all.length } : {};
    const call = { path, query: { ...query, ...page }, ...(signal && { signal }) };
    const answer = await client.call({ method: 'GET', ...call }, anyCollection);
    const { items } = valueOf(operation, answer);
    all.push(...items);
    if (!isPaged || items.length < PAGE_SIZE) return all;
  }
}

/**
 * Fetches all items of a collection, page by page, newest first. An item of unknown form is reported, and left out
 * if `mayLeaveOut` allows it.
 *
 * @throws GatewayUnavailable, GatewayRefused, GatewayNotUnderstood
 */
export async function listAll<Item>(
  client: RazorpayClient,
  operation: string,
  source: ListSource<Item>,
  schema: z.ZodType<Item>,
): Promise<Item[]> {
  const read: Item[] = [];
  const unread: { item: unknown; cause: Error }[] = [];
  for (const item of await fetchAll(client, operation, source)) {
    const parsed = schema.safeParse(item);
    if (parsed.success) read.push(parsed.data);
    else unread.push({ item, cause: unknownForm(item, parsed.error) });
  }
  for (const { item, cause } of unread) {
    if (!source.mayLeaveOut?.(item, read)) {
      throw new GatewayNotUnderstood(operation, 'an item of a list of unknown form', { cause });
    }
    await client.onNotUnderstood(operation, cause);
  }
  return read;
}
