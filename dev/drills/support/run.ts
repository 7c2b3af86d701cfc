import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../../../src/setup-error.ts';
import { withCluster, type Drill, type OptionsIn } from './cluster.ts';
import { report, requireProved } from './report.ts';

const FOLDER = join(import.meta.dirname, '..');

/** What a file of `dev/drills` exports. */
interface DrillFile {
  run(drill: Drill): Promise<void>;
  readonly options?: OptionsIn;
  /** Instead of `run`, of a drill that starts its cluster by itself. */
  readonly runAlone?: () => Promise<void>;
}

/** The names of the drills: each is a file of `dev/drills`. */
export function drillNames(): string[] {
  return readdirSync(FOLDER)
    .flatMap((file) => /^([\w-]+)\.ts$/.exec(file)?.[1] ?? [])
    .toSorted();
}

/** Runs a drill, which throws when a claim of its runbook page does not hold. */
async function passes(name: string): Promise<boolean> {
  report(name);
  try {
    const { run, options, runAlone } = (await import(join(FOLDER, `${name}.ts`))) as DrillFile;
    if (runAlone) await runAlone();
    else await withCluster(run, options);
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
  const known = drillNames();
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`No drill ${unknown.join(', ')}: there are ${known.join(', ')}\n`);
    return 1;
  }
  let failed = 0;
  for (const name of names.length > 0 ? names : known) if (!(await passes(name))) failed += 1;
  return failed === 0 ? 0 : 1;
}
