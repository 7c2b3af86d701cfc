import { equal, ok } from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import proto from '@temporalio/proto';
import type { replayOrders } from '../../src/main/replay.ts';
import { namesOf, restart } from '../faults/run.ts';
import { inParallel } from '../load/in-parallel.ts';
import { untilDone } from '../load/simulator.ts';
import { runCommand } from '../processes/run-command.ts';
import { makeOpenOrders, type Drill, type Outcome } from './support/load.ts';
import { firstOf, inSeconds, prove, report } from './support/report.ts';

const UPGRADED_ORDERS = 1000;
const BLOCKED_ORDERS = 40;
/** More orders than a drill makes. */
const MANY = 1000;
const BAD_FOR_MS = 20_000;
const [OLD, NEW] = ['build-1', 'build-2'] as const;

/** The setting that names the build of a worker. */
const BUILD = 'TEMPORAL_WORKER_BUILD_ID';
const REPOSITORY = join(import.meta.dirname, '../..');

/** What a worker and the operators' command line need. */
const PARTS = ['package.json', 'tsconfig.json', 'src', 'workflows', 'activities', 'dev'];

/** A change of one file: the text that is replaced, which occurs once, and the text that replaces it. */
interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Every worker has the version of the build before. */
export const withBuilds = async () => ({ settings: { [BUILD]: OLD } });

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
  const older = await makeOpenOrders(drill, UPGRADED_ORDERS);
  report(`${UPGRADED_ORDERS} open orders after ${inSeconds(performance.now() - startedAt)}`);
  await drill.startLoad();
  await deploy(drill);
  await drill.finishLoad();
  await older.continue();
  report('every order got another command, which the new build carried out');
  return { afterwards: () => proveTasks(drill, older.orderNumbers) };
}

/** The steps of the runbook: check, start the new build beside the old one, promote it, replace the rest. */
async function deploy(drill: Drill): Promise<void> {
  const repository = await copyCheckout(join(drill.folder, 'new-build'), PATCHED);
  const failures = await checkReplay(drill, repository, UPGRADED_ORDERS);
  prove('check:replay of the new build passes', failures.length === 0);
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
  const { failed, patched } = await readTasks(drill, all);
  const figures = `${all.length} histories, ${failed.length} WorkflowTaskFailed ${firstOf(failed)}`;
  prove('No workflow task failed', failed.length === 0, figures);
  const upgraded = older.filter((orderNumber) => patched.has(orderNumber));
  const claim = 'Every order from before continued with the changed workflow';
  prove(claim, upgraded.length === older.length, `${upgraded.length} of ${older.length}`);
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
  const older = await makeOpenOrders(drill, BLOCKED_ORDERS);
  report(`${BLOCKED_ORDERS} open orders`);
  const repository = await copyCheckout(join(drill.folder, 'bad-build'), BAD);
  const failures = await checkReplay(drill, repository, BLOCKED_ORDERS);
  prove('check:replay stops the bad build', failures.length > 0);
  await restart(drill, 'worker-2', { env: { [BUILD]: NEW }, repository });
  await promote(drill, NEW);
  report('the bad build was promoted all the same');
  await drill.startLoad();
  const continued = older.continue();
  await untilDone(async () => {
    const { failed } = await readTasks(drill, older.orderNumbers);
    ok(failed.length > 0, 'no workflow task has failed');
    report(`${failed.length} workflow tasks have failed with the bad build`);
  });
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
  const failures = await checkReplay(drill, REPOSITORY, MANY);
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

/** Copies this checkout and changes its code, as the next build of the service would. */
async function copyCheckout(folder: string, changes: readonly Change[]): Promise<string> {
  await mkdir(folder);
  for (const part of PARTS) {
    await cp(join(REPOSITORY, part), join(folder, part), { recursive: true });
  }
  await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const parts = (await readFile(path, 'utf8')).split(from);
    equal(parts.length, 2, `${file} does not contain this text once: ${from}`);
    await writeFile(path, parts.join(to));
  }
  return folder;
}

/** Makes a build current, once its workers poll: `npm run -s admin -- worker promote --build ID`. */
const promote = (drill: Drill, build: string) =>
  untilDone(() => drill.admin('worker', 'promote', '--build', build));

type Failures = Awaited<ReturnType<typeof replayOrders>>['failures'];

/** Runs `npm run check -- replay` of a checkout with the newest orders of every status. @returns those that failed */
async function checkReplay(drill: Drill, repository: string, count: number): Promise<Failures> {
  const entry = join(repository, 'dev/admin.ts');
  const args = [entry, 'worker', 'replay', '--count', String(count), '--json'];
  const env = { PATH: '/usr/bin:/bin', ...drill.environment() };
  const { output } = await runCommand(process.execPath, args, { env, cwd: repository });
  ok(output.startsWith('{'), output);
  const { replayed, failures } = JSON.parse(output) as {
    replayed: number;
    failures: Failures;
  };
  report(`check:replay: ${replayed} orders replayed, ${failures.length} failed`);
  return failures;
}

const FETCHED_AT_ONCE = 8;
const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const UNHANDLED_COMMAND = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
/** The name of the marker that `patched()` records. */
const PATCH_MARKER = 'core_patch';

/**
 * Reads the histories of these orders.
 *
 * @returns the order, the cause and the message of each workflow task that failed, except of a task that completed its
 *   workflow when an event had just arrived: Temporal refuses the completion, and the worker makes the task again; and
 *   the orders whose history has the marker of a `patched()`
 */
async function readTasks(drill: Drill, orderNumbers: readonly string[]) {
  const failed: string[] = [];
  const patched = new Set<string>();
  await drill.withTemporal(({ workflow }) =>
    inParallel(orderNumbers, FETCHED_AT_ONCE, async (orderNumber) => {
      const { events } = await workflow.getHandle(orderNumber).fetchHistory();
      for (const event of events ?? []) {
        const { workflowTaskFailedEventAttributes: failure } = event;
        if (failure && failure.cause !== UNHANDLED_COMMAND) {
          const cause = WorkflowTaskFailedCause[failure.cause ?? 0];
          failed.push(`${orderNumber} ${cause} ${failure.failure?.message ?? ''}`.trim());
        }
        if (event.markerRecordedEventAttributes?.markerName === PATCH_MARKER)
          patched.add(orderNumber);
      }
    }),
  );
  return { failed, patched };
}
