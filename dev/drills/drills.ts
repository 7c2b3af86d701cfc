import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../src/setup-error.ts';
import { withRun, type RunOptions } from '../faults/run.ts';
import { badDeploy, withBuilds, workflowUpgrade } from './builds.ts';
import { diskFull, isRunWithSmallDisk, onDisk } from './disk-full.ts';
import { databaseFailover, replicating } from './failover.ts';
import { backupAndRestore } from './restore.ts';
import { createLoad, LOAD_MS, type Drill, type Outcome } from './support/load.ts';
import { archiving } from './support/postgres.ts';
import { proveNothingLost } from './support/proof.ts';
import { report, requireProved } from './support/report.ts';

/** A fault, or another work of operators, with which the claims of a page of the runbook are proved. */
interface DrillPlan {
  /**
   * Happens under load, and ends when everything serves again: afterwards the oracle checks everything.
   *
   * @throws Error when it cannot continue
   */
  readonly fault: (drill: Drill) => Promise<Outcome | void>;
  /** Whether the fault itself starts the load. */
  readonly startsLoad?: boolean;
  /** How its shape differs from the default; files can be in the given folder. */
  readonly options?: (folder: string) => Promise<RunOptions>;
  /** Runs it in another process, unless this one is that. @returns whether it has run there */
  readonly isRunElsewhere?: () => Promise<boolean>;
}

/** The drills by name, which is also that of its page in `docs/runbook`. */
export const DRILLS: Readonly<Record<string, DrillPlan>> = {
  'backup-and-restore': {
    fault: backupAndRestore,
    options: archiving,
  },
  'bad-deploy': {
    fault: badDeploy,
    options: withBuilds({ workers: 3 }),
    startsLoad: true,
  },
  'database-failover': {
    fault: databaseFailover,
    options: replicating,
  },
  'disk-full': {
    fault: diskFull,
    options: onDisk,
    isRunElsewhere: isRunWithSmallDisk,
  },
  'workflow-upgrade': {
    fault: workflowUpgrade,
    options: withBuilds(),
    startsLoad: true,
  },
};

const SETTINGS = { SWEEP_AFTER_SECONDS: '5' };

/** Runs a drill. @throws Error when a claim of its page does not hold */
async function runDrill({ fault, options, startsLoad, isRunElsewhere }: DrillPlan): Promise<void> {
  if (await isRunElsewhere?.()) return;
  await withRun(
    async (folder) => {
      const { settings, ...shape } = (await options?.(folder)) ?? {};
      return { ...shape, settings: { ...SETTINGS, ...settings } };
    },
    async (run) => {
      await using ends = new AsyncDisposableStack();
      report(`${run.cluster.members.map(({ name }) => name).join(', ')} run`);
      const drill = { ...run, ...createLoad(run), ends };
      if (!startsLoad) {
        drill.startLoad();
        await delay(LOAD_MS);
      }
      const { allowed = {}, afterwards } = (await fault(drill)) ?? {};
      await delay(LOAD_MS);
      await drill.finishLoad();
      await proveNothingLost(drill, allowed);
      await afterwards?.();
    },
  );
  requireProved();
}

async function passes(name: string, plan: DrillPlan): Promise<boolean> {
  report(name);
  try {
    await runDrill(plan);
    process.stdout.write(`${name}: passed\n`);
    return true;
  } catch (error) {
    const expected = error instanceof SetupError;
    const reason = error instanceof Error ? (expected ? error.message : error.stack) : error;
    process.stdout.write(`${name}: failed: ${String(reason)}\n`);
    return false;
  }
}

/**
 * Runs drills one after the other.
 *
 * @param names of the drills; none means all
 * @returns the exit code: 0 when each of them passed
 */
export async function runDrills(names: readonly string[]): Promise<0 | 1> {
  const unknown = names.filter((name) => DRILLS[name] === undefined);
  if (unknown.length > 0) {
    const known = Object.keys(DRILLS).join(', ');
    process.stderr.write(`No drill ${unknown.join(', ')}: there are ${known}\n`);
    return 1;
  }
  let failed = 0;
  for (const [name, plan] of Object.entries(DRILLS)) {
    const isWanted = names.length === 0 || names.includes(name);
    if (isWanted && !(await passes(name, plan))) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}
