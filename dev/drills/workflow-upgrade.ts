import { join } from 'node:path';
import { checkReplay, promote, replayText, startBuild, versioned } from './support/builds.ts';
import { copyCheckout, type Change } from './support/checkout.ts';
import type { Drill } from './support/cluster.ts';
import { continueOrders, makeOrders, startLoad, type DrillOrder } from './support/load.ts';
import { namesOf } from './support/members.ts';
import { proveNothingLost } from './support/proof.ts';
import { firstOf, inSeconds, prove, report } from './support/report.ts';
import { readTasks } from './support/workflows.ts';

const ORDERS = 1000;
const CONCURRENCY = 12;
const [OLD, NEW] = ['build-1', 'build-2'] as const;

/** Every order waits for a timer before it applies an event, which its older history does not have. */
const CHANGES: readonly Change[] = [
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

/** How its shape differs from the default. */
export const options = async () => versioned(OLD);

/** Deploys workers with changed workflows, behind `patched()`, under 1,000 open orders. */
export async function run(drill: Drill): Promise<void> {
  await promote(drill, OLD);
  const startedAt = performance.now();
  const kinds = ['accepted', 'paid', 'delivered', 'disputed'] as const;
  const orders = await makeOrders(drill, ORDERS, kinds, CONCURRENCY);
  report(`${ORDERS} open orders after ${inSeconds(performance.now() - startedAt)}`);
  const load = startLoad(drill, 1);
  await deploy(drill);
  await load.finish();
  await continueOrders(orders, CONCURRENCY);
  report('every order got another command, which the new build carried out');
  await proveNothingLost(drill);
  await proveTasks(drill, drill.orders, orders);
}

/** The steps of the runbook: check, start the new build beside the old one, promote it, replace the rest. */
async function deploy(drill: Drill): Promise<void> {
  const repository = await copyCheckout(join(drill.folder, 'new-build'), CHANGES);
  const replayed = await checkReplay(drill, repository, ORDERS);
  const passes = replayed.failures.length === 0;
  prove('check:replay of the new build passes', passes, replayText(replayed));
  const [first, ...others] = namesOf(drill, 'worker');
  if (first === undefined) return;
  await startBuild(drill, first, NEW, repository);
  await promote(drill, NEW);
  for (const name of others) await startBuild(drill, name, NEW, repository);
  report('all workers run the new build');
}

async function proveTasks(
  drill: Drill,
  all: readonly DrillOrder[],
  older: readonly DrillOrder[],
): Promise<void> {
  const numbersOf = (orders: readonly DrillOrder[]) => orders.map(({ orderNumber }) => orderNumber);
  const { events, failed, madeAgain, timedOut, patched } = await drill.withTemporal((client) =>
    readTasks(client, numbersOf(all)),
  );
  prove(
    'No workflow task failed',
    failed.length === 0 && timedOut === 0,
    `${all.length} histories, ${events} events, ${failed.length} WorkflowTaskFailed, ${madeAgain} made again, ${timedOut} WorkflowTaskTimedOut ${firstOf(failed)}`.trim(),
  );
  const upgraded = numbersOf(older).filter((orderNumber) => patched.has(orderNumber));
  prove(
    'Every order from before continued with the changed workflow',
    upgraded.length === older.length,
    `${upgraded.length} of ${older.length}`,
  );
}
