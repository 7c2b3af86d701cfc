import * as activities from './activities.ts';

/** An order whose API process died between its row and its workflow is started here. */
export async function sweepUnstartedOrders(): Promise<{ started: number }> {
  return activities.startUnstartedOrders();
}

/** An order whose row and workflow differ, or whose workflow is missing, is found here. */
export async function compareOrders(): Promise<{ compared: number; recovered: number }> {
  return activities.compareOrders();
}

/** What lost callbacks hid is found here. */
export async function reconcilePayments(): Promise<{ sessions: number; captures: number }> {
  return activities.reconcilePayments();
}

/** Lists count by blocks, which are cut here. */
export async function sealOrderBlocks(): Promise<{ sealed: number }> {
  return activities.sealOrderBlocks();
}
