import * as activities from './activities.ts';

/** An order whose API process died between its row and its workflow is started here. */
export async function sweepUnstartedOrders(): Promise<{ started: number }> {
  return activities.startUnstartedOrders();
}

/** An order whose row and workflow differ, or whose workflow is missing, is found here. */
export async function compareOrders(): Promise<{ compared: number; recovered: number }> {
  return activities.compareOrders();
}

/** Activities that reconcile side by side, each with its part of the orders and a few calls at once. */
const RECONCILE_PARTS = 4;

/** What lost callbacks hid is found here. */
export async function reconcilePayments(): Promise<{ sessions: number; captures: number }> {
  const parts = Array.from({ length: RECONCILE_PARTS }, (_, index) =>
    activities.reconcilePayments({ index, count: RECONCILE_PARTS }),
  );
  const found = await Promise.all(parts);
  return {
    sessions: found.reduce((sum, { sessions }) => sum + sessions, 0),
    captures: found.reduce((sum, { captures }) => sum + captures, 0),
  };
}

/** Lists count by blocks, which are cut here. */
export async function sealOrderBlocks(): Promise<{ sealed: number }> {
  return activities.sealOrderBlocks();
}
