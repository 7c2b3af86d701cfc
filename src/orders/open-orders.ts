import type { Sql } from '../db/client.ts';
import type { OrderStatus } from '../domain/index.ts';
import { isFinal, ORDER_STATUSES } from '../domain/index.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';

const ORDERS_PER_PAGE = 500;
/** Behind every order number. */
const END = '~';

/** As a literal, because a list in a parameter would not match the index of open orders. */
const FINAL_STATUSES = ORDER_STATUSES.filter(isFinal)
  .map((status) => `'${status}'`)
  .join(', ');

export interface OpenOrder {
  orderNumber: string;
  status: OrderStatus;
}

/** The orders of a range of order numbers: those that are not final, and the workflows that run. */
export interface OpenOrderPage {
  open: OpenOrder[];
  running: Map<string, OrderStatus | undefined>;
  /** The end of the range: where the next page begins. */
  after: string;
}

/**
 * All orders that are not final, and all workflows that run, page after page. What Temporal lists
 * lags behind by a moment: a difference between the two is only a reason to look at that order.
 *
 * @param after where an earlier reading came to
 */
export async function* pagesOfOpenOrders(
  { sql, workflows }: { sql: Sql; workflows: OrderWorkflows },
  after = '',
): AsyncGenerator<OpenOrderPage> {
  let from = after;
  while (from !== END) {
    const open = await listOpenOrders(sql, from);
    const upTo = endOf(open);
    yield { open, running: await workflows.listRunning(from, upTo), after: upTo };
    from = upTo;
  }
}

async function listOpenOrders(sql: Sql, after: string): Promise<OpenOrder[]> {
  return sql<OpenOrder[]>`
    SELECT order_number, status FROM orders
    WHERE status NOT IN (${sql.unsafe(FINAL_STATUSES)}) AND order_number > ${after}
    ORDER BY order_number LIMIT ${ORDERS_PER_PAGE}`;
}

/** Where the page behind this one begins. */
function endOf(page: readonly OpenOrder[]): string {
  const last = page.at(-1);
  return last && page.length === ORDERS_PER_PAGE ? last.orderNumber : END;
}
