import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../../../src/setup-error.ts';
import { report, requireProved } from './report.ts';

const FOLDER = join(import.meta.dirname, '..');

/** The names of the drills: each is a file of `dev/drills` that exports `run`. */
export function drillNames(): string[] {
  return readdirSync(FOLDER)
    .flatMap((file) => /^([\w-]+)\.ts$/.exec(file)?.[1] ?? [])
    .toSorted();
}

/** Runs a drill, which throws when a claim of its runbook page does not hold. */
async function passes(name: string): Promise<boolean> {
  report(name);
  try {
    const { run } = (await import(join(FOLDER, `${name}.ts`))) as { run(): Promise<void> };
    await run();
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
