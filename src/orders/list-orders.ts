import { encodeTime } from 'ulid';
import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** Which of a merchant's orders to list; times are inclusive from, exclusive to. */
export interface OrderFilter {
  merchantId: string;
  environment: Environment;
  status?: OrderStatus | undefined;
  merchantOrderId?: string | undefined;
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
}

/** Where a page is: counted from 0, and how many orders fit on one. */
export interface OrderPage {
  number: number;
  size: number;
}

/** Sorts before every order number, and after. */
const BEFORE_ALL = '';
const AFTER_ALL = 'Z';

/**
 * One page of orders, newest first, and how many there are on all pages: one statement, so both are
 * of one moment. What it costs hardly depends on how many orders there are or how deep the page is:
 * see docs/adr/0005-listing-a-million-orders.md.
 */
export async function listOrders(
  sql: Sql,
  filter: OrderFilter,
  page: OrderPage,
): Promise<{ orders: OrderRow[]; totalElements: number }> {
  const rows = await sql<(OrderRow & { total: number })[]>`${orderPageQuery(sql, filter, page)}`;
  // A page beyond the end is one row that knows the total and has no order.
  const orders = rows.filter((row) => row.order_number !== null).map(({ total: _, ...row }) => row);
  return { orders, totalElements: rows[0]?.total ?? 0 };
}

/** The statement of {@link listOrders}, which the benchmark explains. */
export function orderPageQuery(sql: Sql, filter: OrderFilter, page: OrderPage) {
  return filter.merchantOrderId === undefined
    ? pageByPosition(sql, filter, page)
    : pageByMerchantOrderId(sql, filter, page);
}

/**
 * The order numbers of a range of time: a number begins with the time of `created_at`, which
 * `insertOrder` sees to.
 */
function rangeOf({ createdFrom, createdTo }: OrderFilter): { from: string; to: string } {
  const numberAt = (time: Date) => `ORD${encodeTime(Math.max(0, time.getTime()))}`;
  return {
    from: createdFrom ? numberAt(createdFrom) : BEFORE_ALL,
    to: createdTo ? numberAt(createdTo) : AFTER_ALL,
  };
}

/** A merchant gives one order id to a few orders at most: they are all looked at. */
function pageByMerchantOrderId(sql: Sql, filter: OrderFilter, { number, size }: OrderPage) {
  const { from, to } = rangeOf(filter);
  return sql`
    WITH matching AS MATERIALIZED (
      SELECT order_number FROM orders
      WHERE merchant_id = ${filter.merchantId} AND environment = ${filter.environment}
        AND merchant_order_id = ${filter.merchantOrderId ?? ''}
        AND order_number >= ${from} AND order_number < ${to}
        ${filter.status ? sql`AND status = ${filter.status}` : sql``}
    )
    SELECT counted.total, o.* FROM (SELECT count(*) AS total FROM matching) AS counted
    LEFT JOIN LATERAL (
      SELECT orders.* FROM (
        SELECT order_number FROM matching ORDER BY order_number DESC
        LIMIT ${size} OFFSET ${number * size}
      ) AS page JOIN orders USING (order_number)
    ) AS o ON true
    ORDER BY o.order_number DESC`;
}

/**
 * Finds the page by counting orders from the newest down: whole coarse blocks, then whole fine ones,
 * then orders in one fine block, at most some hundreds of each.
 */
function pageByPosition(sql: Sql, filter: OrderFilter, { number, size }: OrderPage) {
  const list = createList(sql, filter);
  const { from, to } = rangeOf(filter);
  return sql`
    WITH waiting AS MATERIALIZED (${list.waiting}),
    counts AS MATERIALIZED (
      SELECT ${from === BEFORE_ALL ? list.allOrders : list.ordersFrom(from)} AS until_oldest,
        ${to === AFTER_ALL ? sql`0::bigint` : list.ordersFrom(to)} AS too_new
    ),
    everything AS MATERIALIZED (
      SELECT ${BEFORE_ALL} AS first, ${AFTER_ALL} AS next, 0::bigint AS newer,
        too_new + ${number * size}::bigint AS skipped
      FROM counts
    ),
    coarse AS MATERIALIZED (${list.blockIn(sql`everything`, 2)}),
    fine AS MATERIALIZED (${list.blockIn(sql`coarse`, 1)}),
    newest AS MATERIALIZED (
      SELECT o.order_number FROM fine, LATERAL (
        SELECT order_number FROM orders
        WHERE ${list.columns} < ${list.position(sql`fine.next`)}
          AND ${list.columns} >= ${list.position(sql`${from}`)}
        ORDER BY ${list.newestFirst} OFFSET fine.skipped - fine.newer LIMIT 1
      ) AS o
    )
    SELECT greatest(0, until_oldest - too_new) AS total, o.* FROM counts
    LEFT JOIN LATERAL (
      SELECT page.* FROM newest, LATERAL (
        SELECT * FROM orders
        WHERE ${list.columns} <= ${list.position(sql`newest.order_number`)}
          AND ${list.columns} >= ${list.position(sql`${from}`)}
        ORDER BY ${list.newestFirst} LIMIT ${size}
      ) AS page
    ) AS o ON true
    ORDER BY o.order_number DESC`;
}

