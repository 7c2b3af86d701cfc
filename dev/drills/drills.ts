import { SetupError } from '../../src/setup-error.ts';
import { withRun, type RunOptions } from '../faults/run.ts';
import { badDeploy, withBuilds, workflowUpgrade } from './builds.ts';
import { diskFull } from './disk-full.ts';
import { erasure } from './erasure.ts';
import { asynchronousFailover, databaseFailover, replicating } from './failovers.ts';
import { keyRotation } from './key-rotation.ts';
import { gatewayOutage, temporalOutage } from './outages.ts';
import {
  ARCHIVE_TIMEOUT_SECONDS,
  backupAndRestore,
  databaseRestore,
  temporalRestore,
} from './restores.ts';
import { retention } from './retention.ts';
import type { Drill } from './support/load.ts';
import { archiving } from './support/postgres.ts';
import { report, requireProved } from './support/report.ts';

/** A fault, or another work of operators, and the page of the runbook whose claims are proved with it. */
interface DrillPlan {
  /** A file of `docs/runbook`. */
  readonly page: string;
  /** Ends when everything is proved. @throws Error when it cannot continue */
  readonly run?: (drill: Drill) => Promise<void>;
  /** How its shape differs from the default; files can be in the given folder. */
  readonly options?: (folder: string) => Promise<RunOptions>;
  /** Instead of `run`, of a drill that starts its shape by itself. */
  readonly runAlone?: () => Promise<void>;
}

const page = (
  name: string,
  run: (drill: Drill) => Promise<void>,
  options?: DrillPlan['options'],
): DrillPlan => ({
  page: `${name}.md`,
  run,
  ...(options && { options }),
});

/** The drills by name. */
export const DRILLS: Readonly<Record<string, DrillPlan>> = {
  'asynchronous-failover': page('database-failover', asynchronousFailover, replicating),
  'backup-and-restore': page(
    'backup-and-restore',
    backupAndRestore,
    archiving(ARCHIVE_TIMEOUT_SECONDS),
  ),
  'bad-deploy': page('bad-deploy', badDeploy, withBuilds({ workers: 3 })),
  'database-failover': page('database-failover', databaseFailover, replicating),
  'database-restore': page('backup-and-restore', databaseRestore, archiving(60)),
  'disk-full': { page: 'disk-full.md', runAlone: diskFull },
  erasure: page('erasure', erasure),
  'gateway-outage': page('gateway-outage', gatewayOutage),
  'key-rotation': page('key-rotation', keyRotation),
  retention: page('retention', retention),
  'temporal-outage': page('temporal-outage', temporalOutage),
  'temporal-restore': page('backup-and-restore', temporalRestore, archiving(60)),
  'workflow-upgrade': page('workflow-upgrade', workflowUpgrade, withBuilds()),
};

const SETTINGS = { SWEEP_AFTER_SECONDS: '5' };

async function withDrill({ run, options }: DrillPlan): Promise<void> {
  await withRun(
    async (folder) => {
      const { settings, ...shape } = (await options?.(folder)) ?? {};
      return { ...shape, settings: { ...SETTINGS, ...settings } };
    },
    async (started) => {
      report(`${started.cluster.members.map(({ name }) => name).join(', ')} run`);
      await run?.({ ...started, orders: [] });
    },
  );
}

/** Runs a drill, which throws when a claim of its runbook page does not hold. */
async function passes(name: string, plan: DrillPlan): Promise<boolean> {
  report(name);
  try {
    await (plan.runAlone ?? (() => withDrill(plan)))();
    requireProved();
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
  const known = Object.keys(DRILLS);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`No drill ${unknown.join(', ')}: there are ${known.join(', ')}\n`);
    return 1;
  }
  let failed = 0;
  for (const name of names.length > 0 ? names : known) {
    const plan = DRILLS[name];
    if (plan && !(await passes(name, plan))) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}
