import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { namesOf, restart } from '../faults/run.ts';
import {
  BUILD,
  checkReplay,
  copyCheckout,
  promote,
  readTasks,
  replayText,
  REPOSITORY,
  type Change,
} from './support/builds.ts';
import { makeOpenOrders, type Drill, type Outcome } from './support/load.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './support/report.ts';

const UPGRADED_ORDERS = 1000;
const UPGRADE_CONCURRENCY = 12;
const BLOCKED_ORDERS = 40;
const BLOCKED_CONCURRENCY = 8;
/** More orders than a drill makes. */
const MANY = 1000;
const BAD_FOR_MS = 20_000;
const FAILED_WITHIN_MS = 30_000;
const [OLD, NEW] = ['build-1', 'build-2'] as const;

/** Every worker has the version of the build before. */
export const withBuilds =
  (shape: { readonly workers?: number } = {}) =>
  async () => ({ settings: { [BUILD]: OLD }, ...shape });

/** Every order waits for a timer before it applies an event, which its older history does not have. */
const PATCHED: readonly Change[] = [
  {
    file: 'workflows/order/order.ts',
    from: "import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';",
    to: "import { allHandlersFinished, condition, patched, sleep, workflowInfo } from '@temporalio/workflow';",
  },
  {
    file: 'workflows/order/order.ts',
    from: '    await this.applyNow(event);\n',
    to: '    if (patched(`drill-after-${this.state.stepNumber}`)) await sleep(1);\n    await this.applyNow(event);\n',
  },
];

/** Deploys workers with changed workflows, behind `patched()`, under 1,000 open orders. */
export async function workflowUpgrade(drill: Drill): Promise<Outcome> {
  await promote(drill, OLD);
  const startedAt = performance.now();
  const older = await makeOpenOrders(drill, UPGRADED_ORDERS, UPGRADE_CONCURRENCY);
  report(`${UPGRADED_ORDERS} open orders after ${inSeconds(performance.now() - startedAt)}`);
  drill.startLoad();
  await deploy(drill);
  await drill.finishLoad();
  await older.continue();
  report('every order got another command, which the new build carried out');
  return { afterwards: () => proveTasks(drill, older.orderNumbers) };
}

/** The steps of the runbook: check, start the new build beside the old one, promote it, replace the rest. */
async function deploy(drill: Drill): Promise<void> {
  const repository = await copyCheckout(join(drill.folder, 'new-build'), PATCHED);
  const replayed = await checkReplay(drill, repository, UPGRADED_ORDERS);
  const passes = replayed.failures.length === 0;
  prove('check:replay of the new build passes', passes, replayText(replayed));
  for (const [index, name] of namesOf(drill, 'worker').entries()) {
    await restart(drill, name, { env: { [BUILD]: NEW }, repository });
    if (index === 0) await promote(drill, NEW);
  }
  report('all workers run the new build');
}

/**
 * A task that a stopping worker has lost, or that waited too long for a processor, times out and is made again:
 * how many depends on the machine. What the new code cannot continue fails its task, each time.
 */
async function proveTasks(drill: Drill, older: readonly string[]): Promise<void> {
  const all = drill.orders.map(({ orderNumber }) => orderNumber);
  const { failed, timedOut, patched } = await readTasks(drill, all);
  prove(
    'No workflow task failed',
    failed.length === 0,
    `${all.length} histories, ${failed.length} WorkflowTaskFailed, ${timedOut} WorkflowTaskTimedOut ${firstOf(failed)}`,
  );
  const upgraded = older.filter((orderNumber) => patched.has(orderNumber));
  prove(
    'Every order from before continued with the changed workflow',
    upgraded.length === older.length,
    `${upgraded.length} of ${older.length}`,
  );
}

/** Every order waits for a timer before anything else, which no older history has. */
const BAD: readonly Change[] = [
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

/** Deploys workers whose workflows cannot continue the open orders, and returns to the build before. */
export async function badDeploy(drill: Drill): Promise<Outcome> {
  await promote(drill, OLD);
  const older = await makeOpenOrders(drill, BLOCKED_ORDERS, BLOCKED_CONCURRENCY);
  report(`${BLOCKED_ORDERS} open orders`);
  const repository = await copyCheckout(join(drill.folder, 'bad-build'), BAD);
  const replayed = await checkReplay(drill, repository, BLOCKED_ORDERS);
  prove('check:replay stops the bad build', replayed.failures.length > 0, replayText(replayed));
  const [worker = 'worker-1'] = namesOf(drill, 'worker').slice(-1);
  await restart(drill, worker, { env: { [BUILD]: NEW }, repository });
  await promote(drill, NEW);
  report('the bad build was promoted all the same');
  drill.startLoad();
  const continued = older.continue();
  const failed = await waitFor('workflow tasks fail', FAILED_WITHIN_MS, async () => {
    const tasks = await readTasks(drill, older.orderNumbers);
    return tasks.failed.length > 0 && tasks.failed.length;
  });
  report(`${failed} workflow tasks have failed with the bad build`);
  await delay(BAD_FOR_MS);
  await promote(drill, OLD);
  report('the build before is current again');
  await continued;
  await startAgain(drill);
  await drill.finishLoad();
  await startAgain(drill);
  const afterwards = async () => {
    const again = await blockedOrders(drill);
    const claim = 'Every order whose workflow runs can continue with the build before';
    prove(claim, again.length === 0, firstOf(again));
  };
  return { afterwards };
}

/**
 * The orders whose workflows run and whose histories the build before cannot continue. One of them can be
 * final: its last step was recorded, and the workflow could not end.
 */
async function blockedOrders(drill: Drill): Promise<string[]> {
  const { failures } = await checkReplay(drill, REPOSITORY, MANY);
  return failures.filter(({ isRunning }) => isRunning).map(({ orderNumber }) => orderNumber);
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
