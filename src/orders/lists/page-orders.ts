import type { Fragment } from 'postgres';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { MOST_NUMBERED, pageOf, rowsToRead } from '../../db/list-part.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';
import { boundsOf, listOrders } from './list-orders.ts';
import type { MerchantSearch, OrderOwner } from './search-orders.ts';
import { foundQuery, readFound } from './search-orders.ts';

/** The ways to sort a list of orders. The first is the default. */
export const ORDER_SORTS = ['newest', 'oldest', 'largest', 'smallest'] as const;
export type OrderSort = (typeof ORDER_SORTS)[number];

export interface OrdersPage extends ListPage<OrderRow> {
  sort: OrderSort;
  sorts: readonly OrderSort[];
  /** The sum over all orders of the list. Null if they are too many to add up. */
  totalPaise: number | null;
  /** The number of orders in each status within the searched days. Undefined in a search for a text. */
  counts: Record<OrderStatus, number> | undefined;
}

/**
 * Reads a page of a merchant's orders. The blocks of docs/adr/0006 count orders by status, so the pages of a list
 * without a text are numbered, however long it is. A list can be sorted by amount only up to {@link MOST_NUMBERED}
 * orders, which are all read: the blocks have no amounts, and an index by amount would have to be written with every
 * new order. A search for a text is counted up to the same number.
 *
 * @param sort ignored if the list cannot be sorted this way
 */
export async function pageOrders(
  sql: Sql,
  owner: OrderOwner,
  search: MerchantSearch,
  part: ListPart,
  sort: OrderSort,
): Promise<OrdersPage> {
  const hasText = (search.text ?? '').trim() !== '';
  const counts = hasText ? undefined : await countByStatus(sql, owner, search);
  const count = counts && countOf(counts, search.status);
  if (count === undefined || count <= MOST_NUMBERED || part.after !== undefined) {
    return { ...(await pageOfFew(sql, owner, search, part, sort)), counts };
  }
  const sorts = ['newest', 'oldest'] as const;
  const applied = sort === 'oldest' ? 'oldest' : 'newest';
  const rows = await pageOfMany(sql, { ...search, ...owner }, part, { sort: applied, count });
  const hasMore = count > part.skip + part.limit;
  const total = { count, isMore: false };
  return { rows, total, hasMore, sort: applied, sorts, totalPaise: null, counts };
}

const countOf = (counts: Record<OrderStatus, number>, status: OrderStatus | undefined) =>
  status === undefined ? Object.values(counts).reduce((sum, one) => sum + one, 0) : counts[status];

/** Counts a merchant's orders by status. At most two blocks of them are counted one by one. */
async function countByStatus(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  search: MerchantSearch,
): Promise<Record<OrderStatus, number>> {
  const { from, to } = boundsOf(sql, search);
  const before = (at: Fragment) => sql`count_orders_before(${merchantId}, ${environment}, ${at})`;
  const [row] = await sql<[{ counts: Record<OrderStatus, number> }]>`
    SELECT json_object_agg(status, greatest(until.orders - since.orders, 0)) AS counts
    FROM ${before(to)} AS until JOIN ${before(from)} AS since USING (status)`;
  return row.counts;
}

/** Reads oldest first as newest first from the other end. */
async function pageOfMany(
  sql: Sql,
  filter: OrderOwner & MerchantSearch,
  { skip, limit }: ListPart,
  { sort, count }: { sort: 'newest' | 'oldest'; count: number },
): Promise<OrderRow[]> {
  if (sort === 'newest') return (await listOrders(sql, filter, { skip, size: limit })).orders;
  const size = Math.min(limit, count - skip);
  if (size <= 0) return [];
  const { orders } = await listOrders(sql, filter, { skip: count - skip - size, size });
  return orders.toReversed();
}

interface FoundKey {
  orderNumber: string;
  amountPaise: number;
}

const SORTED: Record<OrderSort, (newestFirst: readonly FoundKey[]) => readonly FoundKey[]> = {
  newest: (keys) => keys,
  oldest: (keys) => keys.toReversed(),
  largest: (keys) => keys.toSorted((one, two) => two.amountPaise - one.amountPaise),
  smallest: (keys) => keys.toSorted((one, two) => one.amountPaise - two.amountPaise),
};

/** Reads the keys of all orders of a list, up to a limit, and then the rows of the page. */
async function pageOfFew(
  sql: Sql,
  owner: OrderOwner,
  search: MerchantSearch,
  part: ListPart,
  asked: OrderSort,
): Promise<Omit<OrdersPage, 'counts'>> {
  const found = { before: part.after, limit: rowsToRead(part) };
  const keys = await sql<FoundKey[]>`${foundQuery(sql, owner, search, found)}`;
  const isWhole = part.after === undefined && keys.length <= MOST_NUMBERED;
  const sort = isWhole ? asked : 'newest';
  const page = pageOf(SORTED[sort](keys), part);
  return {
    ...page,
    rows: await readFound(sql, page.rows),
    sort,
    sorts: isWhole ? ORDER_SORTS : ['newest'],
    totalPaise: isWhole ? keys.reduce((sum, { amountPaise }) => sum + amountPaise, 0) : null,
  };
}
