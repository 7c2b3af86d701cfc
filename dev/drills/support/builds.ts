import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import type { Run } from '../../faults/run.ts';
import { inParallel } from '../../load/in-parallel.ts';
import { runCommand } from '../../processes/run-command.ts';
import { waitFor } from './report.ts';

const PROMOTED_WITHIN_MS = 120_000;

/** The setting that names the build of a worker. */
export const BUILD = 'TEMPORAL_WORKER_BUILD_ID';

/** The folder of this checkout. */
export const REPOSITORY = join(import.meta.dirname, '../../..');

/** What a worker and the operators' command line need. */
const PARTS = ['package.json', 'tsconfig.json', 'src', 'workflows', 'activities', 'dev'];

/** A change of one file: the text that is replaced, which occurs once, and the text that replaces it. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Copies this checkout and changes its code, as the next build of the service would.
 *
 * @throws Error when a text that is to be replaced does not occur once
 */
export async function copyCheckout(folder: string, changes: readonly Change[]): Promise<string> {
  await mkdir(folder);
  for (const part of PARTS) {
    await cp(join(REPOSITORY, part), join(folder, part), { recursive: true });
  }
  await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const [before, after, ...more] = (await readFile(path, 'utf8')).split(from);
    if (after === undefined || more.length > 0) {
      throw new Error(`${file} does not contain this text once: ${from}`);
    }
    await writeFile(path, `${before}${to}${after}`);
  }
  return folder;
}

/** Makes a build current, as `npm run -s admin -- worker promote --build ID`. */
export async function promote(run: Run, build: string): Promise<void> {
  // Temporal updates each task queue before it answers, which takes long on a machine without a free processor.
  await waitFor(`${build} is current`, PROMOTED_WITHIN_MS, () =>
    run.admin('worker', 'promote', '--build', build),
  );
}

/** What `admin worker replay` finds. */
export interface Replayed {
  readonly replayed: number;
  readonly failures: readonly {
    readonly orderNumber: string;
    /** Its workflow still runs. */
    readonly isRunning: boolean;
    readonly error: string;
  }[];
}

/** Runs `npm run check -- replay` of a checkout: replays the newest orders of every status. */
export async function checkReplay(run: Run, repository: string, count: number): Promise<Replayed> {
  const entry = join(repository, 'dev/admin.ts');
  const args = [entry, 'worker', 'replay', '--count', String(count), '--json'];
  const env = { PATH: '/usr/bin:/bin', ...run.environment() };
  const { output } = await runCommand(process.execPath, args, { env, cwd: repository });
  try {
    return JSON.parse(output) as Replayed;
  } catch (cause) {
    throw new Error(`check:replay failed: ${output}`, { cause });
  }
}

/** The result as a line. */
export const replayText = ({ replayed, failures }: Replayed) =>
  `${replayed} orders replayed, ${failures.length} failed`;

const FETCHED_AT_ONCE = 8;
const { EventType, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const UNHANDLED_COMMAND = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
/** The name of the marker that `patched()` records. */
const PATCH_MARKER = 'core_patch';

/** What the histories of orders say about their workflow tasks. */
export interface Tasks {
  /**
   * The order, the cause and the message of each task that failed, except of a task that completed its workflow
   * when an event had just arrived: Temporal refuses the completion, and the worker makes the task again.
   */
  readonly failed: string[];
  timedOut: number;
  /** The orders whose history has the marker of a `patched()`. */
  readonly patched: Set<string>;
}

/** Finds the workflow tasks in the histories of these orders that failed or timed out. */
export function readTasks(run: Run, orderNumbers: readonly string[]): Promise<Tasks> {
  return run.withTemporal(async ({ workflow }) => {
    const tasks: Tasks = { failed: [], timedOut: 0, patched: new Set() };
    await inParallel(orderNumbers, FETCHED_AT_ONCE, async (orderNumber) => {
      const { events } = await workflow.getHandle(orderNumber).fetchHistory();
      for (const event of events ?? []) {
        const { workflowTaskFailedEventAttributes: failed } = event;
        if (failed && failed.cause !== UNHANDLED_COMMAND) {
          const cause = WorkflowTaskFailedCause[failed.cause ?? 0];
          tasks.failed.push(`${orderNumber} ${cause} ${failed.failure?.message ?? ''}`.trim());
        }
        if (event.eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) tasks.timedOut += 1;
        if (event.markerRecordedEventAttributes?.markerName === PATCH_MARKER)
          tasks.patched.add(orderNumber);
      }
    });
    return tasks;
  });
}
