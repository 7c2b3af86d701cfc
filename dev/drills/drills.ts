import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { SetupError } from '../../src/setup-error.ts';
import { withRun, type RunOptions } from '../faults/run.ts';
import { checkWhenQuiet } from '../load/oracle/check-everything.ts';
import { countsText, violationText } from '../load/oracle/report.ts';
import type { Allowed } from '../load/oracle/service.ts';
import { badDeploy, withBuilds, workflowUpgrade } from './builds.ts';
import { diskFull, isRunWithSmallDisk, onDisk } from './disk-full.ts';
import { databaseFailover, replicating } from './failover.ts';
import { archiving, backupAndRestore } from './restore.ts';
import { createLoad, LOAD_MS, type Drill, type Outcome } from './support/load.ts';
import { firstOf, prove, report, requireProved } from './support/report.ts';

/** A fault, or another work of operators, with which the claims of a page of the runbook are proved. */
interface DrillPlan {
  /**
   * Starts the load, and ends when everything serves again: afterwards the oracle checks everything.
   *
   * @throws Error when it cannot continue
   */
  readonly fault: (drill: Drill) => Promise<Outcome | void>;
  /** How its shape differs from the default; files can be in the given folder. */
  readonly options: (folder: string) => Promise<RunOptions>;
  /** Runs it in another process, unless this one is that. @returns whether it has run there */
  readonly isRunElsewhere?: () => Promise<boolean>;
}

/** The drills by name, which is also that of its page in `docs/runbook`. */
export const DRILLS: Readonly<Record<string, DrillPlan>> = {
  'backup-and-restore': { fault: backupAndRestore, options: archiving },
  'bad-deploy': { fault: badDeploy, options: withBuilds },
  'database-failover': { fault: databaseFailover, options: replicating },
  'disk-full': { fault: diskFull, options: onDisk, isRunElsewhere: isRunWithSmallDisk },
  'workflow-upgrade': { fault: workflowUpgrade, options: withBuilds },
};

/** The hourly proof and the 30 s between two comparisons are shorter than a drill may wait. */
const RIGHT_WITHIN_MS = 180_000;
const SETTINGS = { SWEEP_AFTER_SECONDS: '5' };

/** Runs a drill. @throws Error when a claim of its page does not hold */
async function runDrill({ fault, options, isRunElsewhere }: DrillPlan): Promise<void> {
  if (await isRunElsewhere?.()) return;
  await withRun(
    async (folder) => {
      const { settings, ...shape } = await options(folder);
      return { ...shape, settings: { ...SETTINGS, ...settings } };
    },
    async (run) => {
      await using ends = new AsyncDisposableStack();
      report(`${run.cluster.members.map(({ name }) => name).join(', ')} run`);
      const drill = { ...run, ...createLoad(run), ends };
      const outcome = await fault(drill);
      await delay(LOAD_MS);
      await drill.finishLoad();
      await proveNothingLost(drill, outcome?.allowed);
      await outcome?.afterwards();
    },
  );
  requireProved();
}

/** Proves that the service has all that it acknowledged, once, and completes it. */
async function proveNothingLost(drill: Drill, allowed: Allowed = {}): Promise<void> {
  const { memory } = drill.deps;
  const refused = memory.surprises.map(({ subject, fault }) => `${subject}: ${fault}`);
  prove('No call of a merchant was refused', refused.length === 0, firstOf(refused));
  const looking = { withinMs: RIGHT_WITHIN_MS, log: report };
  const found = await checkWhenQuiet(drill.checked(), memory, allowed, looking);
  const claim = 'Nothing is under way, lost, duplicated or illegal';
  const violations = firstOf(found.violations.map(violationText));
  prove(claim, found.violations.length === 0, `${countsText(found)} ${violations}`);
}

async function passes(name: string): Promise<boolean> {
  report(name);
  try {
    const plan = DRILLS[name];
    if (!plan) throw new SetupError(`There are the drills ${Object.keys(DRILLS).join(', ')}`);
    await runDrill(plan);
    process.stdout.write(`${name}: passed\n`);
    return true;
  } catch (error) {
    const reason = error instanceof SetupError ? error.message : inspect(error);
    process.stdout.write(`${name}: failed: ${reason}\n`);
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
  let exitCode: 0 | 1 = 0;
  for (const name of names.length > 0 ? names : Object.keys(DRILLS)) {
    if (!(await passes(name))) exitCode = 1;
  }
  return exitCode;
}
