/**
 * The workflows of a checkout with an incompatible `order`: it sets a timer before it does
 * anything else. Bundled by `test/replay/live-orders.long.test.ts`.
 */
import { sleep } from '@temporalio/workflow';
import { order as orderOfToday } from '../../workflows/index.ts';

export async function order(...args: Parameters<typeof orderOfToday>): Promise<unknown> {
  await sleep(1);
  return orderOfToday(...args);
}
