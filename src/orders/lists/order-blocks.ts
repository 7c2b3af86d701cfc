import type { Sql } from '../../db/client.ts';
import type { OrderOwner } from './search-orders.ts';

/** The most index entries that a list skips to find a page. A million orders make 500 blocks. */
export const ORDERS_PER_BLOCK = 2048;

/**
 * Seals merchants' orders into blocks with stored counts, which lists read. The newest orders stay outside until
 * they fill a block. Each block is sealed in its own transaction, so that it delays the creation of an order by a
 * few milliseconds at most.
 *
 * @returns the number of new blocks
 */
export async function sealOrderBlocks(
  sql: Sql,
  ordersPerBlock = ORDERS_PER_BLOCK,
): Promise<number> {
  const due = await sql<OrderOwner[]>`
    SELECT m.merchant_id, e.environment
    FROM shared.merchants AS m, unnest(enum_range(NULL::environment)) AS e (environment)
    WHERE EXISTS (
      SELECT FROM orders AS o
      WHERE o.merchant_id = m.merchant_id AND o.environment = e.environment
        AND o.created_at >= coalesce((
          SELECT max(ends_at) FROM order_blocks AS b
          WHERE b.merchant_id = m.merchant_id AND b.environment = e.environment), '-infinity')
      OFFSET ${ordersPerBlock - 1})`;
  let sealed = 0;
  for (const { merchantId, environment } of due) {
    for (;;) {
      const [row] = await sql<[{ isSealed: boolean }]>`
        SELECT seal_order_block(${merchantId}, ${environment}, ${ordersPerBlock}) AS is_sealed`;
      if (!row.isSealed) break;
      sealed += 1;
    }
  }
  return sealed;
}
