import { forEachOrder } from '../for-each-order.ts';
import { pagesOfOpenOrders } from './open-orders.ts';
import type { RecoveryDeps } from './recovery.ts';

const CONCURRENT_ORDERS = 20;

/**
 * Makes the workflow of each open order compare its steps with the row, if the workflow has changed since
 * the given time. A restored database may lack steps that left the order's status as it was, such as a
 * dispute that was raised and resolved: the comparison of statuses does not find those.
 *
 * @returns how many workflows were signalled
 */
export async function catchUpChanged(deps: RecoveryDeps, since: Date): Promise<number> {
  const { workflows, log } = deps;
  let signalled = 0;
  const catchUp = async (orderNumber: string) => {
    const changedAt = await workflows.lastChangedAt(orderNumber);
    if (changedAt === undefined || changedAt < since) return;
    if ((await workflows.catchUp(orderNumber)) === 'sent') signalled += 1;
  };
  for await (const { open, running } of pagesOfOpenOrders(deps)) {
    const numbers = open.map(({ orderNumber }) => orderNumber);
    const withWorkflow = numbers.filter((orderNumber) => running.has(orderNumber));
    await forEachOrder(withWorkflow, (orderNumber) => orderNumber, catchUp, {
      log,
      concurrency: CONCURRENT_ORDERS,
    });
  }
  return signalled;
}
