import type { Sql } from '../../db/client.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { OrderRow } from '../rows.ts';
import { readRows } from './find-orders.ts';
import { criterionCondition, recogniseSearch } from './search-text.ts';

/** An operator's search in the orders of all merchants. An absent field matches all. */
export interface OperatorSearch {
  /** An order number, a merchant's own id, an e-mail address, a phone number, a UTR or another reference. */
  text?: string | undefined;
  merchantId?: string | undefined;
}

/**
 * Finds orders of all merchants and both environments, newest first.
 *
 * @param part.after the number of the last order of the previous part
 */
export async function searchAllOrders(
  sql: Sql,
  search: OperatorSearch,
  part: ListPart,
): Promise<ListPage<OrderRow>> {
  const sources = sourcesOf(sql, search, part.after);
  const [first] = sources;
  if (first === undefined) return pageOf<OrderRow>([], part);
  const most = rowsToRead(part);
  // Each part reads the newest rows of one index.
  const newest = sources.map(
    ({ condition, older, order }) => sql`
      (SELECT order_number, created_at FROM orders
      WHERE ${condition} ${part.after === undefined ? sql`` : older}
      ORDER BY ${order} LIMIT ${most})`,
  );
  const union = newest.reduce((all, source) => sql`${all} UNION ${source}`);
  const found = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM (${union}) found
    ORDER BY ${first.order} LIMIT ${most}`;
  const page = pageOf(found, part);
  return { ...page, rows: await readRows(sql, page.rows) };
}

function sourcesOf(sql: Sql, { text = '', merchantId }: OperatorSearch, after = '') {
  const ofMerchant = merchantId ? sql`AND merchant_id = ${merchantId}` : sql``;
  const byTime = {
    order: sql`created_at DESC, order_number DESC`,
    older: sql`AND (created_at, order_number)
      < ((SELECT created_at FROM orders WHERE order_number = ${after}), ${after})`,
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
  // Order numbers sort by time, and no other index has all orders by time.
  const byNumber = { order: sql`order_number DESC`, older: sql`AND order_number < ${after}` };
  return [{ condition: sql`true`, ...byNumber }];
}
