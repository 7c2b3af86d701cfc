import { startUnstartedOrders } from './activities.ts';

/** Run by a Schedule: an order whose API process died between row and start is started here. */
export async function sweepUnstartedOrders(): Promise<{ started: number }> {
  return startUnstartedOrders();
}
