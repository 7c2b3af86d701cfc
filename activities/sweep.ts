import type { Logger } from 'pino';
import type { ListingActivities, SweepActivities } from '../src/contracts/activities.ts';
import type { Sql } from '../src/db/client.ts';
import { orderInputOf } from '../src/orders/commands.ts';
import { sealOrderBlocks } from '../src/orders/order-blocks.ts';
import {
  findOrdersBehind,
  findUnheardDisputes,
  findUnstartedOrders,
  markHeard,
} from '../src/orders/queries.ts';
import type { OrderWorkflows } from '../src/temporal/order-workflows.ts';

const ORDERS_PER_SWEEP = 500;

export interface SweepDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  sweepAfterMs: number;
  log: Logger;
}

/** What the Schedules do: find what a died API process left behind, and keep lists countable. */
export function createSweepActivities(deps: SweepDeps): SweepActivities & ListingActivities {
  return {
    async startUnstartedOrders() {
      const orders = await findUnstartedOrders(deps.sql, deps.sweepAfterMs, ORDERS_PER_SWEEP);
      for (const order of orders) await deps.workflows.start(orderInputOf(order));
      const behind = await findOrdersBehind(deps.sql, deps.sweepAfterMs, ORDERS_PER_SWEEP);
      for (const order of behind) {
        await deps.workflows.catchUp(order.orderNumber);
        await markHeard(deps.sql, order);
      }
      const disputes = await findUnheardDisputes(deps.sql, deps.sweepAfterMs, ORDERS_PER_SWEEP);
      for (const { orderNumber, requestId, receivedAt } of disputes) {
        const message = { requestId, receivedAtMs: receivedAt.getTime() };
        await deps.workflows.signal(orderNumber, 'dispute', message);
      }
      if (orders.length > 0) deps.log.warn({ started: orders.length }, 'Orders swept up');
      return { started: orders.length };
    },

    async sealOrderBlocks() {
      return { sealed: await sealOrderBlocks(deps.sql) };
    },
  };
}
