import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { MerchantSearch, OrderOwner } from './search-orders.ts';

/** Which of a merchant's orders to list. An absent field matches all. */
export interface OrderFilter extends OrderOwner, Omit<MerchantSearch, 'text'> {
  merchantOrderId?: string | undefined;
  /** Case-insensitive. */
  buyerEmail?: string | undefined;
}

export interface OrderPage {
  /** The number of orders before the page. */
  skip: number;
  size: number;
  /** The merchant's order before the page; `skip` is then 0. */
  after?: string | undefined;
}

/**
 * Reads one page of orders, newest first, and the number of orders on all pages. Both come from one statement, so
 * they are consistent. The cost depends little on the number of orders or on the page number:
 * docs/adr/0006-listing-a-million-orders.md.
 */
export async function listOrders(
  sql: Sql,
  filter: OrderFilter,
  page: OrderPage,
): Promise<{ orders: OrderRow[]; totalElements: number; hasMore: boolean }> {
  const rows = await sql<(OrderRow & { total: number })[]>`${orderPageQuery(sql, filter, page)}`;
  // Beyond the last page there is a single row, with the total and no order.
  const found = rows.filter((row) => row.orderNumber !== null);
  const orders = found.slice(0, page.size);
  return { orders, totalElements: rows[0]?.total ?? 0, hasMore: found.length > page.size };
}

function conditionsOf(sql: Sql, filter: OrderFilter) {
  const { merchantId, environment, status, merchantOrderId, buyerEmail } = filter;
  return sql`merchant_id = ${merchantId} AND environment = ${environment}
    ${status === undefined ? sql`` : sql`AND status = ${status}`}
    ${merchantOrderId === undefined ? sql`` : sql`AND merchant_order_id = ${merchantOrderId}`}
    ${buyerEmail === undefined ? sql`` : sql`AND lower(buyer_email) = lower(${buyerEmail})`}`;
}

/** The bounds of the creation time; an absent one is infinite. */
export function boundsOf(
  sql: Sql,
  { createdFrom, createdTo }: Pick<OrderFilter, 'createdFrom' | 'createdTo'>,
) {
  return {
    from: createdFrom ? sql`${createdFrom}::timestamptz` : sql`'-infinity'::timestamptz`,
    to: createdTo ? sql`${createdTo}::timestamptz` : sql`'infinity'::timestamptz`,
  };
}

/** The creation time and number at which a page begins, and the condition of the page's orders. */
function beginningOf(sql: Sql, { after }: OrderPage, to: Fragment) {
  const place = sql`(newest.created_at, newest.order_number)`;
  if (after === undefined) {
    return { newest: sql`newest`, isInPage: sql`(created_at, order_number) <= ${place}` };
  }
  return {
    newest: sql`(SELECT created_at, order_number FROM orders WHERE order_number = ${after}) AS newest`,
    isInPage: sql`(created_at, order_number) < ${place} AND created_at < ${to}`,
  };
}

/**
 * The statement of {@link listOrders}; exported because the benchmark runs EXPLAIN on it.
 *
 * Each block within the bounds stores its number of orders. So the statement counts orders one by one only between a
 * bound and the nearest block, and skips orders only within one block or one of those edges. The blocks have no
 * counts by a merchant's own order id or by buyer; few orders share these, so all are counted.
 */
export function orderPageQuery(sql: Sql, filter: OrderFilter, page: OrderPage) {
  const { merchantId, environment, status, merchantOrderId, buyerEmail } = filter;
  const hasCounts = merchantOrderId === undefined && buyerEmail === undefined;
  const { from, to } = boundsOf(sql, filter);
  const conditions = conditionsOf(sql, filter);
  const { newest, isInPage } = beginningOf(sql, page, to);
  const inBlock = status ? sql`by_status[status_number(${status})]` : sql`orders`;
  const count = (begins: Fragment, ends: Fragment) =>
    sql`(SELECT count(*) FROM orders
      WHERE ${conditions} AND created_at >= ${begins} AND created_at < ${ends})`;
  return sql`
    WITH blocks AS MATERIALIZED (
      SELECT * FROM (
        SELECT lag(ends_at, 1, '-infinity') OVER (ORDER BY ends_at) AS begins_at, ends_at,
          ${inBlock} AS orders
        FROM order_blocks WHERE merchant_id = ${merchantId} AND environment = ${environment}
      ) AS block
      WHERE ${hasCounts} AND begins_at >= ${from} AND ends_at <= ${to}
    ),
    known AS MATERIALIZED (
      SELECT coalesce(min(begins_at), ${from}) AS begins_at, coalesce(max(ends_at), ${from}) AS ends_at
      FROM blocks
    ),
    parts AS (
      SELECT ${to} AS ends_at, ${count(sql`known.ends_at`, to)} AS orders FROM known
      UNION ALL
      SELECT ends_at, orders FROM blocks
      UNION ALL
      SELECT begins_at, ${count(from, sql`known.begins_at`)} FROM known
    ),
    reached AS MATERIALIZED (
      SELECT ends_at, orders, sum(orders)
        OVER (ORDER BY ends_at DESC ROWS UNBOUNDED PRECEDING)::bigint AS orders_until
      FROM parts
    ),
    newest AS MATERIALIZED (
      SELECT o.created_at, o.order_number FROM (
        SELECT ends_at, ${page.skip} - (orders_until - orders) AS skipped FROM reached
        WHERE orders_until > ${page.skip} AND orders > 0 ORDER BY orders_until LIMIT 1
      ) AS part, LATERAL (
        SELECT created_at, order_number FROM orders
        WHERE ${conditions} AND created_at < part.ends_at
        ORDER BY created_at DESC, order_number DESC OFFSET part.skipped LIMIT 1
      ) AS o
    )
    SELECT total, page.* FROM (SELECT max(orders_until) AS total FROM reached) AS counted
    LEFT JOIN LATERAL (
      SELECT orders.* FROM ${newest}, LATERAL (
        SELECT * FROM orders_with_dispute
        WHERE ${conditions} AND created_at >= ${from} AND ${isInPage}
        ORDER BY created_at DESC, order_number DESC LIMIT ${page.size + 1}
      ) AS orders
    ) AS page ON true
    ORDER BY created_at DESC, order_number DESC`;
}
