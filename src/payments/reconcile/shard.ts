import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';

/** One of `count` roughly equal parts of all orders; each is processed concurrently. */
export interface Shard {
  /** From 0. */
  index: number;
  count: number;
}

/** All orders as a single shard. */
export const ALL_ORDERS: Shard = { index: 0, count: 1 };

/** True for rows whose column of order numbers belongs to the shard. */
export const inShard = (sql: Sql, orderNumber: Fragment, { index, count }: Shard) =>
  sql`(hashtext(${orderNumber})::bigint + 2147483648) % ${count} = ${index}`;
