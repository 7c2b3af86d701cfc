import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';

/** One of `count` roughly equal parts of all orders. The parts are processed concurrently. */
export interface Shard {
  /** From 0 to `count` - 1. */
  index: number;
  count: number;
}

export const ALL_ORDERS: Shard = { index: 0, count: 1 };

/** SQL: the order number in a column belongs to the shard. */
export const inShard = (sql: Sql, orderNumber: Fragment, { index, count }: Shard) =>
  sql`(hashtext(${orderNumber})::bigint + 2147483648) % ${count} = ${index}`;
