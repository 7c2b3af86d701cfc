import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';

/** One of several equal parts of all orders, for as many processes to work on side by side. */
export interface Shard {
  /** From 0. */
  index: number;
  count: number;
}

export const ALL_ORDERS: Shard = { index: 0, count: 1 };

/** True of rows of a part, by a column of order numbers. */
export const inShard = (sql: Sql, orderNumber: Fragment, { index, count }: Shard) =>
  sql`(hashtext(${orderNumber})::bigint + 2147483648) % ${count} = ${index}`;
