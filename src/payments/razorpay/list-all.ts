import type { z } from 'zod';
import { valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { collectionOf } from './schemas.ts';

/** The most items that Razorpay returns in one response (api/understand, "Pagination"). */
const PAGE_SIZE = 100;

/**
 * Fetches all items of a collection, page by page, newest first.
 *
 * @param source.from only items created since this time, in Unix seconds
 * @throws GatewayUnavailable or GatewayRefused
 */
export async function listAll<Item>(
  client: RazorpayClient,
  operation: string,
  source: { path: string; from?: number; signal?: AbortSignal },
  item: z.ZodType<Item>,
): Promise<Item[]> {
  const { path, from, signal } = source;
  const schema = collectionOf(item);
  const all: Item[] = [];
  for (;;) {
    const query = { count: PAGE_SIZE, skip: all.length, ...(from !== undefined && { from }) };
    const call = { method: 'GET', path, query, ...(signal && { signal }) } as const;
    const { items } = valueOf(operation, await client.call(call, schema));
    all.push(...items);
    if (items.length < PAGE_SIZE) return all;
  }
}
