import type { Sql } from '../../db/client.ts';
import type { FoundOrder } from './find-orders.ts';
import { FOUND_COLUMNS } from './find-orders.ts';
import { criterionCondition, recogniseSearch } from './search-text.ts';

/** An operator's search in the orders of all merchants; an absent field matches all. */
export interface OperatorSearch {
  /** A number, the merchant's own id, an e-mail, a phone number, a UTR or another reference. */
  text?: string | undefined;
  merchantId?: string | undefined;
  /** The number of the last order of the page before. */
  before?: string | undefined;
}

/**
 * Finds orders of all merchants and both environments, newest first.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function searchAllOrders(
  sql: Sql,
  search: OperatorSearch,
  limit: number,
): Promise<{ orders: FoundOrder[]; hasMore: boolean }> {
  const parts = partsOf(sql, search);
  if (parts.length === 0) return { orders: [], hasMore: false };
  const most = limit + 1;
  // Each part reads the newest rows of one index.
  const newest = parts.map(
    ({ condition, older, order }) => sql`
      (SELECT ${sql(FOUND_COLUMNS)} FROM orders
      WHERE ${condition} ${search.before === undefined ? sql`` : older}
      ORDER BY ${order} LIMIT ${most})`,
  );
  const union = newest.reduce((all, part) => sql`${all} UNION ${part}`);
  const rows = await sql<FoundOrder[]>`
    SELECT * FROM (${union}) found ORDER BY created_at DESC, order_number DESC LIMIT ${most}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}

function partsOf(sql: Sql, { text = '', merchantId, before = '' }: OperatorSearch) {
  const ofMerchant = merchantId ? sql`AND merchant_id = ${merchantId}` : sql``;
  const byTime = {
    order: sql`created_at DESC, order_number DESC`,
    older: sql`AND (created_at, order_number)
      < ((SELECT created_at FROM orders WHERE order_number = ${before}), ${before})`,
  };
  if (text.trim() !== '') {
    return recogniseSearch(text).map((criterion) => ({
      condition: sql`${criterionCondition(sql, criterion)} ${ofMerchant}`,
      ...byTime,
    }));
  }
  if (merchantId) {
    return (['sandbox', 'production'] as const).map((environment) => ({
      condition: sql`merchant_id = ${merchantId} AND environment = ${environment}`,
      ...byTime,
    }));
  }
  // Order numbers sort by their time, and no other index has all orders in the order of time.
  const byNumber = { order: sql`order_number DESC`, older: sql`AND order_number < ${before}` };
  return [{ condition: sql`true`, ...byNumber }];
}
