import type { Sql } from '../db/client.ts';
import type { OrderStatus } from '../domain/index.ts';
import { isFinal, ORDER_STATUSES } from '../domain/index.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';

const ORDERS_PER_PAGE = 500;
/** Sorts after every order number. */
const END = '~';

/** Literals, because the partial index of open orders does not match a list in a parameter. */
const FINAL_STATUSES = ORDER_STATUSES.filter(isFinal)
  .map((status) => `'${status}'`)
  .join(', ');

/** An order that is not final. */
export interface OpenOrder {
  orderNumber: string;
  status: OrderStatus;
}

/** One range of order numbers. */
export interface OpenOrderPage {
  /** The orders that are not final. */
  open: OpenOrder[];
  /** The running workflows: order number to status, undefined if Temporal does not list it. */
  running: Map<string, OrderStatus | undefined>;
  /** The end of the range: the next page begins after it. */
  after: string;
}

/**
 * Yields all orders that are not final and all running workflows, page after page. Temporal's list is
 * eventually consistent: a difference is only a reason to check that order by itself.
 *
 * @param after the order number at which an earlier iteration stopped
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

/** The order number after which the next page begins. */
function endOf(page: readonly OpenOrder[]): string {
  const last = page.at(-1);
  return last && page.length === ORDERS_PER_PAGE ? last.orderNumber : END;
}