/** The parts of a statement about one list: all orders, or those of one status. */
function createList(sql: Sql, { merchantId, environment, status }: OrderFilter) {
  const mine = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  const name = status ?? 'ALL';
  const blocks = (level: number) => sql`
    SELECT first_order_number AS key, orders FROM order_list_blocks
    WHERE ${mine} AND list = ${name} AND level = ${level}`;

  const sumOf = (parts: ReturnType<Sql>) => sql`(SELECT coalesce(sum(orders), 0) FROM ${parts})`;

  /** Where counting by blocks of this level can begin, looking from an order number on. */
  const firstBlockFrom = (level: number, orderNumber: string) => sql`
    coalesce((SELECT min(key) FROM (${blocks(level)}) AS b WHERE key >= ${orderNumber}), ${AFTER_ALL})`;

  return {
    /** The list's index, column by column: see the migration for why not `=` and `<`. */
    columns: status
      ? sql`(merchant_id, environment, status, order_number)`
      : sql`(merchant_id, environment, order_number)`,
    newestFirst: status
      ? sql`merchant_id DESC, environment DESC, status DESC, order_number DESC`
      : sql`merchant_id DESC, environment DESC, order_number DESC`,
    position: (orderNumber: ReturnType<Sql>) =>
      status
        ? sql`(${merchantId}, ${environment}, ${status}, ${orderNumber})`
        : sql`(${merchantId}, ${environment}, ${orderNumber})`,

    /** What has joined or left and is not counted in the blocks yet. */
    waiting: sql`
      SELECT order_number AS key, change.orders
      FROM order_list_changes, order_list_change(left_status, joined_status) AS change
      WHERE ${mine} AND change.list = ${name}`,

    allOrders: sql`(${sumOf(sql`(${blocks(2)}) AS b`)} + ${sumOf(sql`waiting`)})`,

    /** How many orders have this number or a newer one. */
    ordersFrom: (orderNumber: string) => sql`(
      SELECT ${sumOf(sql`(${blocks(2)}) AS b WHERE key >= coarse`)}
        + ${sumOf(sql`(${blocks(1)}) AS b WHERE key >= fine AND key < coarse`)}
        + ${sumOf(sql`waiting WHERE key >= fine`)}
        + (SELECT count(*) FROM orders
           WHERE ${mine} ${status ? sql`AND status = ${status}` : sql``}
             AND order_number >= ${orderNumber} AND order_number < fine)
      FROM (
        SELECT ${firstBlockFrom(2, orderNumber)} AS coarse,
          ${firstBlockFrom(1, orderNumber)} AS fine
        OFFSET 0 -- Looked up once, not wherever they are used.
      ) AS edges)`,

    /**
     * The block of a level with the first order of the page in it, among the blocks of a larger one:
     * where it begins, where the next one begins, and how many orders are newer than all of it.
     */
    blockIn: (larger: ReturnType<Sql>, level: number) => sql`
      SELECT coalesce(found.first, larger.first) AS first, coalesce(found.next, larger.next) AS next,
        coalesce(found.newer, larger.newer) AS newer, larger.skipped
      FROM ${larger} AS larger, LATERAL (
        SELECT max(key) FILTER (WHERE reached > larger.skipped) AS first,
          min(key) FILTER (WHERE reached <= larger.skipped) AS next,
          max(reached) FILTER (WHERE reached <= larger.skipped) AS newer
        FROM (
          SELECT key, is_block, larger.newer + sum(orders) OVER (
            ORDER BY key DESC, is_block ROWS UNBOUNDED PRECEDING) AS reached
          FROM (
            SELECT key, orders, true AS is_block FROM (${blocks(level)}) AS b
            UNION ALL SELECT key, orders, false FROM waiting
          ) AS parts
          WHERE larger.skipped > 0 AND key >= larger.first AND key < larger.next
        ) AS parts
        WHERE is_block
      ) AS found`,
  };
}
