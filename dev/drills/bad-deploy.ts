import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkReplay, promote, replayText, startBuild, versioned } from './support/builds.ts';
import { copyCheckout, REPOSITORY, type Change } from './support/checkout.ts';
import type { Drill } from './support/cluster.ts';
import { continueOrders, makeOrders, startLoad, type DrillOrder } from './support/load.ts';
import { namesOf } from './support/members.ts';
import { proveNothingLost } from './support/proof.ts';
import { firstOf, prove, report } from './support/report.ts';
import { waitFor } from './support/wait.ts';
import { readTasks } from './support/workflows.ts';

const ORDERS = 40;
const CONCURRENCY = 8;
/** More orders than the drill makes. */
const MANY = 1000;
const BAD_FOR_MS = 20_000;
const FAILED_WITHIN_MS = 30_000;
const [GOOD, BAD] = ['build-1', 'build-2'] as const;

/** Every order waits for a timer before anything else, which no older history has. */
const CHANGES: readonly Change[] = [
  {
    file: 'workflows/index.ts',
    from: "export { orderWorkflow as order } from './order/workflow.ts';",
    to: `import { sleep } from '@temporalio/workflow';
import { orderWorkflow } from './order/workflow.ts';
export async function order(...args: Parameters<typeof orderWorkflow>) {
  await sleep(1);
  return orderWorkflow(...args);
}`,
  },
];

/** How its shape differs from the default. */
export const options = async () => ({ ...versioned(GOOD), workers: 3 });

/** Deploys workers whose workflows cannot continue the open orders, and returns to the build before. */
export async function run(drill: Drill): Promise<void> {
  await promote(drill, GOOD);
  const kinds = ['accepted', 'paid', 'delivered', 'disputed'] as const;
  const orders = await makeOrders(drill, ORDERS, kinds, CONCURRENCY);
  report(`${ORDERS} open orders`);
  const repository = await copyCheckout(join(drill.folder, 'bad-build'), CHANGES);
  const replayed = await checkReplay(drill, repository, ORDERS);
  prove('check:replay stops the bad build', replayed.failures.length > 0, replayText(replayed));
  const worker = namesOf(drill, 'worker').at(-1);
  if (worker === undefined) return;
  await startBuild(drill, worker, BAD, repository);
  await promote(drill, BAD);
  report('the bad build was promoted all the same');
  const load = startLoad(drill, 2);
  const continued = continueOrders(orders, CONCURRENCY);
  await proveBlocked(drill, orders);
  await delay(BAD_FOR_MS);
  await promote(drill, GOOD);
  report('the build before is current again');
  await continued;
  await startAgain(drill);
  await load.finish();
  await startAgain(drill);
  await proveNothingLost(drill);
  const again = await blockedOrders(drill);
  const claim = 'Every order whose workflow runs can continue with the build before';
  prove(claim, again.length === 0, firstOf(again));
}

/**
 * The orders whose workflows run and whose histories the build before cannot continue. One of them can be
 * final: its last step was recorded, and the workflow could not end.
 */
async function blockedOrders(drill: Drill): Promise<string[]> {
  const { failures } = await checkReplay(drill, REPOSITORY, MANY);
  return failures.filter(({ isRunning }) => isRunning).map(({ orderNumber }) => orderNumber);
}

/** Proves that the bad build fails the tasks of orders, which block until the build before returns. */
async function proveBlocked(drill: Drill, orders: readonly DrillOrder[]): Promise<void> {
  const numbers = orders.map(({ orderNumber }) => orderNumber);
  const failed = await waitFor('workflow tasks fail', FAILED_WITHIN_MS, async () => {
    const { failed: count } = await drill.withTemporal((client) => readTasks(client, numbers));
    return count.length > 0 && count.length;
  });
  report(`${failed} workflow tasks have failed with the bad build`);
}

/**
 * Starts the workflows again that the bad build has begun: the build before cannot continue their
 * histories, and their rows have all their steps.
 */
async function startAgain(drill: Drill): Promise<void> {
  const blocked = await blockedOrders(drill);
  for (const orderNumber of blocked) {
    await drill.withTemporal((client) =>
      client.workflow.getHandle(orderNumber).terminate('Begun by a build that was rolled back'),
    );
    await drill.admin('order', 'recover', '--order', orderNumber);
  }
  report(`${blocked.length} orders of the bad build terminated and recovered`);
}
