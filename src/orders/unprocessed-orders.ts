import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus } from '../domain/index.ts';
import { statusesThatTake } from '../domain/index.ts';

/** The sweep needs less; after this time it has failed to. */
const UNPROCESSED_AFTER_MINUTES = 2;

/** An order whose workflow has not received what the database has. */
export interface UnprocessedOrder {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: OrderStatus;
  /**
   * `not_started`: its workflow has not begun. `behind`: the workflow may lack the latest step.
   * `dispute_waiting`: the workflow has not received a recorded dispute.
   */
  problem: 'not_started' | 'behind' | 'dispute_waiting';
  since: Date;
}

/**
 * Finds orders that the sweep should have brought to their workflows two minutes ago, those that have
 * waited for longest first. It reads the database only: orders whose workflow has disappeared later are
 * found by the comparison with Temporal, which raises `workflow_missing`.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function findUnprocessedOrders(
  sql: Sql,
  limit: number,
): Promise<{ orders: UnprocessedOrder[]; hasMore: boolean }> {
  const most = limit + 1;
  // A subquery, because an index cannot be searched for the result of a volatile function.
  const since = sql`(SELECT service_now() - ${UNPROCESSED_AFTER_MINUTES} * interval '1 minute')`;
  const rows = await sql<UnprocessedOrder[]>`
    SELECT order_number, o.merchant_id, o.environment, o.status, problem, since FROM (
      (SELECT order_number, 'not_started' AS problem, created_at AS since FROM unstarted_orders
        WHERE created_at < ${since} ORDER BY created_at LIMIT ${most})
      UNION ALL
      (SELECT order_number, 'behind', min(recorded_at) FROM (
        SELECT order_number, recorded_at FROM order_steps
        WHERE unacknowledged AND recorded_at < ${since} ORDER BY recorded_at LIMIT ${most}
      ) steps GROUP BY order_number)
      UNION ALL
      (SELECT order_number, 'dispute_waiting', waiting_dispute_received_at FROM orders
        WHERE waiting_dispute_id IS NOT NULL AND status = ANY(${statusesThatTake('dispute')})
          AND pending_operation IS NULL AND waiting_dispute_received_at < ${since}
        ORDER BY waiting_dispute_received_at LIMIT ${most})
    ) found JOIN orders o USING (order_number)
    ORDER BY since, order_number, problem LIMIT ${most}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}
