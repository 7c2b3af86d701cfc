import { join } from 'node:path';
import { runCommand } from '../../processes/run-command.ts';
import type { MemberName } from '../../production-like/start.ts';
import type { Drill } from './cluster.ts';
import { onOneLine } from './recover.ts';
import { DrillFailure, report } from './report.ts';
import { waitFor } from './wait.ts';

const PROMOTED_WITHIN_MS = 120_000;

/** The setting that names the build of a worker. */
const BUILD = 'TEMPORAL_WORKER_BUILD_ID';

/** The settings with which every worker has a version. */
export const versioned = (build: string) => ({
  settings: { TEMPORAL_DEPLOYMENT_NAME: 'orders', [BUILD]: build },
});

/** Starts a worker again, with another checkout and its build id. */
export async function startBuild(
  { cluster }: Drill,
  name: MemberName,
  build: string,
  repository?: string,
): Promise<void> {
  const member = cluster.member(name);
  await member.stop();
  await member.start({ env: { [BUILD]: build }, ...(repository !== undefined && { repository }) });
}

/** Makes a build current, as `npm run -s admin -- worker promote --build ID`. */
export async function promote(drill: Drill, build: string): Promise<void> {
  // Temporal updates each task queue before it answers, which takes long on a machine without a free processor.
  const printed = await waitFor(`${build} is current`, PROMOTED_WITHIN_MS, () =>
    drill.admin('worker', 'promote', '--build', build),
  );
  report(`worker promote: ${onOneLine(printed)}`);
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

/** Runs `admin worker replay` of a checkout: replays the newest orders of every status. */
export async function checkReplay(
  drill: Drill,
  repository: string,
  count: number,
): Promise<Replayed> {
  const entry = join(repository, 'dev/admin.ts');
  const args = [entry, 'worker', 'replay', '--count', String(count), '--json'];
  const env = { PATH: '/usr/bin:/bin', ...drill.environment() };
  const { output } = await runCommand(process.execPath, args, { env, cwd: repository });
  try {
    return JSON.parse(output) as Replayed;
  } catch (cause) {
    throw new DrillFailure(`check:replay failed: ${output}`, { cause });
  }
}

/** The result as a line. */
export const replayText = ({ replayed, failures }: Replayed) =>
  `${replayed} orders replayed, ${failures.length} failed`;
