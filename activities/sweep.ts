import { activityInfo, heartbeat } from '@temporalio/activity';
import type { ListingActivities, SweepActivities } from '../src/contracts/activities.ts';
import type { Comparison } from '../src/orders/compare-orders.ts';
import { compareOrders } from '../src/orders/compare-orders.ts';
import { forEachOrder } from '../src/for-each-order.ts';
import { sealOrderBlocks } from '../src/orders/order-blocks.ts';
import {
  findOrdersBehind,
  findUnprocessedDisputes,
  findUnstartedOrders,
  markAcknowledged,
} from '../src/orders/queries.ts';
import { orderInputOf, signalOrder } from '../src/orders/recovery.ts';
import type { RecoveryDeps } from '../src/orders/recovery.ts';

const ORDERS_PER_SWEEP = 500;
const CONCURRENT_ORDERS = 10;

export interface SweepDeps extends RecoveryDeps {
  sweepAfterMs: number;
}

/** The activities of the Schedules: they find what a dead process or a restored backup has left. */
export function createSweepActivities(deps: SweepDeps): SweepActivities & ListingActivities {
  const { sql, workflows, sweepAfterMs, log } = deps;
  const turns = { log, concurrency: CONCURRENT_ORDERS };

  return {
    async startUnstartedOrders() {
      const orders = await findUnstartedOrders(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const start = (order: (typeof orders)[number]) => workflows.start(orderInputOf(order));
      await forEachOrder(orders, ({ orderNumber }) => orderNumber, start, turns);
      const behind = await findOrdersBehind(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const catchUp = async (order: (typeof behind)[number]) => {
        await workflows.catchUp(order.orderNumber);
        await markAcknowledged(sql, order);
      };
      await forEachOrder(behind, ({ orderNumber }) => orderNumber, catchUp, turns);
      const disputes = await findUnprocessedDisputes(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const notify = ({ orderNumber, commandId, receivedAt }: (typeof disputes)[number]) =>
        signalOrder(deps, orderNumber, 'dispute', {
          commandId,
          receivedAtMs: receivedAt.getTime(),
        });
      await forEachOrder(disputes, ({ orderNumber }) => orderNumber, notify, turns);
      if (orders.length > 0) log.warn({ started: orders.length }, 'Orders swept up');
      return { started: orders.length };
    },

    async compareOrders() {
      // The heartbeat of a worker that died says how far it came.
      const from = activityInfo().heartbeatDetails as Comparison | undefined;
      const { compared, recovered } = await compareOrders(deps, heartbeat, from);
      if (recovered > 0) log.warn({ compared, recovered }, 'Orders and workflows differed');
      return { compared, recovered };
    },

    async sealOrderBlocks() {
      return { sealed: await sealOrderBlocks(sql) };
    },
  };
}
